// SPDX-License-Identifier: Apache-2.0
#pragma once
// transcript.h - the conversation as a file of JSON lines, for hooks of other tools that read one.
//
// One line a message: {"type":"user"|"assistant","sessionId","cwd","timestamp","uuid","message":{"role",
// "content":[blocks]}} with the blocks of the Messages API and Claude Code's names of tools and keys.
// Written anew when an event carries the history.
//
// Threading: pure functions on the file system.

#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/codec/json.h"

namespace agentd {

// "DIRECTORY/CONVERSATION.jsonl"; empty when the payload names no conversation.
std::string transcript_path(const std::string& directory, JsonView payload);
// The payload's `messages`. The file has mode 0600 in a directory of mode 0700, and is replaced as a whole.
Result<void> write_transcript(const std::string& path, JsonView payload, const Clock& clock);
// One line for each message.
std::string transcript_text(JsonView payload, const Clock& clock);

}  // namespace agentd
