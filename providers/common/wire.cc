// SPDX-License-Identifier: Apache-2.0
#include "providers/common/wire.h"

#include "core/base/bytes.h"
#include "core/codec/json.h"

#include <algorithm>

namespace agentd {

bool is_text(const agentd_block& block) {
  return block.kind == AGENTD_BLOCK_TEXT && !is_blank(full_text(block));
}
bool is_media(const agentd_block& block) {
  return (block.kind == AGENTD_BLOCK_IMAGE || block.kind == AGENTD_BLOCK_DOCUMENT) && block.opaque.len != 0;
}
bool is_call(const agentd_block& block) { return block.kind == AGENTD_BLOCK_TOOL_USE; }
bool is_result(const agentd_block& block) { return block.kind == AGENTD_BLOCK_TOOL_RESULT; }

Result<void> check_schema(const ToolSpec& tool) {
  if (tool.input_schema_json.empty()) return {};
  const auto schema = JsonDocument::parse(tool.input_schema_json);
  if (schema && schema->root().is_object()) return {};
  return Error{Code::kInvalid, "the input schema of tool '" + one_line(tool.name, 80) + "' from " +
                                   one_line(tool.origin, 80) + " is not a JSON object"};
}

std::string data_url(const agentd_block& media) {
  return "data:" + std::string(view_of(media.name)) + ";base64," + std::string(view_of(media.opaque));
}

std::string_view title_of(const agentd_block& document) {
  const std::string_view title = full_text(document);
  return title.empty() ? std::string_view("document") : title;
}

std::span<const agentd_block> block_span(const agentd_message& row) {
  return {static_cast<const agentd_block*>(row.blocks.first), row.blocks.count};
}

std::span<const agentd_block> part_span(const agentd_block& block) {
  return {static_cast<const agentd_block*>(block.parts.first), block.parts.count};
}

std::vector<WireGroup> group_rows(std::span<const agentd_message> rows, const WireFilter& sendable) {
  std::vector<WireGroup> groups;
  for (const agentd_message& row : rows) {
    const auto blocks = block_span(row);
    const auto says = [&](const agentd_block& block) { return sendable(row, block); };
    if (std::none_of(blocks.begin(), blocks.end(), says)) continue;
    const bool assistant = row.role == AGENTD_ROLE_ASSISTANT;
    if (groups.empty() || groups.back().assistant != assistant) groups.push_back({assistant, {}});
    groups.back().rows.push_back(&row);
  }
  return groups;
}

}  // namespace agentd
