// SPDX-License-Identifier: Apache-2.0
#include "core/cage/plain.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/paths.h"
#include "core/cage/git_files.h"
#include "core/cage/git_settings.h"
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
  if (section == "core")
    return one_of({"repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
                   "symlinks", "sharedrepository", "sparsecheckout", "sparsecheckoutcone", "autocrlf", "eol",
                   "safecrlf", "quotepath", "longpaths", "abbrev", "whitespace", "compression", "untrackedcache"});
  if (section == "index") return one_of({"sparse", "version", "threads"});
  // Switches and numbers.
  if (section == "advice" || section == "color" || section == "column") return true;
  if (section == "commit" || section == "tag") return one_of({"gpgsign", "verbose", "sort", "cleanup"});
  if (section == "pull" || section == "rebase")
    return one_of({"rebase", "ff", "autostash", "autosquash", "updaterefs"});
  if (section == "push") return one_of({"default", "autosetupremote", "followtags"});
  if (section == "fetch") return one_of({"prune", "prunetags", "parallel"});
  if (section == "merge") return one_of({"ff", "conflictstyle", "renames", "stat"});
  if (section == "gc") return one_of({"auto", "autodetach"});
  if (section == "init") return one_of({"defaultbranch"});
  if (section == "remote") return one_of({"url", "fetch", "tagopt", "mirror"});
  if (section == "receive") return one_of({"denynonfastforwards", "denydeletes", "denycurrentbranch"});
  if (section == "branch") return one_of({"remote", "merge", "rebase"});
  if (section == "user") return one_of({"name", "email"});
  if (section == "extensions") return one_of({"objectformat", "refstorage", "worktreeconfig"});
  return section == "submodule" && one_of({"active", "url"});
}

// A section's or a key's name at the beginning of the text.
std::string word_of(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-')) ++end;
  return ascii_lower(text.substr(0, end));
}

// `places`: core.worktree is allowed, and is checked by its caller.
bool is_plain_line(std::string_view line, std::string& section, bool places) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) line.remove_suffix(1);
  if (line.empty() || line.front() == '#' || line.front() == ';') return true;
  if (line.back() == '\\') return false;
  // Git reads them in another way than a person, and ends a path at a zero.
  if (std::any_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; })) return false;
  if (line.front() == '[') {
    section = word_of(line.substr(1));
    return line.back() == ']' && std::count(line.begin(), line.end(), ']') == 1;
  }
  // "ext::" runs a program.
  if (line.find_first_of("\"\\") != std::string_view::npos) return false;
  const std::string key = word_of(line);
  if (places && section == "core" && key == "worktree") return true;
  return is_plain_setting(section, key) && line.find("::") == std::string_view::npos;
}

bool are_plain_settings(std::string_view text, bool places) {
  if (text.size() > kSettingsMax) return false;
  std::string section;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (!is_plain_line(text.substr(from, end - from), section, places)) return false;
    from = end + 1;
  }
  return true;
}

bool are_plain_settings(const Tree& file, bool places) {
  const auto own = file.entries.find("");
  return own != file.entries.end() && S_ISREG(own->second.mode) && own->second.whole &&
         are_plain_settings(own->second.content, places);
}

bool has_entry(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool is_of_kind(const std::string& path, mode_t kind) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == kind;
}

