// SPDX-License-Identifier: Apache-2.0
#pragma once
// git_index.h - the submodules of a repository, by its index: Git enters those that are named there, whatever
// .gitmodules says.
//
// The format is gitformat-index(5), versions 2 to 4. Git itself is not asked: it would read settings that a command may
// be changing right now.
//
// Threading: thread-safe.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::cage {

struct Gitlinks {
  std::vector<std::string> paths;  // below the top of the worktree; as they are spelled, which may be anything
  bool complete = true;            // false: there may be more
};

// Reads the bytes of an index. Not complete: another version, a split index, a sparse one, no index at all, or one that
// Git would not write: with paths that have ".", "..", ".git" or nothing between slashes, with a table of its entries
// that names others, or with names that do not end where they say. Git reads those, and so the paths are all that it
// can find. `hash`: the bytes of an object's name, as the settings say; 0 = unknown. Both that there are are tried, and
// an index that cannot be read whole with this one is not complete.
Gitlinks parse_gitlinks(std::string_view index, std::size_t hash = 0);

// The absolute paths of the directories that the index of the worktree `top` names, which may be outside of it: only a
// program that is not Git writes those. Where it is not complete, also what shared indexes name, and all directories
// below `within` that have a `.git`: the answer is not complete only if there are more than `walk_max` entries to be
// searched. What was read is kept by the identity and the times of the index.
Gitlinks gitlinks(const std::string& top, const std::string& index, const std::string& within,
                  std::size_t walk_max = 1'000'000);

}  // namespace agentd::cage
