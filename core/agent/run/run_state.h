// SPDX-License-Identifier: Apache-2.0
#pragma once
// run_state.h - what a run knows of itself, from its beginning to its end; nothing of it outlives the run.
// Private to this room.
//
// Threading: the session's thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/agent/answer_schema.h"
#include "core/agent/compaction/compact.h"

namespace agentd {

// How often a run requests an answer that fits its schema, after the first one that does not.
inline constexpr std::uint32_t kCorrectionsMax = 2;
// The number of consecutive pauses of a provider that ends the run.
inline constexpr std::uint32_t kPausesMax = 8;

struct RunState {
  std::uint64_t began_ns = 0;
  std::optional<AnswerSchema> schema{};  // that the last answer is held to
  bool schema_in_words = false;          // the provider does not hold to it
  std::uint32_t corrections = 0;         // of answers that do not fit

  std::unique_ptr<Compaction> compaction{};             // the one whose summary this run writes; null in any other run
  std::optional<CompactionReport> compaction_report{};  // of the compaction at agent_stop

  std::uint32_t max_turns = 0;     // 0 = no limit
  bool can_wait = true;            // for a person's answer
  std::string recipe_state{};      // WaitRecord::recipe_state
  std::string waits_for{};         // the id of the wait that has ended it; empty = none has
  std::uint32_t continuation = 0;  // by hooks, in a row
  bool stop_hook_active = false;
  std::size_t fallback = 0;  // 0 = the model itself, else the nth of the fallbacks
  bool told_full = false;    // that the next request does not fit

  // A message of the user follows: what counts hooks' and the provider's own continuations begins again.
  void begin_again() {
    continuation = 0;
    stop_hook_active = false;
    pauses = 0;
  }

  // ---- the last answer
  std::string final_text{};
  StopReason stop_reason = StopReason::kEndTurn;
  std::uint32_t pauses = 0;           // of the provider, in a row
  std::uint64_t sent_output_max = 0;  // tokens that it could have, including thinking
  std::uint64_t bounded_to = 0;       // tokens that a budget left of that; 0 = it left all
};

}  // namespace agentd
