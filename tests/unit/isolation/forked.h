// SPDX-License-Identifier: Apache-2.0
#pragma once
// forked.h - a child process that runs a function of the test.
//
// Threading: thread-compatible; no other thread may run when one is made.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace agentd {

class Forked {
 public:
  // `body` answers the exit status.
  template <typename Body>
  explicit Forked(const Body& body) : pid_(fork()) {
    if (pid_ == 0) _exit(body());
  }
  ~Forked() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    join();
  }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;

  pid_t pid() const { return pid_; }
  // Its exit status; -1 when a signal ended it.
  int join() {
    if (pid_ <= 0) return status_;
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
  int status_ = -1;
};

}  // namespace agentd
