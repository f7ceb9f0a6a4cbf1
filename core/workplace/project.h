// SPDX-License-Identifier: Apache-2.0
#pragma once
// project.h - which project a directory belongs to. No git process is run.
//
// Threading: pure functions on the file system.

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/config/config.h"

namespace agentd {

struct Project {
  std::string cwd;
  std::string root;  // of the git work tree; the cwd without one
  std::string id;    // see project_id_of(); root without an origin
};

// Looks for .git from `cwd` upward; also a .git file, as worktrees and submodules have.
Project find_project(const std::string& cwd);

// The id that `git remote get-url origin | sed 's/.*github.com[:/]\(.*\)\.git/\1/' | tr '/' '_'`
// prints: "git@github.com:ann/tool.git" gives "ann_tool".
std::string project_id_of(std::string_view origin_url);

// The url of remote "origin" in a git configuration; empty when there is none.
std::string origin_url(std::string_view git_config);

// Checks that every directory of workspace.roots can be opened; kInvalid names the setting's place.
Result<void> check_roots(const Config& config);

}  // namespace agentd
