// SPDX-License-Identifier: Apache-2.0
#include "core/cage/git_files.h"

#include <sys/stat.h>

#include <filesystem>

#include "core/base/file.h"
#include "core/base/paths.h"
#include "core/cage/physical.h"
#include "core/cage/places.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPointerMax = 8 * 1024;

}  // namespace

std::string real_path(const std::string& path) {
  std::error_code failed;
  // "/proc/self/cwd" is another directory for Git than for agentd.
  for (const std::string& link : links_of(path)) {
    const std::string target = fs::read_symlink(link, failed).string();
    if (failed || is_below(lexical_path(target, fs::path(link).parent_path().string()), "/proc")) return {};
  }
  const std::string out = fs::canonical(path, failed).string();
  return failed ? std::string() : out;
}

std::string resolved(const std::string& directory, const std::string& path) {
  if (path.empty()) return {};
  return real_path(path.starts_with('/') ? path : directory + "/" + path);
}

std::string path_in(const std::string& file) {
  std::string out = read_file(file, kPointerMax).value_or({});
  while (!out.empty() && (out.back() == '\r' || out.back() == '\n')) out.pop_back();
  return out;
}

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool is_git_directory(const std::string& path) {
  struct stat info {};
  return is_directory(path + "/objects") && is_directory(path + "/refs") &&
         ::lstat((path + "/HEAD").c_str(), &info) == 0;
}

bool is_straight(const std::string& path) {
  bool named = false;
  for (const fs::path& part : fs::path(path).relative_path()) {
    if (part == ".." && named) return false;
    named = named || (part != ".." && part != "." && !part.empty());
  }
  return true;
}

std::string text_of_pointer(const std::string& file) {
  constexpr std::string_view kKey = "gitdir: ";
  const std::string text = path_in(file);
  return text.starts_with(kKey) ? text.substr(kKey.size()) : std::string();
}

std::string path_named_in(const std::string& file) {
  const std::string text = text_of_pointer(file);
  return text.empty() ? std::string() : lexical_path(text, fs::path(file).parent_path().string());
}

std::string pointed_to(const std::string& file) {
  return resolved(fs::path(file).parent_path().string(), text_of_pointer(file));
}

std::string common_of(const std::string& git) {
  const std::string common = path_in(git + "/commondir");
  return common.empty() ? real_path(git) : resolved(git, common);
}

std::string common_directory_of(const std::string& top) {
  const std::string git = top + "/.git";
  if (is_directory(git)) return common_of(git);
  const std::string target = pointed_to(git);
  return target.empty() ? std::string() : common_of(target);
}

}  // namespace agentd::cage
