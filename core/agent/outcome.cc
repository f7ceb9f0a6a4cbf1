// SPDX-License-Identifier: Apache-2.0
#include "core/agent/outcome.h"

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
    case RunOutcome::kWaiting:
      return "waiting";
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

}  // namespace agentd
