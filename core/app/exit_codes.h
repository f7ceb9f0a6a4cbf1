// SPDX-License-Identifier: Apache-2.0
#pragma once
// exit_codes.h - what the exit status of `agentd` says; documented in docs/reference/cli.md.
//
// Threading: immutable data and pure functions.

#include "core/base/result.h"

namespace agentd::app {

enum Exit : int {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,    // the command line or a configuration file
  kExitBlocked = 3,  // a hook said no
  kExitNotFound = 4,
  kExitProvider = 5,
  kExitStore = 6,
  kExitStopped = 7,        // a hook ended the run
  kExitBusy = 75,          // another process works on that conversation (EX_TEMPFAIL of sysexits.h)
  kExitInterrupted = 130,  // 128 + SIGINT, what a shell expects
};

// The exit code of an error that the store gave.
inline int store_exit(const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return kExitNotFound;
    case Code::kBusy:
      return kExitBusy;
    case Code::kCancelled:
      return kExitInterrupted;
    case Code::kInvalid:
    case Code::kUnavailable:
    case Code::kConflict:
    case Code::kDenied:
    case Code::kCorrupt:
    case Code::kInternal:
      return kExitStore;
  }
  return kExitStore;
}

}  // namespace agentd::app
