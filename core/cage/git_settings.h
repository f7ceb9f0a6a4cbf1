// SPDX-License-Identifier: Apache-2.0
#pragma once
// git_settings.h - what Git's settings lead to that runs code: directories of hooks, the program of fsmonitor, and
// further files of settings.
//
// The syntax is that of git-config(1). Git itself is not asked: it would cost a process for each command.
//
// Threading: pure functions on the file system.

#include <string>
#include <string_view>
#include <vector>

namespace agentd::cage {

struct GitSetting {
  std::string name;   // section and key in small letters, joined by a dot: "core.hookspath"; without the subsection
  std::string value;  // unquoted
};
// All of a file's, as far as it can be read.
std::vector<GitSetting> parse_git_settings(std::string_view text);
std::vector<GitSetting> settings_in(const std::string& file);

struct GitTargets {
  std::vector<std::string> files;     // of settings that were read or are missing, that is, all that are included; and
                                      // the directory that `git init` copies
  std::vector<std::string> hooks;     // directories, relative to the top of a worktree unless they begin with '/'
  std::vector<std::string> programs;  // likewise
};
// Follows includes, those under conditions, too. `home`: the user's, for "~/".
GitTargets git_targets(const std::vector<std::string>& files, const std::string& home);

// The user's and the machine's files of settings; `xdg`: $XDG_CONFIG_HOME, empty = not set.
std::vector<std::string> user_git_settings(const std::string& home, const std::string& xdg);

}  // namespace agentd::cage
