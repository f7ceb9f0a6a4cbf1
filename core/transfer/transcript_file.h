// SPDX-License-Identifier: Apache-2.0
#pragma once
// transcript_file.h - reads the files of other agents: transcripts of Claude Code and rollouts of Codex.
//
// Threading: pure functions.

#include <string_view>

#include "core/base/result.h"
#include "core/transfer/transcript.h"

namespace agentd {

// The form that the first lines of the file have.
FileForm form_of(std::string_view bytes);
// kInvalid: one sentence, with the line's number where a line is wrong. REQUIRES: the form is Claude's or Codex's.
Result<ForeignTranscript> read_transcript(FileForm form, std::string_view bytes);

}  // namespace agentd
