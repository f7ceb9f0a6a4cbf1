// SPDX-License-Identifier: Apache-2.0
#include "core/search/searchable.h"

#include "core/base/bytes.h"

namespace agentd {
namespace {

std::string cut(const std::string& text, std::size_t bytes_max) { return std::string(utf8_prefix(text, bytes_max)); }

Result<SearchableText> message_text(const Record& record, std::string_view role) {
  AGENTD_TRY(const MessageRecord message, read_message(record));
  return SearchableText{role, cut(message.message.text(), kMessageIndexedMax)};
}

}  // namespace

Result<SearchableText> searchable_text(const Record& record) {
  if (record.type == RecordType::kUserMessage) return message_text(record, "user");
  if (record.type == RecordType::kAssistantMessage) return message_text(record, "assistant");
  if (record.type == RecordType::kSummary) return message_text(record, "summary");
  const bool direct = record.type == RecordType::kDirectResult;
  if (!direct && record.type != RecordType::kToolResult) return SearchableText{};
  AGENTD_TRY(const ToolResultRecord result, direct ? read_direct_result(record) : read_tool_result(record));
  return SearchableText{"tool", cut(result.text, kResultIndexedMax)};
}

}  // namespace agentd
