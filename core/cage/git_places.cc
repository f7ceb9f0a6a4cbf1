// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "core/base/file.h"
#include "core/cage/places.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPointerMax = 8 * 1024, kSettingsMax = 1u << 20;
constexpr int kModulesDepth = 4;
constexpr int kWorktreesMax = 200;

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string real(const std::string& path) {
  std::error_code failed;
  const std::string out = fs::canonical(path, failed).string();
  return failed ? std::string() : out;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string first_line(const std::string& path) {
  const auto text = read_file(path, kPointerMax);
  return text ? trimmed(*text) : std::string();
}

std::string at(const std::string& directory, const std::string& path) {
  return path.starts_with('/') ? path : directory + "/" + path;
}

bool is_git_directory(const std::string& path) {
  struct stat info {};
  return is_directory(path + "/objects") && is_directory(path + "/refs") &&
         ::stat((path + "/HEAD").c_str(), &info) == 0;
}

// The value of core.worktree, which Git writes for a submodule.
std::string worktree_of(const std::string& git) {
  const auto text = read_file(git + "/config", kSettingsMax);
  if (!text) return {};
  const std::size_t key = text->find("worktree = ");
  if (key == std::string::npos) return {};
  const std::size_t begin = key + 11, end = text->find('\n', begin);
  return real(at(git, trimmed(text->substr(begin, end - begin))));
}

// The files that Git reads its settings and its hooks from, and those that lead it to another directory of them.
void guard(const std::string& git, std::vector<std::string>& out) {
  for (const char* const name : {"hooks", "config", "config.worktree", "commondir"}) out.push_back(git + "/" + name);
}

void guard_modules(const std::string& modules, int depth, std::vector<std::string>& out) {
  std::error_code failed;
  for (auto entry = fs::directory_iterator(modules, failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const std::string path = entry->path().string();
    if (!is_directory(path)) continue;
    if (is_git_directory(path)) {
      guard(path, out);
      guard_modules(path + "/modules", depth, out);
    } else if (depth > 0) {
      guard_modules(path, depth - 1, out);
    }
  }
}

void guard_worktrees(const std::string& common, std::vector<std::string>& out) {
  std::error_code failed;
  int left = kWorktreesMax;
  for (auto entry = fs::directory_iterator(common + "/worktrees", failed);
       !failed && entry != fs::directory_iterator() && left-- > 0; entry.increment(failed))
    for (const char* const name : {"config.worktree", "commondir", "gitdir"})
      out.push_back(entry->path().string() + "/" + name);
}

// The files `.git` of the submodules in the root.
void guard_submodules(const std::string& root, std::vector<std::string>& out) {
  const auto text = read_file(root + "/.gitmodules", kSettingsMax);
  if (!text) return;
  constexpr std::string_view kKey = "path = ";
  for (std::size_t from = 0; (from = text->find(kKey, from)) != std::string::npos;) {
    from += kKey.size();
    const std::string path = trimmed(text->substr(from, text->find('\n', from) - from));
    if (path.empty() || path.starts_with('/') || path.find("..") != std::string::npos) continue;
    if (fs::is_regular_file(root + "/" + path + "/.git")) out.push_back(root + "/" + path + "/.git");
  }
}

void guard_all(const std::string& common, std::vector<std::string>& out) {
  guard(common, out);
  guard_modules(common + "/modules", kModulesDepth, out);
  guard_worktrees(common, out);
}

// A root whose `.git` is a file.
void follow_pointer(const std::string& root, GitPlaces& out) {
  const std::string pointer = root + "/.git";
  std::string line = first_line(pointer);
  out.guarded.push_back(pointer);
  if (!line.starts_with("gitdir:")) return;
  line.erase(0, line.find_first_not_of(' ', 7) == std::string::npos ? line.size() : line.find_first_not_of(' ', 7));
  const std::string git = real(at(root, line));
  if (git.empty()) return;
  const std::string commons = first_line(git + "/commondir");
  const std::string common = commons.empty() ? git : real(at(git, commons));
  const bool names_root = real(at(git, first_line(git + "/gitdir"))) == real(pointer) || worktree_of(git) == real(root);
  if (!names_root || !is_git_directory(common)) return;
  out.guarded.push_back(git + "/gitdir");
  out.pinned = {common, git};
  guard_all(common, out.guarded);
  if (git != common) guard(git, out.guarded);
  for (const std::string& each : {common, git})
    if (!is_below(each, root) && (out.writable.empty() || !is_below(each, out.writable[0])))
      out.writable.push_back(each);
}

}  // namespace

GitPlaces git_places(const std::string& root) {
  GitPlaces out;
  struct stat info {};
  const std::string git = root + "/.git";
  if (::stat(git.c_str(), &info) != 0) {
    out.guarded.push_back(git);
  } else if (S_ISDIR(info.st_mode)) {
    guard_all(git, out.guarded);
    guard_submodules(root, out.guarded);
    out.pinned.push_back(git);
  } else {
    follow_pointer(root, out);
    guard_submodules(root, out.guarded);
  }
  const std::set<std::string> once(out.guarded.begin(), out.guarded.end());
  out.guarded.assign(once.begin(), once.end());
  return out;
}

}  // namespace agentd::cage
