// SPDX-License-Identifier: Apache-2.0
#pragma once
// journal_text.h - the states of guarded paths as text. Names and contents are any bytes, so they are in base64.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/cage/watch.h"

namespace agentd::cage {

struct JournalText {
  WatchPlan plan;  // without its paths: they are those of `states`
  Trees states;
  std::vector<Watch::PinnedThen> pinned;
};

// One JSON object.
std::string text_of(const JournalText& journal);
// kInvalid: it is not such a text.
Result<JournalText> parse_journal(std::string_view text);

}  // namespace agentd::cage
