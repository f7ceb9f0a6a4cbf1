// SPDX-License-Identifier: Apache-2.0
#include "plugins/workspace_tools/walk.h"

#include <algorithm>

#include "plugins/workspace_tools/text.h"

namespace workspace_tools {
namespace {

constexpr std::uint32_t kFolderEntriesMax = 100'000;
constexpr std::uint64_t kIgnoreFileBytes = 1u << 20;
constexpr std::string_view kNeverWalked[] = {".git",        ".hg",   ".svn", "node_modules",
                                             "__pycache__", ".venv", ".tox", ".mypy_cache"};

bool never_walked(std::string_view name) {
  return std::find(std::begin(kNeverWalked), std::end(kNeverWalked), name) != std::end(kNeverWalked);
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

Walk::Levels Walk::with_ignore_file(const std::string& path, const std::string& in_rules, Levels outer) const {
  const auto file = files_.read(c_, joined(path, ".gitignore"), 0, kIgnoreFileBytes);
  if (!file) return outer;
  return std::make_shared<const Level>(Level{IgnoreRules(file->bytes), in_rules, std::move(outer)});
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
    levels = with_ignore_file(path, *in_rules, std::move(levels));
    const std::size_t end = std::min(rest.find('/'), rest.size());
    path = joined(path, rest.substr(0, end));
    *in_rules = joined(*in_rules, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return levels;
}

bool Walk::ignored(const Levels& levels, const std::string& in_rules, bool is_directory) {
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
  const Levels levels = has_file(entries, ".gitignore") ? with_ignore_file(at.path, at.in_rules, at.levels) : at.levels;
  std::vector<Folder> folders;
  for (agentd::file_entry_view entry : entries) {
    if (++entries_ > kEntriesMax) return false;
    const std::string in_rules = joined(at.in_rules, entry.path());
    if (entry.is_directory()) {
      if (never_walked(entry.path()) || ignored(levels, in_rules, true)) continue;
      folders.push_back({joined(at.path, entry.path()), joined(at.below, entry.path()), in_rules, levels});
    } else if (entry.is_regular() && !ignored(levels, in_rules, false)) {
      if (!each({joined(at.path, entry.path()), joined(at.below, entry.path()), entry.bytes(), entry.modified_ns()}))
        return false;
    }
  }
  todo.insert(todo.end(), std::make_move_iterator(folders.rbegin()), std::make_move_iterator(folders.rend()));
  return true;
}

agentd_status Walk::run(const std::string& folder, std::string_view cwd,
                        const std::function<bool(const FoundFile&)>& each) {
  entries_ = 0;
  Folder top{folder, "", "", nullptr};
  top.levels = rules_around(folder, cwd, &top.in_rules);
  std::vector<Folder> todo{std::move(top)};
  while (!todo.empty()) {
    if (c_.cancelled()) return AGENTD_E_CANCELLED;
    if (c_.time_left_ns() == 0) return AGENTD_E_DEADLINE;
    const Folder at = std::move(todo.back());
    todo.pop_back();
    const auto listing = files_.list(c_, at.path, 1, kFolderEntriesMax);
    if (!listing && at.below.empty()) return listing.status();
    if (!listing || (!at.below.empty() && belongs_to_a_tool(listing->entries))) continue;
    if (!walk_folder(at, listing->entries, todo, each)) return AGENTD_OK;
  }
  return AGENTD_OK;
}

}  // namespace workspace_tools
