// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/conversation/rows.h"
#include "core/tokens/tokens.h"

namespace agentd {
namespace {

constexpr std::uint64_t kBytesPerToken = 4;
constexpr std::uint64_t kMessageOverhead = 4;
constexpr std::uint64_t kImageTokens = 1'600;
constexpr std::uint64_t kDocumentBytesPerToken = 10;

std::uint64_t block_bytes(const agentd_block& block, std::uint64_t& media) {
  if (const std::uint64_t tokens = media_tokens(block); tokens != 0) {
    media += tokens;
    return 0;
  }
  std::uint64_t bytes = full_text(block).size() + block.name.len + block.json.len;
  if (block.kind == AGENTD_BLOCK_THINKING) bytes += block.opaque.len;
  const auto* const parts = static_cast<const agentd_block*>(block.parts.first);
  for (std::uint32_t i = 0; i < block.parts.count; ++i) bytes += block_bytes(parts[i], media);
  return bytes;
}

}  // namespace

std::uint64_t media_tokens(const agentd_block& block) {
  if (block.kind == AGENTD_BLOCK_IMAGE) return kImageTokens;
  if (block.kind != AGENTD_BLOCK_DOCUMENT) return 0;
  // Base64 has four letters per three bytes.
  return std::max(kImageTokens, std::uint64_t{block.opaque.len} / 4 * 3 / kDocumentBytesPerToken);
}

std::uint64_t SimpleEstimator::count_text(std::string_view text) const {
  return (text.size() + kBytesPerToken - 1) / kBytesPerToken;
}

std::uint64_t SimpleEstimator::count_row(const agentd_message& row) const {
  std::uint64_t bytes = 0;
  std::uint64_t media = 0;
  for (std::uint32_t i = 0; i < row.blocks.count; ++i) bytes += block_bytes(blocks_of(row)[i], media);
  return (bytes + kBytesPerToken - 1) / kBytesPerToken + kMessageOverhead + media;
}

Gauge make_gauge(const BudgetPolicy& policy, std::uint64_t window, std::uint64_t max_output, std::uint64_t used,
                 std::uint64_t floor) {
  Gauge gauge;
  gauge.window = window;
  const std::uint64_t reserve = std::min({policy.output_reserve, max_output, window / 4});
  gauge.limit = window - reserve;
  gauge.used = used;
  gauge.floor = floor;
  const auto part = [&](double fraction) {
    return static_cast<std::uint64_t>(fraction * static_cast<double>(gauge.limit));
  };
  gauge.checkpoint_at = part(policy.checkpoint_at);
  gauge.compact_at = part(policy.compact_at);
  gauge.force_at = part(policy.force_at);
  return gauge;
}

BudgetPolicy BudgetPolicy::of(const ModelInfo& model) const {
  BudgetPolicy out = *this;
  out.checkpoint_at = model.checkpoint_at.value_or(checkpoint_at);
  out.compact_at = model.compact_at.value_or(compact_at);
  out.force_at = model.force_at.value_or(force_at);
  out.output_reserve = model.output_reserve.value_or(output_reserve);
  return out;
}

agentd_gauge to_abi(const Gauge& gauge) {
  return {sizeof(agentd_gauge),
          gauge.reported ? AGENTD_GAUGE_PROVIDER : AGENTD_GAUGE_ESTIMATE,
          gauge.used,
          gauge.limit,
          gauge.compact_at,
          gauge.force_at,
          gauge.floor,
          gauge.compactions,
          0};
}

}  // namespace agentd
