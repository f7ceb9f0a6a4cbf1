// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/compaction/compaction.h"
#include "tests/support/histories.h"

namespace agentd {
namespace {

using testing::fingerprints;
using testing::RandomLog;
using testing::simple_count;

constexpr std::string_view kId = "01J9ZQ2V8M4T0C7X5R3N6K1B2D";
constexpr std::uint32_t kMessages = 500;

using Planner =
    std::function<CompactionPlan(const Rows&, std::span<const SeqRange>, const CompactionRequest&, const Gauge&)>;

CompactionPlan real_plan(const Rows& rows, std::span<const SeqRange> view, const CompactionRequest& request,
                         const Gauge& gauge) {
  return plan_compaction(rows, view, request, gauge, BudgetPolicy{});
}

// Applies a plan as the agent does; returns the mistake in the outcome, or nothing.
std::string compact_once(RandomLog& log, Conversation& conversation, const CompactionPlan& plan) {
  const Rows before = conversation.pin();
  BoundaryRecord boundary;
  boundary.id = "B";
  boundary.base_seq = log.revision();
  boundary.kept = plan.kept;
  const std::uint64_t start = log.revision() + 1;
  boundary.summary_seq =
      log.push(write_message({Message::of_text(Role::kSummary, "summary"), StopReason::kEndTurn, {}, {}}));
  log.push(write_boundary(boundary));
  if (auto applied = conversation.apply(log.from(start)); !applied) return applied.error().message;
  const Rows& after = conversation.rows();
  std::vector<std::string> expected;
  for (std::uint32_t i = 0; i < before.size(); ++i) {
    const agentd_message& row = before[i];
    const bool user_text = row.role == AGENTD_ROLE_USER && row.flags == 0 && row.blocks.count == 1 &&
                           blocks_of(row)[0].kind == AGENTD_BLOCK_TEXT;
    const bool named = std::any_of(plan.kept.begin(), plan.kept.end(), [&](const SeqRange& range) {
      return row.seq >= range.first && row.seq <= range.last;
    });
    if (i < plan.split && named && !user_text) return "what is kept before the tail is no user text";
    if (i >= plan.split || named) expected.push_back(testing::fingerprint(row));
  }
  auto rows = fingerprints(after);
  if (rows.empty() || after[0].role != AGENTD_ROLE_SUMMARY) return "the summary does not come first";
  rows.erase(rows.begin());
  if (rows != expected) return "what is kept is not byte-identical, or not all of it, or too much";
  if (auto pairs = check_pairs(after.list(), true); !pairs) return pairs.error().message;
  if (plan.split < before.size()) {
    const auto head = check_pairs(before.slice(0, plan.split), true);
    if (!head) return "what is summarised: " + head.error().message;
  }
  if (log.below(10) != 0) return {};  // the costly part, often enough
  Conversation loaded(std::string(kId), simple_count());
  if (!loaded.load(log.records())) return "the log does not load";
  if (fingerprints(loaded.rows()) != fingerprints(after)) return "a loaded log shows another view";
  return {};
}

CompactionRequest random_request(RandomLog& log) {
  CompactionRequest request;
  request.phase = AGENTD_PHASE_PRE_REQUEST + log.below(5);
  request.strategy = log.below(4);
  if (log.below(3) == 0) request.keep_tokens = 1 + log.below(10'000);
  return request;
}

// A history of `kMessages` rows, compacted several times on the way. Returns the first mistake, or nothing.
std::string run_history(std::uint32_t seed, const Planner& planner, std::uint32_t& compactions) {
  RandomLog log(seed);
  Conversation conversation(std::string(kId), simple_count());
  std::uint64_t applied = 0;
  std::uint32_t messages = 0;
  std::uint32_t next = log.below(kMessages) + 1;
  while (messages < kMessages) {
    log.step();
    const auto fresh = log.from(applied + 1);
    for (const StoredRecord& record : fresh) messages += carries_message(record.record.type) ? 1u : 0u;
    if (auto done = conversation.apply(fresh); !done) return done.error().message;
    applied = log.revision();
    if (messages < next && messages < kMessages) continue;
    next = messages + 1 + log.below(200);
    const Gauge gauge = make_gauge(BudgetPolicy{}, 1'000 + log.below(70'000), 16'384, 0, 0);
    const CompactionPlan plan = planner(conversation.rows(), conversation.state().ranges(), random_request(log), gauge);
    if (plan.nothing_to_do()) continue;
    ++compactions;
    if (std::string wrong = compact_once(log, conversation, plan); !wrong.empty()) return wrong;
    applied = log.revision();
  }
  return {};
}

TEST(CompactionProperty, NoSplitPartsAPairAndTheTailIsByteIdentical) {
  std::uint32_t compactions = 0;
  for (std::uint32_t seed = 1; seed <= 500; ++seed)
    ASSERT_EQ(run_history(seed, real_plan, compactions), "") << "seed " << seed;
  EXPECT_GT(compactions, 1'000u);
}

// The control: a split by tokens alone separates pairs, and the checker finds it.
TEST(CompactionProperty, NaiveSplitFailsTheSameCheck) {
  const Planner naive = [](const Rows& rows, std::span<const SeqRange> view, const CompactionRequest& request,
                           const Gauge& gauge) {
    CompactionPlan plan = plan_compaction(rows, view, request, gauge, BudgetPolicy{});
    if (plan.split == 0 || plan.split >= rows.size() || plan.strategy == AGENTD_STRATEGY_USERS) return plan;
    ++plan.split;
    plan.kept.clear();
    for (std::uint32_t i = plan.split; i < rows.size(); ++i) plan.kept.push_back({rows[i].seq, rows[i].seq});
    return plan;
  };
  std::uint32_t found = 0, compactions = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) found += run_history(seed, naive, compactions).empty() ? 0u : 1u;
  EXPECT_GT(found, 10u);
}

// The control: ranges that are joined over hidden rows restore them, and the checker finds it.
TEST(CompactionProperty, RangesThatSpanHiddenRowsFailTheSameCheck) {
  const Planner joined = [](const Rows& rows, std::span<const SeqRange> view, const CompactionRequest& request,
                            const Gauge& gauge) {
    CompactionPlan plan = plan_compaction(rows, view, request, gauge, BudgetPolicy{});
    if (plan.kept.size() > 1) {
      SeqRange all = plan.kept[0];
      for (const SeqRange& range : plan.kept) all = {std::min(all.first, range.first), std::max(all.last, range.last)};
      plan.kept = {all};
    }
    return plan;
  };
  std::uint32_t found = 0, compactions = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) found += run_history(seed, joined, compactions).empty() ? 0u : 1u;
  EXPECT_GT(found, 5u);
}

TEST(CompactionProperty, TruncationKeepsPairsTheFirstUserAndTheTail) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLog log(seed);
    for (int i = 0; i < 60; ++i) log.step();
    Conversation conversation(std::string(kId), simple_count());
    ASSERT_TRUE(conversation.apply(log.records()));
    CompactionRequest request;
    request.keep_tokens = 1 + log.below(5'000);
    const CompactionPlan plan = plan_compaction(conversation.rows(), conversation.state().ranges(), request,
                                                make_gauge(BudgetPolicy{}, 10'000, 4'000, 0, 0), {});
    const Truncation cut = plan_truncation(conversation.rows(), conversation.state().ranges(), plan);
    const Rows before = conversation.pin();
    BoundaryRecord boundary;
    boundary.base_seq = log.revision();
    boundary.kept = cut.kept;
    const std::uint64_t start = log.revision() + 1;
    log.push(write_boundary(boundary));
    ASSERT_TRUE(conversation.apply(log.from(start)));
    EXPECT_TRUE(check_pairs(conversation.rows().list(), true));
    const auto rows = fingerprints(conversation.rows());
    const auto whole = fingerprints(before);
    const std::size_t tail = before.size() - plan.split;
    ASSERT_GE(rows.size(), tail);
    EXPECT_TRUE(std::equal(rows.end() - static_cast<std::ptrdiff_t>(tail), rows.end(),
                           whole.end() - static_cast<std::ptrdiff_t>(tail)));
    EXPECT_LE(rows.size(), tail + 1);
  }
}

}  // namespace
}  // namespace agentd
