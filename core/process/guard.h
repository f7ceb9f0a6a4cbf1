// SPDX-License-Identifier: Apache-2.0
#pragma once
// guard.h - ends this process's descendants with it, also when it is killed.
//
// A process that SIGKILL ends cannot end anything itself. A guard is a small process that is forked before the first
// other process starts, and waits for this process's end. Then every carrier of a brand of this process (births.h), in
// whatever session and under whatever parent, gets SIGTERM and a second later SIGKILL, until none is found.
//
// A process that escapes its brand escapes the guard, and all do when the guard was killed first.
//
// Threading: made and ended by the first thread; any thread may start the guarded processes.

#include <sys/types.h>

namespace agentd {

class Guard {
 public:
  // `argc` and `argv` are main's and outlive this: the guard changes its copy of them to another name. There is no
  // guard while no process was started, or when the system refuses one.
  Guard(int argc, char** argv);
  // A normal exit: processes that a command left running on purpose keep running.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  pid_t pid() const { return pid_; }  // -1 = not started

 private:
  void start(int argc, char** argv);

  pid_t pid_ = -1;
  const pid_t owner_;
};

}  // namespace agentd
