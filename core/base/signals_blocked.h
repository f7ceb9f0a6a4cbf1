// SPDX-License-Identifier: Apache-2.0
#pragma once
// signals_blocked.h - a scope in which this thread takes no asynchronous signal; a thread started in it takes none for
// its whole life.
//
// Asynchronous signals belong to the program's threads that handle them: other threads neither run a handler nor have
// their system calls interrupted. Signals of a fault stay as they are.
//
// Threading: applies to the thread that makes it.

#include <pthread.h>
#include <signal.h>

namespace agentd {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF})
      ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace agentd
