// SPDX-License-Identifier: Apache-2.0
#pragma once
// signals.h - turns SIGINT, SIGTERM and SIGHUP into a CancelToken; a second signal ends the program.
//
// Threading: one SignalScope at a time; it belongs to the main thread.

#include "core/base/clock.h"

namespace agentd::app {

// Ignores SIGPIPE and SIGXFSZ in the whole program: a closed pipe and a file beyond the process limit (ulimit -f)
// are errors of write().
void ignore_write_signals();

// Resets SIGCHLD whatever the parent has set: if it is ignored, the kernel drops the exit status of children.
void notice_children();

// While it lives, SIGINT, SIGTERM and SIGHUP cancel the token of the scope; the next signal after that exits
// immediately with 128 + signal. Signals within 100 ms of the first one belong to it, also after next(). Blocking
// reads return with EINTR.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  // Returns a fresh token for the next piece of work; the old one stays cancelled for its holders.
  CancelToken next();
  // The last signal since next(); 0 = none.
  int caught() const;

 private:
  CancelToken tokens_[2];
  int in_use_ = 0;  // of tokens_
};

inline constexpr char kReaderLeft[] = "the run was ended because the reader of standard output has exited";
// The reader of standard output has exited: acts like a signal of the scope, with SIGPIPE as the caught one.
void end_for_reader();

// Waits until a read of `fd` would not block. False if a signal was caught since next(), even just before the
// call: a plain read would miss it.
bool wait_for_input(int fd);

// Waits until a write of at most PIPE_BUF bytes to `fd` would not block. False if it would, and a signal was
// caught.
bool wait_for_output(int fd);

enum class InputWait { kReady, kTimeout, kSignal };
// The same, for that long.
InputWait wait_for_input(int fd, int timeout_ms);

}  // namespace agentd::app
