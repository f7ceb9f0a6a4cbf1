// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/bytes.h"
#include "core/compaction/compaction.h"
#include "core/conversation/view.h"

namespace agentd {
namespace {

constexpr std::size_t kLongCharacters = 1'000;  // a tool result over this is shortened
constexpr std::size_t kKeptCharacters = 200;
constexpr std::uint32_t kNewestRows = 10;  // these stay complete
// The sizes in bytes that a squeeze cuts to, the mildest first.
constexpr std::array<std::size_t, 5> kSqueezes{65'536, 16'384, 4'096, 1'024, 256};

// The bytes of the first `count` characters, at most all.
std::size_t bytes_of_characters(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); ++at) {
    const bool starts = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (starts && count-- == 0) return at;
  }
  return at;
}

struct Candidate {
  std::uint64_t seq = 0;
  std::uint32_t block = 0;
  bool tool_result = false;
  std::string_view text;
};

// Keeps the order of sequences; replaces a prune of the same block.
void put(std::vector<Prune>& prunes, const Prune& prune) {
  const auto before = [](const Prune& a, const Prune& b) { return a.seq != b.seq ? a.seq < b.seq : a.block < b.block; };
  const auto at = std::lower_bound(prunes.begin(), prunes.end(), prune, before);
  if (at != prunes.end() && at->seq == prune.seq && at->block == prune.block)
    at->prefix_bytes = std::min(at->prefix_bytes, prune.prefix_bytes);
  else
    prunes.insert(at, prune);
}

std::uint64_t won_by(const Candidate& candidate, std::size_t prefix, const TokenEstimator& estimator) {
  const std::uint64_t whole = estimator.count_text(candidate.text);
  const std::uint64_t left =
      estimator.count_text(utf8_prefix(candidate.text, prefix)) + estimator.count_text(kPrunedMark);
  return whole > left ? whole - left : 0;
}

// Only the user may shorten an unanswered last user message.
bool is_asked(const Rows& rows, const agentd_message& row) {
  const auto of_hook = [](const agentd_message& one) { return (one.flags & AGENTD_MESSAGE_CONTEXT) != 0; };
  if (row.role != AGENTD_ROLE_USER || of_hook(row)) return false;
  return std::all_of(&row + 1, rows.end(), of_hook);
}

std::vector<Candidate> candidates_of(const Rows& rows, std::span<const SeqRange> kept) {
  std::vector<Candidate> out;
  for (const agentd_message& row : rows) {
    const bool stays = std::any_of(kept.begin(), kept.end(), [&](const SeqRange& range) {
      return row.seq >= range.first && row.seq <= range.last;
    });
    for (std::uint32_t i = 0; stays && i < row.blocks.count; ++i) {
      const agentd_block& block = blocks_of(row)[i];
      const bool result = block.kind == AGENTD_BLOCK_TOOL_RESULT;
      if (result || (block.kind == AGENTD_BLOCK_TEXT && !is_asked(rows, row)))
        out.push_back({row.seq, i, result, full_text(block)});
    }
  }
  return out;
}

}  // namespace

PrunePlan plan_prunes(const Rows& rows, std::span<const Prune> before, const TokenEstimator& estimator) {
  PrunePlan plan;
  std::vector<Prune> fresh;
  for (std::uint32_t i = 0; i + kNewestRows < rows.size(); ++i) {
    const agentd_message& row = rows[i];
    for (std::uint32_t b = 0; b < row.blocks.count; ++b) {
      const agentd_block& block = blocks_of(row)[b];
      if (block.kind != AGENTD_BLOCK_TOOL_RESULT || (block.flags & AGENTD_BLOCK_PRUNED) != 0) continue;
      const std::string_view text = full_text(block);
      if (bytes_of_characters(text, kLongCharacters) == text.size()) continue;
      const std::size_t prefix = bytes_of_characters(text, kKeptCharacters);
      fresh.push_back({row.seq, b, prefix});
      plan.freed += won_by({row.seq, b, true, text}, prefix, estimator);
    }
  }
  plan.prunes.assign(before.begin(), before.end());
  plan.prunes.insert(plan.prunes.end(), fresh.begin(), fresh.end());
  std::stable_sort(plan.prunes.begin(), plan.prunes.end(),
                   [](const Prune& a, const Prune& b) { return a.seq != b.seq ? a.seq < b.seq : a.block < b.block; });
  return plan;
}

PrunePlan plan_squeeze(const Rows& rows, std::span<const SeqRange> kept, std::span<const Prune> before,
                       std::uint64_t excess, const TokenEstimator& estimator) {
  std::vector<Candidate> candidates = candidates_of(rows, kept);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.text.size() > b.text.size(); });
  std::vector<std::pair<std::size_t, std::uint64_t>> best(candidates.size());  // prefix, tokens saved
  std::uint64_t freed = 0;
  for (const bool results : {true, false}) {
    for (const std::size_t prefix : kSqueezes) {
      for (std::size_t i = 0; i < candidates.size() && freed < excess; ++i) {
        if (candidates[i].tool_result != results) continue;
        if (candidates[i].text.size() <= prefix + kPrunedMark.size()) break;  // the longest come first
        const std::uint64_t won = won_by(candidates[i], prefix, estimator);
        freed += won - std::min(won, best[i].second);
        best[i] = {prefix, won};
      }
    }
  }
  PrunePlan plan;
  plan.prunes.assign(before.begin(), before.end());
  plan.freed = freed;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (best[i].second != 0) put(plan.prunes, {candidates[i].seq, candidates[i].block, best[i].first});
  return plan;
}

}  // namespace agentd
