// SPDX-License-Identifier: Apache-2.0
#pragma once
// landlock.h - the kernel's guard of files and network for this process and all that it starts: linux/landlock.h, which
// older systems have only in part, with the numbers of its newest version.
//
// Landlock only ever allows: what no rule opens is closed, and a rule for a directory opens all that is below it.
//
// Threading: thread-compatible. enter() binds the calling thread and those that it starts.

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/file.h"

namespace agentd {

// The rights that a rule may open of a directory and of everything below it.
namespace landlock {
inline constexpr std::uint64_t kExecute = 1u << 0, kWriteFile = 1u << 1, kReadFile = 1u << 2, kReadDirectory = 1u << 3,
                               kRemoveDirectory = 1u << 4, kRemoveFile = 1u << 5, kMakeDirectory = 1u << 7,
                               kMakeRegular = 1u << 8, kMakeSocket = 1u << 9, kMakeFifo = 1u << 10,
                               kMakeLink = 1u << 12, kRefer = 1u << 13, kTruncate = 1u << 14, kDeviceControl = 1u << 15;
inline constexpr std::uint64_t kToRead = kExecute | kReadFile | kReadDirectory;
// Writing includes listing a directory: a process that creates a file syncs its directory.
inline constexpr std::uint64_t kToWrite = kWriteFile | kReadDirectory | kRemoveDirectory | kRemoveFile |
                                          kMakeDirectory | kMakeRegular | kMakeSocket | kMakeFifo | kMakeLink | kRefer |
                                          kTruncate;
inline constexpr std::uint64_t kNetBind = 1u << 0, kNetConnect = 1u << 1;
inline constexpr std::uint64_t kScopeAbstractSocket = 1u << 0, kScopeSignal = 1u << 1;
// The version that brought TCP rules.
inline constexpr long kVersionNet = 4;
}  // namespace landlock

// The version of the running kernel; 0 = it has none, and `errno` says why: ENOSYS, EOPNOTSUPP (switched off at boot),
// EPERM (a filter around this process).
long landlock_version();

class Landlock {
 public:
  // Closes files but for what allow() opens, and of `net` and `scopes` what `version` knows.
  Landlock(long version, std::uint64_t net, std::uint64_t scopes);

  // Opens the path and all below it. A missing one needs no rule.
  void allow(const std::string& path, std::uint64_t rights);
  void allow(int fd, std::uint64_t rights);

  // False if the system refuses. REQUIRES: no_new_privs is set.
  bool enter() const;

 private:
  const std::uint64_t rights_;
  UniqueFd ruleset_;
};

}  // namespace agentd
