// SPDX-License-Identifier: Apache-2.0
#include "core/agent/outcome.h"

#include "core/agent/agent.h"

namespace agentd {

std::string_view name_of(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kStop:
      return "stop";
    case RunOutcome::kCompacted:
      return "compacted";
    case RunOutcome::kMaxTurns:
      return "max_turns";
    case RunOutcome::kRefused:
      return "refused";
    case RunOutcome::kCut:
      return "cut";
    case RunOutcome::kEmpty:
      return "empty";
    case RunOutcome::kBlocked:
      return "blocked";
    case RunOutcome::kStopped:
      return "stopped";
    case RunOutcome::kLimit:
      return "limit";
    case RunOutcome::kCancelled:
      return "cancelled";
    case RunOutcome::kError:
      return "error";
  }
  return "error";
}

RunOutcome outcome_of(const RunError& error) {
  switch (error.kind) {
    case RunError::Kind::kBlocked:
      return RunOutcome::kBlocked;
    case RunError::Kind::kStopped:
      return RunOutcome::kStopped;
    case RunError::Kind::kLimit:
      return RunOutcome::kLimit;
    case RunError::Kind::kCancelled:
      return RunOutcome::kCancelled;
    case RunError::Kind::kFailure:
    case RunError::Kind::kNotFound:
    case RunError::Kind::kProvider:
    case RunError::Kind::kStore:
    case RunError::Kind::kBusy:
      return RunOutcome::kError;
  }
  return RunOutcome::kError;
}

}  // namespace agentd
