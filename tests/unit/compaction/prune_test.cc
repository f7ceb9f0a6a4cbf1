// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/compaction/compaction.h"
#include "tests/support/histories.h"

namespace agentd {
namespace {

const SimpleEstimator kPruneEstimator;

Message result(const std::string& call_id, std::string text) {
  Message message;
  message.blocks = {Block::tool_result(call_id, std::move(text), false)};
  return message;
}

// `pairs` calls with a result of `bytes` each, sequences from 1.
Rows results(std::uint32_t pairs, std::size_t bytes) {
  Rows rows(testing::simple_count());
  for (std::uint32_t i = 0; i < pairs; ++i) {
    Message call = Message::of_text(Role::kAssistant, "look");
    call.blocks.push_back(Block::tool_use("c" + std::to_string(i), "bash", "{}"));
    rows.append(call, 2 * i + 1, 0);
    rows.append(result("c" + std::to_string(i), std::string(bytes, 'r')), 2 * i + 2, 0);
  }
  return rows;
}

TEST(Prune, ShortensOldLongToolResultsAndNothingElse) {
  const PrunePlan plan = plan_prunes(results(8, 1'001), {}, kPruneEstimator);
  // 16 rows: the newest ten stay complete.
  EXPECT_EQ(plan.prunes, (std::vector<Prune>{{2, 0, 200}, {4, 0, 200}, {6, 0, 200}}));
  EXPECT_NEAR(static_cast<double>(plan.freed), 3 * (1'001 - 200 - 50) / 4.0, 9);
}

TEST(Prune, AThousandCharactersAreNotTooLong) {
  EXPECT_TRUE(plan_prunes(results(8, 1'000), {}, kPruneEstimator).prunes.empty());
  EXPECT_EQ(plan_prunes(results(8, 1'000), {}, kPruneEstimator).freed, 0u);
}

TEST(Prune, CountsCharactersAndCutsBetweenThem) {
  Rows rows(testing::simple_count());
  std::string thousand, more;
  for (int i = 0; i < 1'000; ++i) thousand += "日";
  rows.append(result("a", thousand), 1, 0);
  rows.append(result("b", thousand + "本"), 2, 0);
  for (std::uint64_t seq = 3; seq < 13; ++seq) rows.append(Message::of_text(Role::kUser, "x"), seq, 0);
  EXPECT_EQ(plan_prunes(rows, {}, kPruneEstimator).prunes, (std::vector<Prune>{{2, 0, 600}}));
}

TEST(Prune, WhatHeldBeforeStillHolds) {
  const std::vector<Prune> before{{3, 1, 50}};
  const PrunePlan plan = plan_prunes(results(6, 2'000), before, kPruneEstimator);
  EXPECT_EQ(plan.prunes, (std::vector<Prune>{{2, 0, 200}, {3, 1, 50}}));
}

TEST(Squeeze, TakesTheLongestToolResultsFirstAndNoMoreThanItMust) {
  Rows rows(testing::simple_count());
  rows.append(Message::of_text(Role::kUser, std::string(90'000, 'u')), 1, 0);
  rows.append(result("a", std::string(80'000, 'a')), 2, 0);
  rows.append(result("b", std::string(400'000, 'b')), 3, 0);
  const std::vector<SeqRange> kept{{1, 3}};
  const PrunePlan plan = plan_squeeze(rows, kept, {}, 50'000, kPruneEstimator);
  EXPECT_EQ(plan.prunes, (std::vector<Prune>{{3, 0, 65'536}}));
  EXPECT_GE(plan.freed, 50'000u);
}

TEST(Squeeze, ContinuesWithOtherTextsAndStopsAtTheEnd) {
  Rows rows(testing::simple_count());
  rows.append(Message::of_text(Role::kUser, std::string(90'000, 'u')), 1, 0);
  rows.append(Message::of_text(Role::kAssistant, "ok"), 3, 0);
  rows.append(result("a", std::string(80'000, 'a')), 2, 0);
  const std::vector<SeqRange> kept{{1, 3}};
  const PrunePlan some = plan_squeeze(rows, kept, {}, 30'000, kPruneEstimator);
  EXPECT_EQ(some.prunes.size(), 2u);
  EXPECT_GE(some.freed, 30'000u);
  const PrunePlan all = plan_squeeze(rows, kept, {}, 1'000'000, kPruneEstimator);
  EXPECT_EQ(all.prunes, (std::vector<Prune>{{1, 0, 256}, {2, 0, 256}}));
  EXPECT_LT(all.freed, 1'000'000u);
}

TEST(Squeeze, AnUnansweredMessageStaysComplete) {
  Rows rows(testing::simple_count());
  rows.append(Message::of_text(Role::kUser, std::string(90'000, 'u')), 1, 0);
  rows.append(Message::of_text(Role::kAssistant, "so?"), 2, 0);
  rows.append(Message::of_text(Role::kUser, std::string(90'000, 'v')), 3, 0);
  const std::vector<SeqRange> kept{{1, 3}};
  EXPECT_EQ(plan_squeeze(rows, kept, {}, 1'000'000, kPruneEstimator).prunes, (std::vector<Prune>{{1, 0, 256}}));
  // An unanswered question is history once there is another.
  rows.append(Message::of_text(Role::kUser, "short"), 4, 0);
  const std::vector<SeqRange> all{{1, 4}};
  EXPECT_EQ(plan_squeeze(rows, all, {}, 1'000'000, kPruneEstimator).prunes,
            (std::vector<Prune>{{1, 0, 256}, {3, 0, 256}}));
}

TEST(Squeeze, LeavesAloneWhatIsNotKept) {
  Rows rows(testing::simple_count());
  rows.append(result("a", std::string(400'000, 'a')), 1, 0);
  rows.append(result("b", std::string(1'000, 'b')), 2, 0);
  const std::vector<SeqRange> kept{{2, 2}};
  for (const Prune& prune : plan_squeeze(rows, kept, {}, 90'000, kPruneEstimator).prunes) EXPECT_EQ(prune.seq, 2u);
}

}  // namespace
}  // namespace agentd
