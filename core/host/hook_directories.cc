// SPDX-License-Identifier: Apache-2.0
#include "core/host/hook_directories.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string_view>

#include "core/base/bytes.h"
#include "core/host/safe_path.h"

namespace agentd {
namespace {

constexpr std::uint64_t kSidecarBytesMax = 256 * 1024;
constexpr std::size_t kFilesMax = 1024;  // of one directory
constexpr std::string_view kSidecarSuffix = ".hook.json";

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

std::string stem_of(std::string_view file) {
  const std::size_t dot = file.rfind('.');
  return std::string(file.substr(0, dot));
}

bool is_passed_over(std::string_view file) {
  return file.starts_with(".") || ends_with_any(file, {".disable", kSidecarSuffix});
}

// Nothing for a file that only its executable bit could make a hook.
std::optional<HookKind> kind_by_name(std::string_view file) {
  if (ends_with_any(file, {".so", ".dll"})) return HookKind::kNative;
  if (ends_with_any(file, {".yaml", ".yml"})) return HookKind::kDeclarative;
  return {};
}

std::string qualified(const std::string& stem, Precedence precedence) {
  return precedence == Precedence::kProject ? "project/" + stem : stem;
}

bool matches(std::span<const std::string> globs, const std::string& name, const std::string& stem) {
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0 || ::fnmatch(glob.c_str(), stem.c_str(), 0) == 0;
  });
}

class DirectoryScan {
 public:
  DirectoryScan(const HookDirectory& directory, std::span<const std::string> globs,
                std::span<const std::string> allowed, uid_t user, HookScan& out)
      : directory_(directory), globs_(globs), allowed_(allowed), user_(user), out_(out) {}

  void run() {
    auto opened = open_safe_directory(directory_.path, user_);
    if (!opened) {
      // What is not there holds no hooks, however unsafe the way to it is.
      struct stat info {};
      const bool is_there = !directory_.path.starts_with('/') ||
                            ::stat(directory_.path.c_str(), &info) == 0 || errno != ENOENT;
      if (opened.error().code != Code::kNotFound && is_there)
        problem(directory_.path, "", opened.error().message);
      return;
    }
    fd_ = std::move(*opened);
    std::vector<std::string> names = list();
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) take(name);
  }

 private:
  void problem(const std::string& path, const std::string& name, const std::string& message) {
    out_.problems.push_back({path, name, one_line(message, 2000)});
  }

  std::vector<std::string> list() {
    std::vector<std::string> names;
    UniqueFd copy(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDirectory> stream(copy.valid() ? ::fdopendir(copy.get()) : nullptr);
    if (!stream) {
      problem(directory_.path, "", errno_error("reading " + directory_.path, errno).message);
      return names;
    }
    copy.release();  // the stream closes it
    while (const dirent* const entry = ::readdir(stream.get())) {
      if (is_passed_over(entry->d_name)) continue;
      if (names.size() == kFilesMax) {
        problem(directory_.path, "",
                directory_.path + " has more than " + std::to_string(kFilesMax) +
                    " files, the rest is ignored: keep hooks only in it");
        break;
      }
      names.emplace_back(entry->d_name);
    }
    return names;
  }

  void take(const std::string& file) {
    const auto kind = kind_by_name(file);
    const std::string stem = kind ? stem_of(file) : file;
    const std::string name = qualified(stem, directory_.precedence);
    if (!kind && !is_executable_file(file)) return;
    if (std::any_of(file.begin(), file.end(),
                    [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; })) {
      problem(directory_.path + "/" + file, name,
              directory_.path + "/" + file +
                  " has a control character in its name and is not a hook: "
                  "rename it");
      return;
    }
    if (matches(globs_, name, stem)) {
      out_.disabled.push_back({name, directory_.precedence});
      return;
    }
    if (!is_allowed(name)) {
      out_.not_allowed.push_back({name, directory_.precedence});
      return;
    }
    const std::string path = directory_.path + "/" + file;
    auto opened = open_safe_file(fd_.get(), file, path, user_);
    if (!opened) {
      problem(path, name, opened.error().message);
      return;
    }
    HookFile hook;
    hook.kind = kind.value_or(HookKind::kExecutable);
    hook.name = name;
    hook.path = path;
    hook.precedence = directory_.precedence;
    hook.on_by_default = directory_.on_by_default;
    hook.bundled = directory_.bundled;
    hook.fd = std::move(opened->fd);
    hook.info = opened->info;
    if (hook.kind == HookKind::kNative) read_sidecar(stem, hook);
    out_.files.push_back(std::move(hook));
  }

  // A project's "lint" is not let in by a glob for the user's own.
  bool is_allowed(const std::string& name) const {
    const auto& always = directory_.always_allowed;
    return allowed_.empty() || matches(allowed_, name, name) ||
           std::find(always.begin(), always.end(), name) != always.end();
  }

  bool is_executable_file(const std::string& file) const {
    struct stat info {};
    return ::fstatat(fd_.get(), file.c_str(), &info, 0) == 0 && S_ISREG(info.st_mode) &&
           (info.st_mode & 0111) != 0;
  }

  void read_sidecar(const std::string& stem, HookFile& hook) {
    const std::string file = stem + std::string(kSidecarSuffix);
    const std::string path = directory_.path + "/" + file;
    auto opened = open_safe_file(fd_.get(), file, path, user_);
    if (!opened) {
      if (opened.error().code != Code::kNotFound) hook.sidecar_problem = opened.error().message;
      return;
    }
    auto text = read_fd(opened->fd.get(), kSidecarBytesMax, path);
    if (text)
      hook.sidecar = std::move(*text);
    else
      hook.sidecar_problem = text.error().message;
  }

  const HookDirectory& directory_;
  std::span<const std::string> globs_, allowed_;
  const uid_t user_;
  HookScan& out_;
  UniqueFd fd_;
};

}  // namespace

HookScan scan_hook_directories(std::span<const HookDirectory> directories,
                               std::span<const std::string> disable_globs, uid_t user,
                               std::span<const std::string> allow_globs) {
  HookScan out;
  for (const HookDirectory& directory : directories)
    DirectoryScan(directory, disable_globs, allow_globs, user, out).run();
  return out;
}

}  // namespace agentd
