// SPDX-License-Identifier: Apache-2.0
#include "core/app/transcript.h"

#include <ctime>

#include "core/app/render.h"
#include "core/app/terminal.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/block_markdown.h"
#include "core/conversation/message_json.h"
#include "core/conversation/view.h"

namespace agentd::app {
namespace {

constexpr std::size_t kResultBytes = 2000;

// The headline of a message that people read.
std::string headline(const StoredRecord& record) {
  return speaker(record) + (record.erased_by != 0 ? " (erased)" : "");
}

std::string boundary_text(const BoundaryRecord& boundary) {
  return "compacted (" + boundary.trigger + ", " + boundary.method + "): " + with_commas(boundary.pre_tokens) + " → " +
         with_commas(boundary.post_tokens) + " tokens" + (boundary.id.empty() ? "" : " · " + boundary.id);
}

// The message as it is shown: in a view, shortened where the view shortens it.
Result<MessageRecord> shown_message(const Transcript& transcript, const StoredRecord& record) {
  AGENTD_TRY(MessageRecord out, read_message(record.record));
  shorten(out.message, transcript.prunes, record.seq);
  return out;
}

Result<std::string> revert_text(const StoredRecord& record) {
  AGENTD_TRY(const RevertRecord revert, read_revert(record.record));
  return "the compaction at [" + std::to_string(revert.to_seq) + "] was undone";
}

std::string cut(const std::string& text) {
  const std::string_view shown = utf8_prefix(text, kResultBytes);
  if (shown.size() == text.size()) return text;
  return std::string(shown) + "\n… " + with_commas(text.size()) + " bytes in total";
}

std::string block_text(const Block& block) {
  switch (block.kind) {
    case BlockKind::kText:
      return block.text;
    case BlockKind::kThinking:
      return "(thinking)\n" + block.text;
    case BlockKind::kToolUse:
      return "• " + block.name + " " + call_summary(block.json);
    case BlockKind::kToolResult:
      return cut(block.text);
    case BlockKind::kImage:
      return "(an image, " + block.name + ")";
    case BlockKind::kDocument:
      return "(a document, " + (block.text.empty() ? block.name : block.text) + ")";
  }
  return {};
}

template <typename BlockWriter>
std::string join_blocks(const Message& message, BlockWriter write) {
  std::string out;
  for (const Block& block : message.blocks) {
    const std::string text = write(block);
    if (!text.empty()) out += (out.empty() ? "" : "\n\n") + text;
  }
  return out;
}

Result<std::string> as_json(const Transcript& transcript) {
  JsonWriter out(JsonWriter::Layout::kPretty);
  out.begin_object().key("conversation").raw(write_info(transcript.info)).key("messages").begin_array();
  for (const StoredRecord& record : transcript.records) {
    if (carries_message(record.record.type)) {
      AGENTD_TRY(const MessageRecord message, shown_message(transcript, record));
      write_message_json(out, record, message);
    } else {
      AGENTD_TRY_VOID(write_record_json(out, record));
    }
  }
  out.end_array().end_object();
  return std::string(out.text()) + "\n";
}

std::string head_text(const ConversationInfo& info) {
  std::string out = info.title.empty() ? "(no title)" : info.title;
  out += "\n" + info.id + " · " + time_text(info.created_ms) + " · " + counted(info.messages, "message");
  if (!info.model.empty()) out += " · " + info.model;
  if (info.compactions != 0) out += " · " + counted(info.compactions, "compaction");
  return out + "\n" + info.cwd + "\n";
}

Result<std::string> as_text(const Transcript& transcript) {
  std::string out = head_text(transcript.info);
  for (const StoredRecord& record : transcript.records) {
    if (record.record.type == RecordType::kBoundary) {
      AGENTD_TRY(const BoundaryRecord boundary, read_boundary(record.record));
      out += "\n── " + boundary_text(boundary) + " ──\n";
    } else if (record.record.type == RecordType::kRevert) {
      AGENTD_TRY(const std::string text, revert_text(record));
      out += "\n── " + text + " ──\n";
    } else if (carries_message(record.record.type)) {
      AGENTD_TRY(const MessageRecord message, shown_message(transcript, record));
      out += "\n[" + std::to_string(record.seq) + "] " + headline(record) + "\n" +
             join_blocks(message.message, block_text) + "\n";
    }
  }
  if (!transcript.info.wait.id.empty())
    out += "\n── a tool call waits for an answer: agentd approve " + transcript.info.id + " ──\n";
  return neutral(out);
}

Result<std::string> as_markdown(const Transcript& transcript) {
  const ConversationInfo& info = transcript.info;
  std::string out = "# " + (info.title.empty() ? info.id : info.title) + "\n\nConversation `" + info.id + "`, " +
                    time_text(info.created_ms) + ", model `" + info.model + "`.\n";
  for (const StoredRecord& record : transcript.records) {
    if (record.record.type == RecordType::kBoundary) {
      AGENTD_TRY(const BoundaryRecord boundary, read_boundary(record.record));
      out += "\n---\n\n*" + boundary_text(boundary) + "*\n";
    } else if (record.record.type == RecordType::kRevert) {
      AGENTD_TRY(const std::string text, revert_text(record));
      out += "\n---\n\n*" + text + "*\n";
    } else if (carries_message(record.record.type)) {
      AGENTD_TRY(const MessageRecord message, shown_message(transcript, record));
      out += "\n## " + headline(record) + "\n\n" + join_blocks(message.message, block_markdown) + "\n";
    }
  }
  return out;
}

}  // namespace

Result<std::string> write_transcript(const Transcript& transcript, Format format) {
  switch (format) {
    case Format::kText:
      return as_text(transcript);
    case Format::kMarkdown:
      return as_markdown(transcript);
    case Format::kJson:
      return as_json(transcript);
  }
  return as_text(transcript);
}

std::string record_line(const StoredRecord& record) {
  JsonWriter out;
  out.begin_object().member("seq", record.seq).member("time_ms", record.time_ms);
  const std::string_view name = name_of(record.record.type);
  out.member("type", name.empty() ? std::to_string(static_cast<unsigned>(record.record.type)) : std::string(name));
  if (record.record.run != 0) out.member("run", record.record.run);
  if (record.record.turn != 0) out.member("turn", record.record.turn);
  if (record.erased_by != 0) out.member("erased_by", record.erased_by);
  const auto payload = JsonDocument::parse(record.record.payload);
  if (payload) out.key("payload").value(payload->root());
  out.end_object();
  return std::string(out.text()) + "\n";
}

std::string time_text(std::int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts));
}

}  // namespace agentd::app
