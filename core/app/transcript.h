// SPDX-License-Identifier: Apache-2.0
#pragma once
// transcript.h - a conversation's log as text, Markdown or JSON for people and scripts.
//
// Threading: pure functions.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/conversation/info.h"
#include "core/conversation/record.h"

namespace agentd::app {

enum class Format { kText, kMarkdown, kJson };

struct Transcript {
  ConversationInfo info;
  std::vector<StoredRecord> records;  // the shown records of the log, in order
  std::vector<Prune> prunes{};        // of the view, when that is shown (ViewState::prunes)
};

// kText is sanitized for a terminal; the others keep every byte. kCorrupt for an unreadable record.
Result<std::string> write_transcript(const Transcript& transcript, Format format);

// One record as one line of JSON, newline included.
std::string record_line(const StoredRecord& record);

// "2026-11-21 12:03", local time.
std::string time_text(std::int64_t ms);

}  // namespace agentd::app
