// SPDX-License-Identifier: Apache-2.0
#pragma once
// outcome.h - how a run has ended: the word in the log's run_end and in the event run_ended, and the exit code.
//
// Threading: pure functions.

#include <string_view>

namespace agentd {

enum class RunOutcome {
  kStop,       // the model has answered
  kCompacted,  // and the conversation was replaced by a summary at its end
  kMaxTurns,   // the limit of turns was reached
  kRefused,    // the model declined to answer
  kCut,        // the last answer is not whole: its longest length, a full window, too many pauses
  kEmpty,      // the last answer has no text
  kWaiting,    // a tool call waits for a person's answer; the run goes on once there is one
  // A run with one of these has no report, but a RunError.
  kBlocked,
  kStopped,
  kLimit,
  kCancelled,
  kError,
};

// "stop", "compacted", "max_turns", "refused", ...
std::string_view name_of(RunOutcome outcome);

}  // namespace agentd
