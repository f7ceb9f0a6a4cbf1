// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/message_json.h"

#include <agentd/hook_events.h>

namespace agentd {

std::string speaker(const StoredRecord& record) {
  switch (record.record.type) {
    case RecordType::kUserMessage:
      return "user";
    case RecordType::kContext:
      return "context";
    case RecordType::kAssistantMessage:
      return "assistant";
    case RecordType::kSummary:
      return "summary";
    case RecordType::kToolResult:
      return "tool";
    default:
      return std::string(name_of(record.record.type));
  }
}

void write_message_json(JsonWriter& out, const StoredRecord& record, const MessageRecord& message) {
  out.begin_object().member("seq", record.seq).member("role", speaker(record));
  if (record.erased_by != 0) out.member("erased", true);
  out.member("time_ms", record.time_ms).key("blocks").begin_array();
  for (const Block& block : message.message.blocks) {
    out.begin_object();
    switch (block.kind) {
      case BlockKind::kText:
        out.member("type", "text").member("text", block.text);
        break;
      case BlockKind::kThinking:
        out.member("type", "thinking").member("text", block.text);
        break;
      case BlockKind::kToolUse: {
        out.member("type", "tool_use").member("call_id", block.call_id).member("name", block.name);
        const auto input = JsonDocument::parse(block.json);
        if (input) out.key("input").value(input->root());
        if (!input) out.member("input", block.json);
        break;
      }
      case BlockKind::kToolResult:
        out.member("type", "tool_result").member("call_id", block.call_id).member("text", block.text);
        out.member("error", (block.flags & AGENTD_BLOCK_ERROR) != 0);
        break;
      case BlockKind::kImage:
        out.member("type", "image").member("media_type", block.name);
        break;
      case BlockKind::kDocument:
        out.member("type", "document").member("media_type", block.name).optional("title", block.text);
        break;
    }
    out.end_object();
  }
  out.end_array().end_object();
}

void write_boundary_json(JsonWriter& out, const StoredRecord& record, const BoundaryRecord& boundary) {
  out.begin_object().member("seq", record.seq).member("role", "boundary").member("time_ms", record.time_ms);
  out.member("id", boundary.id).member("trigger", boundary.trigger).member("method", boundary.method);
  out.member("pre_tokens", boundary.pre_tokens).member("post_tokens", boundary.post_tokens).end_object();
}

Result<void> write_record_json(JsonWriter& out, const StoredRecord& record) {
  if (record.record.type == RecordType::kBoundary) {
    AGENTD_TRY(const BoundaryRecord boundary, read_boundary(record.record));
    write_boundary_json(out, record, boundary);
  } else if (record.record.type == RecordType::kRevert) {
    AGENTD_TRY(const RevertRecord revert, read_revert(record.record));
    out.begin_object().member("seq", record.seq).member("role", "revert");
    out.member("time_ms", record.time_ms).member("boundary_seq", revert.to_seq).end_object();
  } else if (carries_message(record.record.type)) {
    AGENTD_TRY(const MessageRecord message, read_message(record.record));
    write_message_json(out, record, message);
  }
  return {};
}

}  // namespace agentd
