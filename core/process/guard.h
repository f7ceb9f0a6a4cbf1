// SPDX-License-Identifier: Apache-2.0
#pragma once
// guard.h - what this process has started ends with it, also when it is killed.
//
// A process that SIGKILL ends can end nothing any more. A guard is a small process that is forked
// from it before it starts its first process, and waits for its end. Then everything that carries a brand of it
// (births.h), in whatever session and under whatever parent, gets SIGTERM and a second later
// SIGKILL, until nothing is found.
//
// What escapes: what escapes a brand, and everything when the guard was killed first.
//
// Threading: made and ended by the first thread; what it guards may be started by any.

#include <sys/types.h>

namespace agentd {

class Guard {
 public:
  // `argc` and `argv` are main's, and outlive this: the guard's own get another name. Who starts no
  // process has no guard, and neither has who gets none from the system.
  Guard(int argc, char** argv);
  // An end in peace: what a command left running on purpose goes on.
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  pid_t pid() const { return pid_; }  // -1 = there is none yet

 private:
  void start(int argc, char** argv);

  pid_t pid_ = -1;
  const pid_t owner_;
};

}  // namespace agentd
