// SPDX-License-Identifier: Apache-2.0
#pragma once
// watch.h - holds what no layer can forbid: that a guarded path appears which was not there, and, where Landlock is
// alone, that one changes.
//
// Landlock only allows, and downwards: who may make files in a directory may make `.git/hooks` in it. Bubblewrap could
// mount something in its place, but leaves it behind. So the paths are looked at before a command and again when all of
// its processes have ended: what it made is moved out of the way, what it changed is put back.
//
// Until then the change is there: what runs outside of the cage meanwhile, such as your own `git commit`, sees it.
//
// Threading: thread-compatible.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/base/file.h"

namespace agentd::cage {

class Watch {
 public:
  // Looks at the paths. `pinned`: directories that are put back in their places when they were moved: another one there
  // would have hooks of its own. `aside`: the directory to which things are moved; it is made when it is needed.
  Watch(std::vector<std::string> paths, const std::vector<std::string>& pinned, std::string aside);

  // Looks again, and undoes. Returns a sentence for each path, without a full stop.
  std::vector<std::string> undo() const;

 private:
  struct Entry {
    std::uint32_t mode = 0;
    std::uint64_t device = 0, inode = 0, bytes = 0;
    std::int64_t changed_s = 0, changed_ns = 0;
    std::string content;  // of a file, or the target of a link
    bool whole = true;    // false: too large, so it is known but cannot be put back
    bool operator==(const Entry& other) const;
  };
  // By the path below the guarded one; "" is that itself. Empty = it is not there.
  using Tree = std::map<std::string, Entry>;
  struct Budget;

  static Tree look(const std::string& path, bool with_content);
  static void look_into(const std::string& path, const std::string& below, bool with_content, Budget& budget,
                        Tree& out);
  static bool put_back(const std::string& path, const Tree& before);
  struct Pin {
    std::string path;
    UniqueFd directory;
  };
  void undo_pin(const Pin& pin, std::vector<std::string>& out) const;
  std::string undo_one(const std::string& path, const Tree& before, const Tree& after) const;
  struct Aside {
    bool gone = false;  // from its place
    std::string place;  // where it is now; empty = nothing of it could be kept
  };
  Aside move_aside(const std::string& path) const;
  static void open_up(const std::string& path);
  static void open_way(const std::string& path);
  static bool copy_aside(const std::string& path, const std::string& place);

  std::map<std::string, Tree> before_;
  std::vector<Pin> pins_;
  const std::string aside_;
};

// True if a new `.git` is one that `git init` makes: no hook that runs, and no setting that names a program or another
// file. Such a one may stay.
bool is_plain_repository(const std::string& git);

}  // namespace agentd::cage
