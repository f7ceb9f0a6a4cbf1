// SPDX-License-Identifier: Apache-2.0
#pragma once
// claude_transcript.h - reads the transcripts of Claude Code (~/.claude/projects/DIRECTORY/SESSION.jsonl).
//
// Lines form a tree by uuid and parentUuid; the conversation is the branch of the newest line. An answer is several
// lines with the id of one message. What Claude Code writes is not documented: this follows its files of versions 1
// and 2.
//
// Threading: a pure function.

#include <string_view>

#include "core/base/result.h"
#include "core/transfer/transcript.h"

namespace agentd {

// As read_transcript() of transcript_file.h.
Result<ForeignTranscript> read_claude_transcript(std::string_view bytes);

}  // namespace agentd
