// SPDX-License-Identifier: Apache-2.0
#include "providers/common/wire.h"

#include "core/base/bytes.h"

#include <algorithm>

namespace agentd {

bool is_text(const agentd_block& block) {
  return block.kind == AGENTD_BLOCK_TEXT && !is_blank(full_text(block));
}
bool is_image(const agentd_block& block) {
  return block.kind == AGENTD_BLOCK_IMAGE && block.opaque.len != 0;
}
bool is_call(const agentd_block& block) { return block.kind == AGENTD_BLOCK_TOOL_USE; }
bool is_result(const agentd_block& block) { return block.kind == AGENTD_BLOCK_TOOL_RESULT; }

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
