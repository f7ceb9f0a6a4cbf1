// SPDX-License-Identifier: Apache-2.0
#pragma once
// git_index.h - the submodules of a repository, by its index: Git enters those that are named there, whatever
// .gitmodules says.
//
// The format is gitformat-index(5), versions 2 to 4. Git itself is not asked: it would read settings that a command may
// be changing right now.
//
// Threading: thread-safe.

#include <string>
#include <string_view>
#include <vector>

namespace agentd::cage {

struct Gitlinks {
  std::vector<std::string> paths;  // below the top of the worktree
  bool complete = true;            // false: the index has parts that are not read here, and there may be more
};

// Reads the bytes of an index. Not complete: another version, a split index, a sparse one, or no index at all.
Gitlinks parse_gitlinks(std::string_view index);

// The directories of those that the index of the worktree `top` names. Where it is not complete, also all directories
// below `within` that have a `.git`. What was read is kept by the identity and the times of the index.
std::vector<std::string> gitlinks(const std::string& top, const std::string& index, const std::string& within);

}  // namespace agentd::cage
