// SPDX-License-Identifier: Apache-2.0
#pragma once
// git_places.h - the directories and files of Git in and behind a root: what a commit writes, and what would run code.
//
// Threading: thread-safe.

#include <string>
#include <vector>

namespace agentd::cage {

// A part of a repository that a command can add, and whose hooks and settings Git follows from then on.
struct GitPart {
  enum class Kind {
    kLink,       // the `.git` of a submodule in its worktree
    kModule,     // the directory of a submodule
    kWorktree,   // the directory of a linked worktree in "worktrees"
    kBare,       // the HEAD by which a directory is a repository itself, without a `.git`
    kPointer,    // a `.git` that leads to a directory, or did; one that a command adds is none of the user's
    kDirectory,  // what such a one leads to now
    kUnread,     // one that is too deep to be read, or leads where nothing is read
    kIndex,      // an index that leads Git out of the root
    kNamed,      // hooks or a program that settings name by a path in each worktree
  };
  Kind kind = Kind::kLink;
  std::string path;
  std::string common = {};   // of a worktree: the repository, a real path
  std::string pointer = {};  // of a directory: what leads to it ...
  std::string spelled = {};  // ... and the path that is written there; links are not resolved
};

// A worktree outside of the roots. Where it cannot be seen, Git removes what it keeps of the worktree.
struct GitAbsent {
  std::string top, administration;  // `top`: a real path as far as it exists
};

struct GitPlaces {
  std::vector<std::string> writable;  // outside of the root
  std::vector<std::string> guarded;   // need not exist
  std::vector<std::string> watched;   // as `guarded`, but too many for a mount each
  std::vector<std::string> links;     // guarded themselves; what they lead to is guarded in its own right
  std::vector<std::string> pinned;    // directories that stay where they are
  std::vector<GitAbsent> absent;
  std::vector<GitPart> parts;
};

// The user's settings, which hold in every repository.
struct GitUser {
  std::string home, xdg;  // $XDG_CONFIG_HOME; empty = not set
};

// A repository is guarded wherever it is in the root: behind a file `.git`, in the root itself, and, of the directories
// in it, where one is bare or has a file `.git`. One that is elsewhere is opened only if it names this root in turn, or
// if it can be no other worktree's: a file `.git` could otherwise open any directory. `root` is a real path, and so are
// `roots`, all that commands may write: a repository in one can have worktrees in another.
GitPlaces git_places(const std::string& root, const GitUser& user = {}, const std::vector<std::string>& roots = {});

// The guarded and watched ones of git_places(), and the links.
std::vector<std::string> git_hook_places(const std::string& root, const GitUser& user = {},
                                         const std::vector<std::string>& roots = {});

// True for a part that a command may have added (plain.h).
bool is_plain_part(const GitPart& part);

}  // namespace agentd::cage
