// SPDX-License-Identifier: Apache-2.0
#pragma once
// run_end.h - how a run has ended, by its last answer, and the sentence about it. Private to this room.
//
// Threading: pure functions.

#include <cstdint>
#include <string>

#include "core/agent/run/run_state.h"

namespace agentd {

// AGENTD_OUTCOME_
std::uint32_t abi_outcome_of(RunOutcome outcome);
// The outcome of a run that its last answer has ended.
RunOutcome outcome_of_answer(const RunState& run);
// The sentence about a run that ended without the answer that was asked for; empty = it has one.
std::string short_stop_text(const RunState& run, RunOutcome outcome, std::uint32_t turns,
                            std::uint64_t max_output_tokens);

}  // namespace agentd
