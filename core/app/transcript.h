// SPDX-License-Identifier: Apache-2.0
#pragma once
// transcript.h - a conversation's log as text, Markdown or JSON for people and scripts.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/conversation/info.h"
#include "core/conversation/record.h"

namespace agentd::app {

enum class Format { kText, kMarkdown, kJson };

struct Transcript {
  ConversationInfo info;
  std::vector<StoredRecord> records;  // of the log, in order; those that are to be shown
  std::vector<Prune> prunes{};        // of the view, when that is shown (ViewState::prunes)
};

// kText is made harmless for a terminal; the others keep every byte. kCorrupt for a record that
// does not read.
Result<std::string> write_transcript(const Transcript& transcript, Format format);

// One record as one line of JSON, newline included.
std::string record_line(const StoredRecord& record);

// "2026-11-21 12:03", local time.
std::string time_text(std::int64_t ms);

}  // namespace agentd::app
