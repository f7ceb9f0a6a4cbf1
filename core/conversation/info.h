// SPDX-License-Identifier: Apache-2.0
#pragma once
// info.h - what a list of conversations shows of each: an index that the log can rebuild.
//
// Threading: values.

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/conversation/record.h"

namespace agentd {

struct ConversationInfo {
  std::string id, title, project_id, cwd, provider, model, parent;
  std::string agent_type;        // of a subagent's conversation; empty = the user's own
  std::uint64_t parent_seq = 0;  // where it was forked from its parent
  std::int64_t created_ms = 0, updated_ms = 0;
  std::uint64_t revision = 0;
  std::uint64_t messages = 0;  // records that carry a message, of the whole log
  std::uint64_t compactions = 0;
  Usage usage;                     // its own: what was recorded since it was forked
  Usage inherited{};               // of a fork: its parent's up to that moment, which that one's `usage` counts
  std::uint64_t boundary_seq = 0;  // of the last boundary that counts; 0 = none
  std::uint64_t view_first_seq = 0;
  std::uint32_t runs = 0;
};

// A fork in which nothing was recorded since it was made.
bool is_fresh_fork(const ConversationInfo& info);

// Takes one more record into the index. Titles come from the first user message unless a meta record
// gives one. kCorrupt as ViewState::apply.
Result<void> fold(ConversationInfo& info, const StoredRecord& record);

std::string write_info(const ConversationInfo& info);
Result<ConversationInfo> read_info(std::string_view json);

}  // namespace agentd
