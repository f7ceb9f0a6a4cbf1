// SPDX-License-Identifier: Apache-2.0
#pragma once
// identity.h - which file agentd found at a path when it checked it, so that what is used later is that one.
//
// Between a check of a path and its use a command that runs at the same time can exchange a directory for a link. So
// agentd notes what it has checked, and the helper compares: a rule of Landlock is made from the descriptor that was
// compared, and the view that bubblewrap has made is compared from inside, before the command starts.
//
// For a view that is enough although the notes are compared one after the other: each of them needs a mount of its own
// with that file, and bubblewrap makes one mount for each. So none is left that shows another file.
//
// Threading: thread-safe.

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace agentd::cage {

struct Identity {
  std::uint64_t device = 0, inode = 0;
  std::uint32_t kind = 0;  // of st_mode: S_IFDIR and its like; 0 = nothing was there
  bool operator==(const Identity&) const = default;
};
Identity identity_of(const struct stat& info);
// The identity at a path without a link in it (physical.h).
Identity identity_at(const std::string& path);
// The identity of the file that a path leads to.
Identity identity_behind(const std::string& path);

// A file that has to be at a path.
struct Noted {
  enum class As : std::uint8_t {
    kAny,       // links are followed
    kWritable,  // a mount, with no link in its path
    kReadOnly,  // likewise, and it cannot be written through it
    kEmpty,     // likewise, a directory in memory, whatever its identity
  };
  std::string path;
  As as = As::kAny;
  Identity identity;
};

// An error for the first that is not as it was noted: kUnavailable, one sentence without a full stop. Before Linux 5.8
// the kernel does not tell whether a directory is a mount: then its identity is compared alone.
Result<void> check_noted(const std::vector<Noted>& notes);
// The sentence for a path that was exchanged.
std::string exchanged_text(const std::string& path);

}  // namespace agentd::cage
