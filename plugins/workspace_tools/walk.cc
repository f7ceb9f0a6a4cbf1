// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/walk.h"

#include <algorithm>
#include <span>

#include "plugins/workspace_tools/text.h"

namespace workspace_tools {
namespace {

constexpr std::uint32_t kFolderEntriesMax = 100'000;
constexpr std::uint64_t kIgnoreFileBytes = 1u << 20;
constexpr std::uint64_t kTimeKeptNs = 2'000'000'000;  // of the call's time, to give what was found
constexpr std::string_view kHistory[] = {".git", ".hg", ".svn"};
constexpr std::string_view kMade[] = {"node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string joined(const std::string& folder, std::string_view name) {
  if (folder.empty() || folder == ".") return std::string(name);
  return folder + (folder.ends_with('/') ? "" : "/") + std::string(name);
}

bool has_file(agentd::file_entry_list entries, std::string_view name) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](agentd::file_entry_view entry) { return entry.path() == name; });
}

bool belongs_to_a_tool(agentd::file_entry_list entries) {
  return has_file(entries, "CACHEDIR.TAG") || has_file(entries, "CMakeCache.txt");
}

}  // namespace

Walk::Levels Walk::with_file(const std::string& file, const std::string& in_rules, Levels outer) const {
  const auto text = files_.read(c_, file, 0, kIgnoreFileBytes);
  if (!text) return outer;
  return std::make_shared<const Level>(Level{IgnoreRules(text->bytes), in_rules, std::move(outer)});
}

// From the weakest to the strongest, as git and other search tools have them.
Walk::Levels Walk::with_ignore_files(const std::string& path, const std::string& in_rules, Levels outer,
                                     const std::function<bool(std::string_view name)>& has) const {
  if (include_ignored_) return outer;
  if (has(".git")) outer = with_file(joined(path, ".git/info/exclude"), in_rules, std::move(outer));
  for (const char* const name : {".gitignore", ".ignore"})
    if (has(name)) outer = with_file(joined(path, name), in_rules, std::move(outer));
  return outer;
}

// Ignore files between the working directory and the folder. If the folder is elsewhere, or is absolute while the
// working directory is unknown, the rules begin with the folder's own.
Walk::Levels Walk::rules_around(const std::string& folder, std::string_view cwd, std::string* in_rules) const {
  in_rules->clear();
  std::string path = ".";
  std::string full = normal_path("", folder);
  std::size_t skip = 1;
  if (folder.starts_with('/')) {
    path = normal_path("", cwd);
    if (cwd.empty() || !(full + "/").starts_with(path == "/" ? path : path + "/")) return nullptr;
    skip = path == "/" ? 1 : std::min(full.size(), path.size() + 1);
  }
  std::string_view rest = std::string_view(full).substr(skip);
  Levels levels;
  while (!rest.empty()) {
    levels = with_ignore_files(path, *in_rules, std::move(levels), [](std::string_view) { return true; });
    const std::size_t end = std::min(rest.find('/'), rest.size());
    path = joined(path, rest.substr(0, end));
    *in_rules = joined(*in_rules, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return levels;
}

bool Walk::is_left_out(std::string_view name) const {
  return is_one_of(name, kHistory) || (!include_ignored_ && is_one_of(name, kMade));
}

std::string_view Walk::incomplete() const {
  if (entries_ > kEntriesMax) return "there are too many files";
  return late_ ? "its time is over" : "";
}

bool Walk::is_late() const { return c_.time_left_ns() < kTimeKeptNs; }

bool Walk::ignored(const Levels& levels, const std::string& in_rules, bool is_directory) const {
  for (const Level* level = levels.get(); level != nullptr; level = level->outer.get()) {
    const std::size_t skip = level->folder.empty() ? 0 : level->folder.size() + 1;
    switch (level->rules.decide(std::string_view(in_rules).substr(skip), is_directory)) {
      case IgnoreRules::Verdict::kIgnore:
        return true;
      case IgnoreRules::Verdict::kKeep:
        return false;
      case IgnoreRules::Verdict::kNone:
        break;
    }
  }
  return false;
}

bool Walk::walk_folder(const Folder& at, agentd::file_entry_list entries, std::vector<Folder>& todo,
                       const std::function<bool(const FoundFile&)>& each) {
  const Levels levels = with_ignore_files(at.path, at.in_rules, at.levels,
                                          [&](std::string_view name) { return has_file(entries, name); });
  std::vector<Folder> folders;
  for (agentd::file_entry_view entry : entries) {
    if (++entries_ > kEntriesMax) return false;
    const std::string in_rules = joined(at.in_rules, entry.path());
    if (entry.is_directory()) {
      if (is_left_out(entry.path()) || ignored(levels, in_rules, true)) continue;
      folders.push_back({joined(at.path, entry.path()), joined(at.below, entry.path()), in_rules, levels});
    } else if (entry.is_withheld()) {
      if (!is_left_out(entry.path()) && !ignored(levels, in_rules, false)) ++withheld_;
    } else if (entry.is_regular() && !ignored(levels, in_rules, false)) {
      late_ = is_late();
      if (late_ ||
          !each({joined(at.path, entry.path()), joined(at.below, entry.path()), entry.bytes(), entry.modified_ns()}))
        return false;
    }
  }
  todo.insert(todo.end(), std::make_move_iterator(folders.rbegin()), std::make_move_iterator(folders.rend()));
  return true;
}

agentd_status Walk::run(const std::string& folder, std::string_view cwd,
                        const std::function<bool(const FoundFile&)>& each) {
  entries_ = withheld_ = unreadable_ = 0;
  late_ = false;
  Folder top{folder, "", "", nullptr};
  top.levels = rules_around(folder, cwd, &top.in_rules);
  std::vector<Folder> todo{std::move(top)};
  while (!todo.empty()) {
    if (c_.cancelled()) return AGENTD_E_CANCELLED;
    if (late_ = is_late(); late_) return AGENTD_OK;
    const Folder at = std::move(todo.back());
    todo.pop_back();
    const auto listing = files_.list(c_, at.path, 1, kFolderEntriesMax);
    if (!listing && at.below.empty()) return listing.status();
    if (listing.status() == AGENTD_E_DENIED) ++unreadable_;
    if (!listing || (!at.below.empty() && !include_ignored_ && belongs_to_a_tool(listing->entries))) continue;
    if (!walk_folder(at, listing->entries, todo, each)) return AGENTD_OK;
  }
  return AGENTD_OK;
}

}  // namespace workspace_tools
