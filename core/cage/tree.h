// SPDX-License-Identifier: Apache-2.0
#pragma once
// tree.h - the state of one guarded path: a file, or a directory with all that is in it, kept so that it can be
// restored.
//
// Threading: functions are thread-safe as far as the file system is; Tree is a value.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace agentd::cage {

struct Tree {
  struct Entry {
    std::uint32_t mode = 0;  // st_mode
    std::uint64_t device = 0, inode = 0, bytes = 0;
    std::int64_t changed_s = 0, changed_ns = 0;
    std::string content;  // of a file, or the target of a link
    bool whole = true;    // false: too large, so it is known but cannot be restored
  };
  // By the path below the guarded one; "" is that itself. Empty = it is not there.
  std::map<std::string, Entry> entries;
  std::uint64_t rest = 0;  // a sum of the entries beyond those; 0 = there are none, and all of it is kept
  // All of it was older than the steps of the file system's clock when it was read: what has the same times now has the
  // same contents.
  bool settled = false;
  // A link was in the way of the path, so that nothing was looked at.
  bool led = false;
  std::vector<std::uint32_t> way;  // the rights of the directories above what is there (physical.h)

  bool exists() const { return !entries.empty(); }
};

using TreePointer = std::shared_ptr<const Tree>;  // shared by all commands that guard the path, and their journals

// Reads the path with contents, without following a link (physical.h): at most 2,000 entries and 8 MiB, of a file 1
// MiB; of further entries, up to 200,000, it is known whether any has changed. Returns `known` where nothing has
// changed since. Never null.
TreePointer look(const std::string& path, const TreePointer& known = nullptr);
// Likewise, of the last name of the path in a directory that is open: O_PATH is enough.
TreePointer look_in(int folder, const std::string& path);
// Without contents.
Tree glance(const std::string& path);

// The same files, and none of them was written to. The time of change cannot be set, so equal ones mean equal contents;
// a directory has another one when something else in it was restored.
bool is_untouched(const Tree& now, const Tree& before);
// The same names, kinds, rights and contents, also in other files. Both were read with contents.
bool has_same_content(const Tree& now, const Tree& before);

// Makes all of it at a path where nothing is, without following a link. False: a part is missing.
bool restore(const std::string& path, const Tree& before);

}  // namespace agentd::cage
