// SPDX-License-Identifier: Apache-2.0
#pragma once
// searchable.h - the text of a record that a search can find.
//
// Threading: pure functions.

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/conversation/record.h"

namespace agentd {

inline constexpr std::size_t kMessageIndexedMax = 1u << 20;  // bytes of one message
inline constexpr std::size_t kResultIndexedMax = 64u << 10;  // bytes of one tool's result

inline constexpr std::string_view kTitleRole = "title";

struct SearchableText {
  std::string_view role;  // user, assistant, summary or tool; kTitleRole is a conversation's
  std::string text;       // the first bytes, up to the limit; empty = nothing to find
};
// The text blocks of messages that people wrote, models answered and compactions made, and the text of tools' results.
// Thinking, images, documents, calls and added context have none, nor has any other kind of record. kCorrupt: its
// payload cannot be read.
Result<SearchableText> searchable_text(const Record& record);

}  // namespace agentd
