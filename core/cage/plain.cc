// SPDX-License-Identifier: Apache-2.0
#include "core/cage/plain.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "core/base/file.h"
#include "core/cage/git_files.h"
#include "core/cage/physical.h"
#include "core/cage/places.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSettingsMax = 64u << 10;

// Settings that `git init`, `git clone` and `git remote` write, which name no program and no other file.
bool is_plain_setting(std::string_view section, std::string_view key) {
  using Keys = std::initializer_list<std::string_view>;
  const auto one_of = [&](Keys keys) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  // The settings of a submodule name its place.
  if (section == "core")
    return one_of({"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
                   "symlinks", "worktree", "sharedrepository"});
  if (section == "remote") return one_of({"url", "fetch", "tagopt", "mirror"});
  if (section == "receive") return one_of({"denynonfastforwards", "denydeletes", "denycurrentbranch"});
  if (section == "branch") return one_of({"remote", "merge", "rebase"});
  if (section == "user") return one_of({"name", "email"});
  if (section == "extensions") return one_of({"objectformat", "refstorage"});
  return section == "submodule" && one_of({"active", "url"});
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& each : out) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return out;
}

// A section's or a key's name at the beginning of the text.
std::string word_of(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-')) ++end;
  return lower(text.substr(0, end));
}

bool is_plain_line(std::string_view line, std::string& section) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
  if (line.empty() || line.front() == '#' || line.front() == ';') return true;
  if (line.back() == '\\') return false;
  if (line.front() == '[') {
    section = word_of(line.substr(1));
    return line.back() == ']' && std::count(line.begin(), line.end(), ']') == 1;
  }
  // "ext::" runs a program.
  return is_plain_setting(section, word_of(line)) && line.find("::") == std::string_view::npos;
}

bool are_plain_settings(std::string_view text) {
  if (text.size() > kSettingsMax) return false;
  std::string section;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (!is_plain_line(text.substr(from, end - from), section)) return false;
    from = end + 1;
  }
  return true;
}

bool are_plain_settings(const Tree& file) {
  const auto own = file.entries.find("");
  return own != file.entries.end() && S_ISREG(own->second.mode) && own->second.whole &&
         are_plain_settings(own->second.content);
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool is_of_kind(const std::string& path, mode_t kind) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

// Nothing but samples. Files that are too many to be known could be others.
bool are_plain_hooks(const Tree& hooks) {
  if (!hooks.exists()) return true;
  return hooks.rest == 0 && S_ISDIR(hooks.entries.at("").mode) &&
         std::all_of(hooks.entries.begin(), hooks.entries.end(), [](const auto& each) {
           const std::string& name = each.first;
           return name.empty() || name.find('/') != std::string::npos || name.ends_with(".sample");
         });
}

bool is_plain_git_directory(const GitReading& git) {
  return git.inode != 0 && !git.parts.at("commondir")->exists() && !git.parts.at("config.worktree")->exists() &&
         are_plain_settings(*git.parts.at("config")) && are_plain_hooks(*git.parts.at("hooks"));
}

}  // namespace

GitReading read_git_directory(const std::string& git) {
  GitReading out;
  const UniqueFd own = open_directory_at(git, O_PATH);
  struct stat info {};
  if (!own.valid() || ::fstat(own.get(), &info) != 0) return out;
  out.inode = info.st_ino;
  for (const char* const name : {"hooks", "config", "config.worktree", "commondir"})
    out.parts[name] = look_in(own.get(), git + "/" + name);
  for (const char* const name : {"modules", "worktrees"})
    out.others = out.others || ::fstatat(own.get(), name, &info, AT_SYMLINK_NOFOLLOW) == 0;
  return out;
}

bool is_plain_git_directory(const std::string& git) { return is_plain_git_directory(read_git_directory(git)); }

bool is_plain_repository(const GitReading& git) { return is_plain_git_directory(git) && !git.others; }

bool is_plain_repository(const std::string& git) { return is_plain_repository(read_git_directory(git)); }

bool is_plain_pointer(const std::string& file) {
  if (!is_of_kind(file, S_IFREG)) return false;
  const std::string target = pointed_to(file);
  if (target.empty()) return false;
  for (fs::path above = fs::path(file).parent_path(); above.has_relative_path();) {
    above = above.parent_path();
    const std::string common = common_directory_of(above.string());
    if (common.empty()) continue;
    return is_below(target, common + "/modules") || is_below(target, common + "/worktrees");
  }
  return false;
}

bool is_without_programs(const std::string& path) { return path.empty() || are_plain_hooks(*look(path)); }

bool is_copy(const Tree& now, const Tree& other) {
  constexpr std::uint32_t kRuns = 0111;
  return now.rest == 0 && std::all_of(now.entries.begin(), now.entries.end(), [&](const auto& each) {
           const auto& [name, entry] = each;
           const auto same = other.entries.find(name);
           if (same == other.entries.end() || (entry.mode & S_IFMT) != (same->second.mode & S_IFMT)) return false;
           return S_ISDIR(entry.mode) || (entry.whole && same->second.whole && entry.content == same->second.content &&
                                          (entry.mode & kRuns & ~same->second.mode) == 0);
         });
}

bool is_plain_worktree(const std::string& administration, const std::string& common) {
  const std::string settings = administration + "/config.worktree";
  if (exists(settings) && !are_plain_settings(*look(settings))) return false;
  return is_of_kind(administration + "/commondir", S_IFREG) &&
         resolved(administration, path_in(administration + "/commondir")) == common;
}

}  // namespace agentd::cage
