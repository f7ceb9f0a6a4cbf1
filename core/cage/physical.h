// SPDX-License-Identifier: Apache-2.0
#pragma once
// physical.h - files by absolute paths of which no part is a link.
//
// agentd looks at guarded paths and restores them outside of the sandbox, while commands can put links in their way:
// followed, a link would show files of the home or write there. So the kernel walks each path without following any
// (openat2(2), RESOLVE_NO_SYMLINKS), and what is done is done in the directory that it has opened. A path with a link
// in its way is not there.
//
// Threading: thread-safe.

#include <sys/stat.h>

#include <string>
#include <vector>

#include "core/base/file.h"

namespace agentd::cage {

// The directory of a path and the last name in it. Not valid: it is not there, or a link is in the way.
struct Physical {
  UniqueFd folder;
  std::string name;
  bool valid() const { return folder.valid(); }
};
Physical physical(const std::string& path);

// lstat(2). False: it is not there.
bool look_at(const std::string& path, struct stat& info);
bool is_there(const std::string& path);
// An open directory; `flags` besides O_DIRECTORY: O_PATH, O_RDONLY.
UniqueFd open_directory_at(const std::string& path, int flags);

// The names in a directory, as names.h; none where it is not there, or a link is in its way.
std::vector<std::string> names_in(const std::string& directory);

// The first part of the path above its last name that is a link; empty = there is none.
std::string link_in_the_way(const std::string& path);

// Makes the missing directories above a path, none of them through a link. False: a part could not be made.
bool make_way(const std::string& path);
// Opens the directories above a path, and those that a tree at it has, which a command has closed for their owner.
void open_way(const std::string& path);
void open_up(int folder, const std::string& name);

}  // namespace agentd::cage
