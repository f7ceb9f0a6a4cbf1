// SPDX-License-Identifier: Apache-2.0
#pragma once
// plain.h - which new parts of a repository a command may have made: no hook that runs, and no setting that names a
// program or another file. The user's own Git, outside of the sandbox, runs nothing because of them.
//
// Threading: pure functions on the file system.

#include <cstdint>
#include <map>
#include <string>

#include "core/cage/tree.h"

namespace agentd::cage {

// The parts of a Git directory that lead Git to programs, from one reading: the answers below are about the contents
// that were read, whatever becomes of the directory meanwhile.
struct GitReading {
  std::string path;
  std::uint64_t inode = 0;                   // 0 = it is no directory, or a link is in its way
  std::map<std::string, TreePointer> parts;  // by name, also of those that are missing
  bool others = false;                       // it has modules or worktrees
};
GitReading read_git_directory(const std::string& git);

// A `.git` as `git init` and `git clone` make it.
bool is_plain_repository(const GitReading& git);
bool is_plain_repository(const std::string& git);
// The directory of a submodule, below "modules"; submodules and worktrees in it have to be plain themselves.
bool is_plain_git_directory(const std::string& git);
// A file `.git` that leads to a submodule's or a worktree's directory in the repository around it: to that itself, and
// to nothing else below "modules" or "worktrees".
bool is_plain_pointer(const std::string& file);
// Neither a program nor a directory that has hooks: nothing, or samples alone. `path`: a real path, empty = nothing.
bool is_without_programs(const std::string& path);
// The programs and hooks of a new worktree are those of another one: each file is there, too, and runs there.
bool is_copy(const Tree& now, const Tree& other);
// A directory below "worktrees" of the repository `common`, which is a real path, as `git worktree add` makes it: its
// worktree leads back to it, or is gone.
bool is_plain_worktree(const std::string& administration, const std::string& common);

}  // namespace agentd::cage
