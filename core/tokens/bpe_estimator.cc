// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/rows.h"
#include "core/tokens/bpe.h"

namespace agentd {
namespace {

constexpr std::uint64_t kBpeMessageOverhead = 4;

}  // namespace

std::uint64_t BpeEstimator::count_block(const agentd_block& block) const {
  if (const std::uint64_t tokens = media_tokens(block); tokens != 0) return tokens;
  std::uint64_t tokens =
      bpe_.count(full_text(block)) + bpe_.count(view_of(block.name)) + bpe_.count(view_of(block.json));
  if (block.kind == AGENTD_BLOCK_THINKING) tokens += bpe_.count(view_of(block.opaque));
  const auto* const parts = static_cast<const agentd_block*>(block.parts.first);
  for (std::uint32_t i = 0; i < block.parts.count; ++i) tokens += count_block(parts[i]);
  return tokens;
}

std::uint64_t BpeEstimator::count_row(const agentd_message& row) const {
  std::uint64_t tokens = kBpeMessageOverhead;
  for (std::uint32_t i = 0; i < row.blocks.count; ++i) tokens += count_block(blocks_of(row)[i]);
  return tokens;
}

}  // namespace agentd
