// SPDX-License-Identifier: Apache-2.0
#pragma once
// git_files.h - the small files by which Git finds its directories (gitrepository-layout(5)).
//
// Threading: pure functions on the file system.

#include <string>

namespace agentd::cage {

// Links resolved; empty = it does not exist.
std::string real_path(const std::string& path);
// The real path of `path`, which is relative to `directory`; empty = it does not exist, or `path` is empty.
std::string resolved(const std::string& directory, const std::string& path);
// The path that a small file consists of, as Git reads it: without line ends at its end, those within are part of it.
// Empty = it cannot be read.
std::string path_in(const std::string& file);

bool is_directory(const std::string& path);
// It has objects, references and a HEAD.
bool is_git_directory(const std::string& path);
// No ".." is behind another part: a link in the place of that part would lead the path elsewhere.
bool is_straight(const std::string& path);
// The path that a file `.git` names, as it is spelled there and not absolute; empty = none.
std::string text_of_pointer(const std::string& file);
// The same, absolute and without dots; empty = none.
std::string path_named_in(const std::string& file);
// The real path of the directory that a file `.git` names; empty = none.
std::string pointed_to(const std::string& file);
// The directory with the settings and the hooks of a Git directory: that of its main worktree. Empty = it names one
// that does not exist.
std::string common_of(const std::string& git);
// common_of() the `.git` in this directory, be it a directory or a file; empty = there is no repository here.
std::string common_directory_of(const std::string& top);

}  // namespace agentd::cage
