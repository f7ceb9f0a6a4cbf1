// SPDX-License-Identifier: Apache-2.0
#pragma once
// info.h - the index of a conversation for lists, which the log can rebuild.
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
  std::uint64_t messages = 0;  // message records of the complete log
  std::uint64_t compactions = 0;
  Usage usage;                     // its own, since it was forked
  Usage inherited{};               // of a fork: its parent's until the fork, which the parent's `usage` counts
  std::uint64_t boundary_seq = 0;  // of the last boundary in effect; 0 = none
  std::uint64_t view_first_seq = 0;
  std::uint32_t runs = 0;
  std::uint64_t brought = 0;  // of a fork: erase records that it brought along, behind its copies
  // The wait whose call has no result yet; no id = none.
  struct Wait {
    std::string id, call_id;
    std::uint64_t seq = 0;
  };
  Wait wait{};
  // The newest checkpoint of its own; no id = none.
  struct Checkpoint {
    std::string id;
    std::uint64_t seq = 0;  // of its record
  };
  Checkpoint checkpoint{};
};

// True for a fork without new records.
bool is_fresh_fork(const ConversationInfo& info);

// Adds one record to the index. The title comes from the first user message unless a meta record sets one. kCorrupt as
// ViewState::apply.
Result<void> fold(ConversationInfo& info, const StoredRecord& record);

std::string write_info(const ConversationInfo& info);
Result<ConversationInfo> read_info(std::string_view json);

}  // namespace agentd
