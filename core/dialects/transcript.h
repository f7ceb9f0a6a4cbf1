// SPDX-License-Identifier: Apache-2.0
#pragma once
// transcript.h - writes the conversation as JSON lines, for other tools' hooks that read a transcript.
//
// One line per message: {"type":"user"|"assistant","sessionId","cwd","timestamp","uuid","message":{"role",
// "content":[blocks]}} with the blocks of the Messages API and Claude Code's tool names and keys. Rewritten at each
// event that carries the history.
//
// Threading: pure functions on the file system.

#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/codec/json.h"

namespace agentd {

// "DIRECTORY/CONVERSATION.jsonl"; empty if the payload names no conversation.
std::string transcript_path(const std::string& directory, JsonView payload);
// Writes the payload's `messages`. The file has mode 0600 in a directory of mode 0700, and is replaced as a whole.
Result<void> write_transcript(const std::string& path, JsonView payload, const Clock& clock);
// The text of the file.
std::string transcript_text(JsonView payload, const Clock& clock);

}  // namespace agentd
