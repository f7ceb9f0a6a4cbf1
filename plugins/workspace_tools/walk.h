// SPDX-License-Identifier: Apache-2.0
#pragma once
// walk.h - visits all files below a folder that are of interest; shared by glob and grep.
//
// Left out: files that .ignore, .gitignore and .git/info/exclude exclude (in the folder, below it, and between it and
// the working directory); the folders .git, .hg, .svn, node_modules, __pycache__, .venv, .tox and .mypy_cache; folders
// that a build tool marked with CACHEDIR.TAG or CMakeCache.txt. With include_ignored, only .git, .hg and .svn are left
// out. The caller's folder itself is always visited. Links are not followed.
//
// Threading: thread-compatible; one walk at a time.

#include <agentd/drafts.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/workspace_tools/pattern.h"

namespace workspace_tools {

struct FoundFile {
  std::string path;   // to open it through the workspace
  std::string below;  // relative to the folder of the walk
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};

class Walk {
 public:
  static constexpr std::uint64_t kEntriesMax = 500'000;

  Walk(const agentd::context& c, const agentd::workspace& files, bool include_ignored = false)
      : c_(c), files_(files), include_ignored_(include_ignored) {}

  // Calls `each` for every file, folder by folder in byte order, until it returns false. Returns an error if `folder`
  // cannot be listed or the call was cancelled; folders below that cannot be listed are skipped and counted.
  agentd_status run(const std::string& folder, std::string_view cwd, const std::function<bool(const FoundFile&)>& each);
  // Files and folders that the user's rules kept from it, without those that it leaves out itself.
  std::uint64_t withheld() const { return withheld_; }
  // Folders that could not be listed, as their permissions do not allow it.
  std::uint64_t unreadable() const { return unreadable_; }
  // Why it ended early: "" = it did not, otherwise a reason such as "its time is over".
  std::string_view incomplete() const;

 private:
  // One folder's ignore file, and the enclosing folder's.
  struct Level {
    IgnoreRules rules;
    std::string folder;                  // the folder of the rules, relative to the outermost rules
    std::shared_ptr<const Level> outer;  // shared by all folders below it
  };
  using Levels = std::shared_ptr<const Level>;
  struct Folder {
    std::string path, below, in_rules;
    Levels levels;
  };

  Levels with_file(const std::string& file, const std::string& in_rules, Levels outer) const;
  Levels with_ignore_files(const std::string& path, const std::string& in_rules, Levels outer,
                           const std::function<bool(std::string_view name)>& has) const;
  // True once so little of the call's time is left that what was found should be given.
  bool is_late() const;
  bool is_left_out(std::string_view name) const;
  Levels rules_around(const std::string& folder, std::string_view cwd, std::string* in_rules) const;
  bool ignored(const Levels& levels, const std::string& in_rules, bool is_directory) const;
  bool walk_folder(const Folder& at, agentd::file_entry_list entries, std::vector<Folder>& todo,
                   const std::function<bool(const FoundFile&)>& each);

  const agentd::context& c_;
  const agentd::workspace& files_;
  const bool include_ignored_;
  std::uint64_t entries_ = 0, withheld_ = 0, unreadable_ = 0;
  bool late_ = false;
};

}  // namespace workspace_tools
