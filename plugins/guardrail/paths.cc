// SPDX-License-Identifier: Apache-2.0
#include "plugins/guardrail/paths.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "plugins/guardrail/glob.h"

namespace guardrail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPathBytesMax = 4096;
constexpr std::string_view kSystem[] = {"/bin",  "/boot", "/dev",  "/etc", "/home", "/lib", "/lib64", "/opt",
                                        "/proc", "/root", "/sbin", "/srv", "/sys",  "/usr", "/var"};

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

std::string lexical(const std::string& path) {
  std::string out = fs::path(path).lexically_normal().string();
  if (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

// The path with links resolved; empty if that fails.
std::string real(const std::string& path) {
  std::error_code error;
  const fs::path out = fs::weakly_canonical(path, error);
  return error ? std::string() : lexical(out.string());
}

void add(std::vector<std::string>& to, std::string path) {
  if (!path.empty() && std::find(to.begin(), to.end(), path) == to.end()) to.push_back(std::move(path));
}

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) out.push_back(path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return out;
}

bool takes_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  const std::string_view rest = text.substr(prefix.size());
  if (!rest.empty() && rest[0] != '/') return false;
  text = rest;
  return true;
}

}  // namespace

Places::Places(std::string home, std::string agentd_home)
    : home_(std::move(home)), agentd_home_(std::move(agentd_home)) {}

std::string Places::expanded(std::string_view text, std::string_view cwd) const {
  if (text.starts_with("file://")) text.remove_prefix(7);
  for (const std::string_view name : {"~", "$HOME", "${HOME}"})
    if (takes_prefix(text, name)) return home_ + std::string(text);
  // "${HOME:-/}", "${HOME:?}": HOME is set, so the alternative is not used.
  if (const std::size_t end = text.find('}'); text.starts_with("${HOME:") && end != std::string_view::npos)
    return home_ + std::string(text.substr(end + 1));
  for (const std::string_view name : {"$AGENTD_HOME", "${AGENTD_HOME}"})
    if (takes_prefix(text, name)) return (agentd_home_.empty() ? home_ + "/.agent" : agentd_home_) + std::string(text);
  for (const std::string_view name : {"$PWD", "${PWD}"})
    if (takes_prefix(text, name)) return std::string(cwd) + std::string(text);
  if (takes_prefix(text, "~+")) return std::string(cwd) + std::string(text);
  if (takes_prefix(text, "~root")) return "/root" + std::string(text);
  if (text.starts_with('~')) return "/home/" + std::string(text.substr(1));
  if (text.starts_with('/')) return std::string(text);
  return std::string(cwd) + "/" + std::string(text);
}

std::vector<std::string> Places::paths_of(std::string_view text, std::string_view cwd) const {
  std::vector<std::string> out;
  if (text.empty() || text.size() > kPathBytesMax || text.find('\n') != std::string_view::npos) return out;
  // The system ignores everything after a NUL.
  const std::string full = expanded(text.substr(0, text.find('\0')), cwd);
  if (!full.starts_with('/')) return out;
  add(out, lexical(full));
  if (!is_glob(full)) add(out, real(full));
  return out;
}

std::vector<std::string> Places::removed_by(std::string_view text, std::string_view cwd) const {
  std::vector<std::string> out;
  if (text.empty() || text.size() > kPathBytesMax || text.find('\n') != std::string_view::npos) return out;
  const std::string full = expanded(text.substr(0, text.find('\0')), cwd);
  if (!full.starts_with('/')) return out;
  const std::size_t slash = full.rfind('/');
  const std::string folder = full.substr(0, slash + 1), last = full.substr(slash + 1);
  const auto add_folder = [&](const std::string& path) {
    add(out, lexical(path));
    if (!is_glob(path)) add(out, real(path));
  };
  if (last.empty() || last == "." || last == "..") {
    add_folder(full);
    return out;
  }
  add(out, lexical(full));
  const bool all = last.find('*') != std::string::npos && last.find_first_not_of("*?.[]!^") == std::string::npos;
  if (all) add_folder(folder);
  if (!is_glob(folder))
    if (const std::string found = real(folder); !found.empty()) add(out, lexical(found + "/" + last));
  return out;
}

bool Places::is_everything(std::string_view removed, bool also_parts) const {
  if (removed == "/") return true;
  const std::string home = lexical(home_);
  if (home.starts_with('/') && home != "/")
    for (std::string_view up = home; !up.empty(); up = up.substr(0, up.rfind('/')))
      if (path_matches(removed, up)) return true;
  return also_parts && std::any_of(std::begin(kSystem), std::end(kSystem),
                                   [&](std::string_view part) { return path_matches(removed, part); });
}

std::vector<std::string> Places::globs_of(std::string_view glob, std::string_view cwd) const {
  const bool anywhere = glob.find('/') == std::string_view::npos && glob != "~";
  if (anywhere) return {"/**/" + std::string(glob)};
  if (glob.starts_with("**/")) return {"/" + std::string(glob)};
  const std::string full = expanded(glob.starts_with("./") ? glob.substr(2) : glob, cwd);
  std::vector<std::string> out;
  add(out, lexical(full));
  // Folders before the first star may be links.
  const std::size_t star = full.find_first_of("*?[");
  const std::size_t slash = star == std::string::npos ? full.size() : full.rfind('/', star);
  if (slash != std::string::npos && slash != 0) {
    const std::string folder = real(full.substr(0, slash));
    if (!folder.empty()) add(out, lexical(folder + full.substr(slash)));
  }
  return out;
}

bool Places::may_reach(std::string_view glob, std::string_view path) {
  if (!is_glob(path)) return false;
  const auto wanted = components(glob), given = components(path);
  std::size_t i = 0;
  for (; i < wanted.size() && !is_glob(wanted[i]); ++i)
    if (i >= given.size() || !path_matches(given[i], wanted[i])) return false;
  return i != 0;
}

bool Places::lies_below(std::string_view glob, std::string_view path) {
  return !glob.starts_with("/**") && (path == "/" || takes_prefix(glob, path));
}

}  // namespace guardrail
