// SPDX-License-Identifier: Apache-2.0
#pragma once
// codex_rollout.h - reads the rollouts of Codex (~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl).
//
// A line is {timestamp, type, payload}; what the model got and said are the lines of type response_item, in the form of
// OpenAI's Responses. Older rollouts have the items themselves as lines.
//
// Threading: a pure function.

#include <string_view>

#include "core/base/result.h"
#include "core/transfer/transcript.h"

namespace agentd {

// As read_transcript() of transcript_file.h.
Result<ForeignTranscript> read_codex_rollout(std::string_view bytes);

}  // namespace agentd