// The settings that `git sparse-checkout` writes to "config.worktree". Others would differ from the repository's.
bool are_settings_of_worktree(const Tree& file) {
  if (!file.exists()) return true;
  if (!are_plain_settings(file, false)) return false;
  const std::vector<GitSetting> all = parse_git_settings(file.entries.at("").content);
  return std::all_of(all.begin(), all.end(), [](const GitSetting& each) {
    return each.name == "core.sparsecheckout" || each.name == "core.sparsecheckoutcone" || each.name == "core.bare" ||
           each.name == "index.sparse";
  });
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

// Git writes core.worktree for the directory of a submodule. Another place would let the user's `git checkout` write
// where commands cannot: it must be a worktree whose `.git` leads back.
bool is_own_worktree(const std::string& named, const std::string& git) {
  const std::string top = lexical_path(named, git), pointer = top + "/.git";
  if (!is_straight(named) || !links_of(named.starts_with('/') ? named : git + "/" + named).empty()) return false;
  if (pointer == git || top == git) return true;
  return is_of_kind(pointer, S_IFREG) && pointed_to(pointer) == real_path(git);
}

bool has_own_worktree(const Tree& settings, const std::string& git) {
  const std::vector<GitSetting> all = parse_git_settings(settings.entries.at("").content);
  return std::all_of(all.begin(), all.end(), [&](const GitSetting& each) {
    return each.name != "core.worktree" || is_own_worktree(each.value, git);
  });
}

bool is_plain_git_directory(const GitReading& git) {
  if (git.inode == 0) return false;
  const Tree& settings = *git.parts.at("config");
  return !git.parts.at("commondir")->exists() && are_plain_hooks(*git.parts.at("hooks")) &&
         are_plain_settings(settings, true) && has_own_worktree(settings, git.path) &&
         are_settings_of_worktree(*git.parts.at("config.worktree"));
}

// The directory of a submodule's repository, of which "modules" is the first: a repository has none but those in a
// "modules" of its own.
bool is_module(const std::string& modules, std::string rest) {
  std::string at = modules;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('/'), rest.size());
    at += "/" + rest.substr(0, end);
    rest.erase(0, end + 1);
    if (!has_entry(at + "/HEAD")) continue;
    if (rest.empty()) return true;
    constexpr std::string_view kNext = "modules/";
    if (!rest.starts_with(kNext)) return false;
    at += "/modules";
    rest.erase(0, kNext.size());
  }
  return false;
}

// Likewise of a worktree, and of a submodule in one.
bool is_worktree(const std::string& worktrees, const std::string& rest) {
  const std::size_t end = rest.find('/');
  if (end == std::string::npos) return !rest.empty();
  constexpr std::string_view kNext = "modules/";
  const std::string further = rest.substr(end + 1);
  return further.starts_with(kNext) &&
         is_module(worktrees + "/" + rest.substr(0, end) + "/modules", further.substr(kNext.size()));
}

}  // namespace

GitReading read_git_directory(const std::string& git) {
  GitReading out;
  const UniqueFd own = open_directory_at(git, O_PATH);
  struct stat info {};
  if (!own.valid() || ::fstat(own.get(), &info) != 0) return out;
  out.path = git;
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
  if (!is_of_kind(file, S_IFREG) || !is_straight(text_of_pointer(file))) return false;
  const std::string target = pointed_to(file);
  if (target.empty()) return false;
  for (fs::path above = fs::path(file).parent_path(); above.has_relative_path();) {
    above = above.parent_path();
    const std::string common = common_directory_of(above.string());
    if (common.empty()) continue;
    const std::string modules = common + "/modules", worktrees = common + "/worktrees";
    if (is_below(target, modules))
      return is_module(modules, target.substr(std::min(modules.size() + 1, target.size())));
    return is_below(target, worktrees) &&
           is_worktree(worktrees, target.substr(std::min(worktrees.size() + 1, target.size())));
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
  if (!are_settings_of_worktree(*look(settings))) return false;
  // Any other way could lead elsewhere later.
  if (!is_of_kind(administration + "/commondir", S_IFREG) || path_in(administration + "/commondir") != "../.." ||
      resolved(administration, "../..") != common)
    return false;
  const std::string named = path_in(administration + "/gitdir"), pointer = lexical_path(named, administration);
  if (fs::path(named).filename() != ".git" || !is_straight(named) || !links_of(pointer).empty()) return false;
  return !is_there(pointer) ? !is_there(fs::path(pointer).parent_path().string())
                            : is_of_kind(pointer, S_IFREG) && is_straight(text_of_pointer(pointer)) &&
                                  pointed_to(pointer) == administration;
}

}  // namespace agentd::cage
