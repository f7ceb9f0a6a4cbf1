// SPDX-License-Identifier: Apache-2.0
#include "core/acp/replay.h"

#include <optional>

#include "core/conversation/record.h"

namespace agentd::acp {
namespace {

void tell_block(Updates& updates, const Block& block, bool of_user, const std::string& id) {
  switch (block.kind) {
    case BlockKind::kText:
      return of_user ? updates.user_text(block.text, id) : updates.agent_text(block.text, id);
    case BlockKind::kThinking:
      if (!block.text.empty()) updates.thought(block.text, id + "t");
      return;
    case BlockKind::kToolUse:
      return updates.tool_called(block.call_id, block.name, block.json);
    case BlockKind::kToolResult:
      return updates.tool_ended(block.call_id, block.name, block.text, (block.flags & AGENTD_BLOCK_ERROR) == 0);
    case BlockKind::kImage:
      return updates.user_text("(an image, " + block.name + ")", id);
    case BlockKind::kDocument:
      return updates.user_text("(a document, " + (block.text.empty() ? block.name : block.text) + ")", id);
  }
}

// Additions of hooks and instruction files are no part of the talk.
Result<void> tell_message(Updates& updates, const StoredRecord& stored) {
  const RecordType type = stored.record.type;
  if (type == RecordType::kContext || type == RecordType::kSummary) return {};
  AGENTD_TRY(const MessageRecord message, read_message(stored.record));
  const std::string id = "r" + std::to_string(stored.seq);
  for (const Block& block : message.message.blocks) tell_block(updates, block, message.message.role == Role::kUser, id);
  return {};
}

Result<std::string> text_at(const Store& store, const Ulid& conversation, std::uint64_t seq) {
  std::string out;
  Result<void> told;
  const auto read = store.read(conversation, seq, seq, [&](const StoredRecord& stored) {
    auto message = read_message(stored.record);
    if (message)
      out = message->message.text();
    else
      told = message.error();
    return told.has_value();
  });
  if (!read) return read.error();
  if (!told) return told.error();
  return out;
}

}  // namespace

Result<void> replay(const Store& store, const Ulid& conversation, Updates& updates) {
  AGENTD_TRY(const ConversationInfo info, store.info(conversation));
  if (info.revision == 0) return {};
  Result<void> told;
  const auto read = store.read(conversation, 1, info.revision, [&](const StoredRecord& stored) {
    if (carries_message(stored.record.type)) {
      told = tell_message(updates, stored);
    } else if (stored.record.type == RecordType::kBoundary) {
      const auto boundary = read_boundary(stored.record);
      if (!boundary) {
        told = boundary.error();
      } else {
        const std::string id = boundary->id.empty() ? "r" + std::to_string(stored.seq) : boundary->id;
        const auto summary = boundary->summary_seq == 0 ? Result<std::string>(std::string())
                                                        : text_at(store, conversation, boundary->summary_seq);
        updates.compacted(id, summary ? *summary : std::string());
      }
    }
    return told.has_value();
  });
  if (!read) return read.error();
  return told;
}

std::string summary_in(const Store& store, const Ulid& conversation) {
  const auto info = store.info(conversation);
  if (!info || info->boundary_seq == 0) return {};
  std::uint64_t summary = 0;
  const auto read = store.read(conversation, info->boundary_seq, info->boundary_seq, [&](const StoredRecord& stored) {
    if (const auto boundary = read_boundary(stored.record)) summary = boundary->summary_seq;
    return false;
  });
  if (!read || summary == 0) return {};
  return text_at(store, conversation, summary).value_or(std::string());
}

}  // namespace agentd::acp
