// SPDX-License-Identifier: Apache-2.0
#pragma once
// family.h - everything that a command has started, to end it at the deadline.
//
// A process belongs to the family when it is in the command's session or process group, when its
// chain of parents leads to the command, when it holds the write end of one of the command's pipes,
// when it carries the command's mark: a variable of its environment that nobody else has, or when
// it carries the command's brand: a limit of the kernel that all that it starts inherits. What
// escapes a mark: a process that made a session of its own, lost its parents, closed the pipes and
// was executed with another environment. What escapes a brand: a process that may set its limits,
// and did. What escapes both: one that forks and ends faster than /proc can be read. Only a cgroup
// would hold it.
//
// Where orphans come to this process (births.h) members are looked for among its descendants alone;
// elsewhere among all processes of the machine.
//
// Every signal goes through a pidfd that was opened before the membership was checked, so that a
// number that the kernel has given to somebody else is never hit.
//
// Threading: thread-compatible.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"

namespace agentd {

// "AGENTD_RUN=" and 128 random bits: what marks a command and all that it starts.
std::string make_mark();

// Gives a child a number that it and all that it starts carry from now on, and returns it; 0 when
// the system does not let us. The number is the limit of the time that a process may compute in real
// time without a pause, 73,000 years and more, so that it binds nobody. REQUIRES: the child has not
// been waited for.
std::uint64_t brand(pid_t child);

// Whether the process carries a brand that this process, or one that it is a fork of, has given.
bool carries_own_brand(pid_t pid);

// Of the whole machine, in no order.
std::vector<pid_t> all_processes();

class Family {
 public:
  // `leader` must not have been waited for yet: its zombie keeps the numbers of session and group.
  // `pipes` are the read ends of what it writes to; one that is -1 is left out. `mark` is a
  // variable that was added to its environment, "NAME=value"; empty = none. `brand`: 0 = none.
  Family(pid_t leader, const std::vector<int>& pipes, std::string mark = {}, std::uint64_t brand = 0);

  // Finds members that are alive and remembers them; true when there were new ones.
  bool gather();
  // To the group and to everybody remembered, once each: a second SIGTERM means "at once" to some.
  // SIGCONT is sent after it, so that stopped ones notice.
  void signal(int number) const;
  // True when everybody remembered has ended.
  bool gone() const;
  // SIGKILL until nobody is left who could make new ones, or `rounds` are over; then false.
  bool kill_all(int rounds);

  // Reads the command's pipes for at most that many milliseconds; false when nothing happened.
  using Pump = std::function<bool(int)>;
  // SIGTERM, at most `grace`, SIGKILL, to all of them. The pipes are read on meanwhile: who is
  // stuck in a full one could not end. `leader` is the command's pidfd.
  void end(const UniqueFd& leader, const Clock& clock, Milliseconds grace, const Pump& pump);
  // Of a leader that has ended: SIGKILL to everybody else, when there is somebody.
  void end_rest();
  // How many it has found so far, beside the leader.
  std::uint32_t found() const { return found_; }
  // SIGKILL at once.
  void end_now(const UniqueFd& leader, const Pump& pump);

 private:
  struct Row {
    pid_t parent = 0, group = 0, session = 0;
    bool zombie = false;
  };
  struct Member {
    UniqueFd pidfd;
    bool in_group = false;  // the leader's, when it was found
  };
  void send_to_all(int number) const;
  static bool read_row(pid_t pid, Row* out);
  bool writes_to_pipe(pid_t pid) const;
  bool carries_mark(pid_t pid) const;
  bool carries_brand(pid_t pid) const;
  bool belongs(pid_t pid, const Row& row) const;
  bool remember(pid_t pid);

  const pid_t leader_;
  const std::string mark_;
  const std::uint64_t brand_;
  std::vector<std::string> pipes_;  // as /proc names them: "pipe:[123]"
  std::map<pid_t, Member> members_;
  std::uint32_t found_ = 0;
};

}  // namespace agentd
