// SPDX-License-Identifier: Apache-2.0
#include "core/trust/hook_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <initializer_list>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/shell_word.h"

namespace agentd {
namespace {

constexpr std::size_t kHeadBytes = 18;  // up to and including the type of an ELF file
constexpr std::uint64_t kSettingsBytesMax = 256 * 1024;
constexpr std::string_view kElf =
    "\x7f"
    "ELF";
constexpr std::string_view kNeeds = "it must be executable (chmod +x), or end in .so, .dll, .yaml or .yml";

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return name.size() > suffix.size() && name.ends_with(suffix); });
}

// Backup and switched-off files, as editors and users leave them.
bool is_backup(std::string_view file) {
  return file.starts_with('#') ||
         ends_with_any(file, {"~", ".bak", ".old", ".orig", ".rej", ".save", ".swp", ".tmp", ".disabled", ".off"});
}

// The name that was meant: "x.yaml" for "x.YAML" and "x.yaml.txt"; empty if the file is something else.
std::string meant_name(std::string_view file) {
  std::string_view rest = file;
  if (ascii_lower(rest).ends_with(".txt")) rest.remove_suffix(4);
  const std::string small = ascii_lower(rest);
  if (!kind_by_name(small)) return {};
  const std::size_t dot = small.rfind('.');
  const std::string name = std::string(rest.substr(0, dot)) + small.substr(dot);
  return name == file ? std::string() : name;
}

UniqueFd open_to_look(int directory, const std::string& file) {
  return UniqueFd(::openat(directory, file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
}

// The first bytes of the file; empty if it cannot be read.
std::string head_of(int directory, const std::string& file) {
  const UniqueFd fd = open_to_look(directory, file);
  char head[kHeadBytes] = {};
  const ssize_t length = fd.valid() ? ::pread(fd.get(), head, sizeof head, 0) : 0;
  return {head, length > 0 ? static_cast<std::size_t>(length) : 0};
}

bool has_hooks_key(int directory, const std::string& file, const std::string& path) {
  const UniqueFd fd = open_to_look(directory, file);
  const auto text = fd.valid() ? read_fd(fd.get(), kSettingsBytesMax, path) : Result<std::string>(std::string());
  return text && text->find("\"hooks\"") != std::string::npos;
}

// True for an ELF program or library. Object files and versioned libraries ("libx.so.1") do not count.
bool is_program(std::string_view file, std::string_view head) {
  constexpr std::size_t kTypeAt = 16;
  if (!head.starts_with(kElf) || head.size() <= kTypeAt || file.find(".so.") != std::string_view::npos) return false;
  return head[kTypeAt] == 2 || head[kTypeAt] == 3;
}

std::string not_executable(const std::string& path, std::string_view what, std::string_view or_else) {
  return path + " does not run: it " + std::string(what) + " and is not executable: chmod +x " + shell_word(path) +
         ", or " + std::string(or_else);
}

// Why a file that is not a hook was probably meant as one; empty = it was not meant as one.
std::string slip_of(int directory, const std::string& file, const std::string& path) {
  if (is_backup(file)) return {};
  if (const std::string name = meant_name(file); !name.empty())
    return path + " does not run: a hook's name ends in .so, .dll, .yaml or .yml (lower case): rename it to " + name;
  const std::string head = head_of(directory, file);
  if (head.starts_with("#!"))
    return not_executable(path, "begins with #!", "move it to a subdirectory if only other hooks read it");
  if (is_program(file, head))
    return not_executable(path, "is a program or a library", "rename it to end in .so if it is a module");
  if (ascii_lower(file).ends_with(".json") && has_hooks_key(directory, file, path))
    return path + " does not run: settings of other tools are not read from a hooks directory: import them with " +
           shell_command("agentd hooks import", path) + ", or name the file in hooks.adapt";
  return {};
}

std::string why_passed_over(std::string_view file, const std::string& path) {
  if (file.starts_with('.')) return path + " is not a hook: names that begin with '.' are skipped: rename it";
  if (file.ends_with(".disable")) return path + " is not a hook: .disable at the end of its name switches it off";
  return path + " is not a hook: it is the manifest of the module next to it";
}

}  // namespace

std::optional<HookKind> kind_by_name(std::string_view file) {
  if (ends_with_any(file, {".so", ".dll"})) return HookKind::kNative;
  if (ends_with_any(file, {".yaml", ".yml"})) return HookKind::kDeclarative;
  return {};
}

bool is_passed_over(std::string_view file) {
  return file.starts_with('.') || file.ends_with(".disable") || file.ends_with(kSidecarSuffix);
}

HookFileLook look_at_hook_file(int directory, const std::string& file, const std::string& path) {
  HookFileLook out;
  out.stem = file;
  if (is_passed_over(file)) {
    out.why_not = why_passed_over(file, path);
    return out;
  }
  if (out.kind = kind_by_name(file); out.kind) {
    out.stem = file.substr(0, file.rfind('.'));
    return out;
  }
  struct stat info {};
  const bool is_file = ::fstatat(directory, file.c_str(), &info, 0) == 0 && S_ISREG(info.st_mode);
  const std::string name = is_file ? meant_name(file) : std::string();
  if (is_file && name.empty() && (info.st_mode & 0111) != 0) {
    out.kind = HookKind::kExecutable;
    return out;
  }
  if (is_file) out.why_not = slip_of(directory, file, path);
  out.is_meant = !out.why_not.empty();
  if (!name.empty()) out.stem = name.substr(0, name.rfind('.'));
  if (!out.is_meant) out.why_not = path + " is not a hook: " + std::string(kNeeds);
  return out;
}

}  // namespace agentd
