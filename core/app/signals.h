// SPDX-License-Identifier: Apache-2.0
#pragma once
// signals.h - Ctrl-C and its kin become a CancelToken; a second one ends the program.
//
// Threading: one SignalScope at a time; it belongs to the main thread.

#include "core/base/clock.h"

namespace agentd::app {

// SIGPIPE and SIGXFSZ off for the whole program: a closed pipe and a file that would pass the limit of the process
// (ulimit -f) are errors of write().
void ignore_write_signals();

// Whatever the parent has set: where SIGCHLD is ignored the kernel forgets how children end.
void notice_children();

// While it lives, SIGINT, SIGTERM and SIGHUP cancel the token of the scope; the next signal after
// that exits at once with 128 + signal. Signals that come within 100 ms of the first one belong to it, also
// after next(). Blocking reads return with EINTR.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  // A fresh token for the next piece of work; what was cancelled stays so for holders of the old
  // one.
  CancelToken next();
  // The last signal since next(); 0 = none.
  int caught() const;

 private:
  CancelToken tokens_[2];
  int in_use_ = 0;  // of tokens_
};

inline constexpr char kReaderLeft[] = "the run was ended because the reader of standard output has exited";
// The reader of standard output has left: what a signal of the scope does, with SIGPIPE as the one that was caught.
void end_for_reader();

// Waits until a read of `fd` would not block. False when a signal was caught since next(), also one that
// came just before the call: a read alone would sleep through it.
bool wait_for_input(int fd);

// Waits until a write of at most PIPE_BUF bytes to `fd` would not block. False when it would, and a signal was caught.
bool wait_for_output(int fd);

enum class InputWait { kReady, kTimeout, kSignal };
// The same, for that long.
InputWait wait_for_input(int fd, int timeout_ms);

}  // namespace agentd::app
