// SPDX-License-Identifier: Apache-2.0
#pragma once
// family.h - everything that a command has started, to end it at the deadline.
//
// A process belongs to the family when it is in the command's session or process group, when its
// chain of parents leads to the command, or when it holds the write end of the command's output
// pipe. What escapes: a process that made a session of its own, lost its parents and closed the
// output - a proper daemon. Only a cgroup would hold it.
//
// Every signal goes through a pidfd that was opened before the membership was checked, so that a
// number that the kernel has given to somebody else is never hit.
//
// Threading: thread-compatible.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>

#include "core/base/file.h"

namespace agentd {

class Family {
 public:
  // `leader` must not have been waited for yet: its zombie keeps the numbers of session and group.
  // `output` is the read end of its pipe.
  Family(pid_t leader, int output);

  // Finds members that are alive and remembers them; true when there were new ones.
  bool gather();
  // To the group and to everybody remembered. SIGCONT is sent after it, so that stopped ones
  // notice.
  void signal(int number) const;
  // True when everybody remembered has ended.
  bool gone() const;
  // SIGKILL until nobody is left who could make new ones, or `rounds` are over.
  void kill_all(int rounds);

 private:
  struct Row {
    pid_t parent = 0, group = 0, session = 0;
    bool zombie = false;
  };
  static bool read_row(pid_t pid, Row* out);
  bool writes_to_pipe(pid_t pid) const;
  bool belongs(pid_t pid, const Row& row) const;
  bool remember(pid_t pid);

  const pid_t leader_;
  std::uint64_t pipe_ = 0;  // the pipe's inode; 0 = unknown
  std::map<pid_t, UniqueFd> members_;
};

}  // namespace agentd
