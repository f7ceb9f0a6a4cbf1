// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/run_end.h"

#include "core/base/bytes.h"

namespace agentd {

std::uint32_t abi_outcome_of(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kStop:
    case RunOutcome::kCompacted:
    case RunOutcome::kEmpty:
      return AGENTD_OUTCOME_SUCCESS;
    case RunOutcome::kMaxTurns:
    case RunOutcome::kCut:
    case RunOutcome::kWaiting:
    case RunOutcome::kStopped:
    case RunOutcome::kLimit:
    case RunOutcome::kCancelled:
      return AGENTD_OUTCOME_PARTIAL;
    case RunOutcome::kRefused:
    case RunOutcome::kBlocked:
    case RunOutcome::kError:
      return AGENTD_OUTCOME_FAILURE;
  }
  return AGENTD_OUTCOME_UNKNOWN;
}

RunOutcome outcome_of_answer(const RunState& run) {
  switch (run.stop_reason) {
    case StopReason::kRefusal:
      return RunOutcome::kRefused;
    case StopReason::kMaxTokens:
    case StopReason::kContextLength:
    case StopReason::kPause:
    case StopReason::kInterrupted:
      return RunOutcome::kCut;
    case StopReason::kEndTurn:
    case StopReason::kToolUse:
    case StopReason::kSequence:
      break;
  }
  return is_blank(run.final_text) ? RunOutcome::kEmpty : RunOutcome::kStop;
}

std::string short_stop_text(const RunState& run, RunOutcome outcome, std::uint32_t turns,
                            std::uint64_t max_output_tokens) {
  if (outcome == RunOutcome::kMaxTurns)
    return "the run was stopped after " + counted(turns, "turn") + ": continue with --follow";
  if (outcome == RunOutcome::kRefused) return "the model declined to answer";
  if (outcome == RunOutcome::kEmpty) return "the model ended its turn with an empty answer: try again with --follow";
  if (outcome != RunOutcome::kCut) return {};
  if (run.stop_reason == StopReason::kMaxTokens && run.bounded_to != 0)
    return "the answer was cut after " + with_commas(run.bounded_to) + " tokens, the rest of the budget";
  if (run.stop_reason == StopReason::kMaxTokens)
    return "the answer was cut at the limit of " + with_commas(run.sent_output_max) + " output tokens" +
           (run.sent_output_max != max_output_tokens ? ", including thinking" : "") +
           ": raise max_output_tokens, or ask the model to continue";
  if (run.stop_reason == StopReason::kContextLength)
    return "the answer was cut because the model's window is full: compact the conversation, then ask the model to "
           "continue";
  if (run.stop_reason == StopReason::kPause)
    return "the provider has paused the answer " + std::to_string(run.pauses) +
           " times in a row, and the run stops here: continue with --follow";
  return "the answer was cut: ask the model to continue";
}

}  // namespace agentd
