// SPDX-License-Identifier: Apache-2.0
#pragma once
// family.h - finds all processes that a command has started, to end them at the deadline.
//
// A process belongs to the family when one of these holds: it is in the command's session or process group; its chain
// of parents leads to the command; it holds the write end of one of the command's pipes; it carries the command's mark,
// a unique variable in its environment; or it carries the command's brand, a kernel limit that descendants inherit. A
// process escapes the mark when it made its own session, lost its parents, closed the pipes and was executed with
// another environment. It escapes the brand when it may set its limits and did. It escapes both when it forks and ends
// faster than /proc can be read; only a cgroup would hold it.
//
// Where orphans come to this process (births.h) only its descendants are searched, elsewhere all processes of the
// machine.
//
// Every signal goes through a pidfd that was opened before the membership was checked, so that a reused pid is never
// hit.
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

// "AGENTD_RUN=" and 128 random bits: the mark of a command and all its descendants.
std::string make_mark();

// Gives a child and its descendants a brand and returns it; 0 when the system refuses. The brand is the limit of
// uninterrupted real-time computing: 73,000 years and more, so that it never takes effect. REQUIRES: the child has not
// been reaped.
std::uint64_t brand(pid_t child);

// True if the process carries a brand of this process or of one that it was forked from.
bool carries_own_brand(pid_t pid);

// All processes of the machine, in no order.
std::vector<pid_t> all_processes();

class Family {
 public:
  // `leader` must not have been reaped yet: its zombie keeps the numbers of session and group. `pipes` are the read
  // ends of its outputs; -1 is ignored. `mark` is a variable that was added to its environment, "NAME=value"; empty =
  // none. `brand`: 0 = none.
  Family(pid_t leader, const std::vector<int>& pipes, std::string mark = {}, std::uint64_t brand = 0);

  // Finds live members and remembers them; true when there were new ones.
  bool gather();
  // Signals the group and every remembered member, once each, because some programs take a second SIGTERM as
  // "immediately". SIGCONT follows, so that stopped processes notice.
  void signal(int number) const;
  // True when every remembered member has ended.
  bool gone() const;
  // Sends SIGKILL until no member is left, or for `rounds` rounds; then false.
  bool kill_all(int rounds);

  // Reads the command's pipes for at most that many milliseconds; false when nothing happened.
  using Pump = std::function<bool(Milliseconds)>;
  // Ends all of them: SIGTERM, at most `grace`, SIGKILL. The pipes are read during that time, because a process blocked
  // on a full pipe could not end. `leader` is the command's pidfd.
  void end(const UniqueFd& leader, const Clock& clock, Milliseconds grace, const Pump& pump);
  // After the leader ended: sends SIGKILL to the other members, if any.
  void end_rest();
  // The number of members found so far, without the leader.
  std::uint32_t found() const { return found_; }
  // Sends SIGKILL immediately.
  void end_now(const UniqueFd& leader, const Pump& pump);

 private:
  struct Row {
    pid_t parent = 0, group = 0, session = 0;
    bool zombie = false;
  };
  struct Member {
    UniqueFd pidfd;
    bool in_group = false;  // the leader's group, at the time it was found
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
