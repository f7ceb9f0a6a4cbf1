// SPDX-License-Identifier: Apache-2.0
#pragma once
// exit_codes.h - the exit codes of `agentd`; the help and docs/reference/cli.md are generated from them.
//
// Threading: immutable data and pure functions.

#include <span>
#include <string_view>

#include "core/agent/outcome.h"
#include "core/base/result.h"

namespace agentd::app {

enum Exit : int {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,    // the command line or a configuration file
  kExitBlocked = 3,  // a hook blocked
  kExitNotFound = 4,
  kExitProvider = 5,
  kExitStore = 6,
  kExitStopped = 7,        // a hook ended the run
  kExitLimit = 8,          // a limit on turns, tokens or money
  kExitRefused = 9,        // the model declined to answer
  kExitCut = 10,           // the answer is incomplete
  kExitEmpty = 11,         // the answer has no text
  kExitWaiting = 12,       // a tool call waits for a person's answer
  kExitBusy = 75,          // another process is using the conversation (EX_TEMPFAIL of sysexits.h)
  kExitInterrupted = 130,  // 128 + SIGINT, what a shell expects
};

// An exit code: its name, and its cases in sentences (Markdown).
struct ExitCode {
  int code;
  std::string_view word, when;
};
// All exit codes, ascending.
std::span<const ExitCode> exit_codes();

// The exit code after a signal; 0 = cancelled without a signal.
constexpr int signal_exit(int signal) { return signal == 0 ? static_cast<int>(kExitInterrupted) : 128 + signal; }

// Why a session ends, for session_end: `signal` as above, and the exit code.
constexpr std::string_view end_reason(int code, int signal) {
  if (signal != 0) return "interrupted";
  return code == kExitOk ? "exit" : "error";
}

// The exit code of a run with that outcome.
int run_exit(RunOutcome outcome);

// The exit code of an error: `wrong` for what the caller asked for, `otherwise` where no other code says more.
inline int error_exit(const Error& error, int wrong, int otherwise) {
  switch (error.code) {
    case Code::kNotFound:
      return kExitNotFound;
    case Code::kBusy:
      return kExitBusy;
    case Code::kCancelled:
      return kExitInterrupted;
    case Code::kInvalid:
    case Code::kConflict:
      return wrong;
    case Code::kUnavailable:
    case Code::kDenied:
    case Code::kCorrupt:
    case Code::kInternal:
      return otherwise;
  }
  return otherwise;
}
// The exit code of a store error.
inline int store_exit(const Error& error) { return error_exit(error, kExitStore, kExitStore); }

}  // namespace agentd::app
