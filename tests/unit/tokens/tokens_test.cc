// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/tokens.h"

#include <gtest/gtest.h>

#include <string>

#include "core/conversation/rows.h"

namespace agentd {
namespace {

std::uint64_t tokens_of(const Message& message) {
  Rows rows;
  rows.append(message, 1, 0);
  return SimpleEstimator().count_row(rows[0]);
}

TEST(SimpleEstimator, FourBytesAreATokenRoundedUp) {
  const SimpleEstimator estimator;
  EXPECT_EQ(estimator.count_text(""), 0u);
  EXPECT_EQ(estimator.count_text("a"), 1u);
  EXPECT_EQ(estimator.count_text("abcd"), 1u);
  EXPECT_EQ(estimator.count_text("abcde"), 2u);
}

TEST(SimpleEstimator, EveryMessageCostsFourMore) {
  EXPECT_EQ(tokens_of(Message{}), 4u);
  EXPECT_EQ(tokens_of(Message::of_text(Role::kUser, "abcdefgh")), 6u);
}

TEST(SimpleEstimator, ArgumentsAndNamesOfToolsCount) {
  Message call;
  call.blocks = {Block::tool_use("c1", "bash", std::string(400, ' '))};
  EXPECT_EQ(tokens_of(call), 105u);
}

TEST(SimpleEstimator, ElidedTextCountsWhole) {
  EXPECT_EQ(tokens_of(Message::of_text(Role::kUser, std::string(400'000, 'x'))), 100'004u);
}

TEST(SimpleEstimator, ThinkingCountsWithItsSignatureAndImagesAtAFixedPrice) {
  Block thinking;
  thinking.kind = BlockKind::kThinking;
  thinking.text = "abcd";
  thinking.opaque = "efgh";
  Block image;
  image.kind = BlockKind::kImage;
  image.opaque = std::string(1'000'000, 'A');
  Block result = Block::tool_result("c", "abcd", false);
  result.parts = {image};
  Message message;
  message.blocks = {thinking, result};
  EXPECT_EQ(tokens_of(message), 4u + 3u + 1'600u);
}

TEST(Gauge, ReserveIsTheSmallestOfPolicyModelAndAQuarter) {
  const BudgetPolicy policy;
  EXPECT_EQ(make_gauge(policy, 200'000, 64'000, 0, 0).limit, 200'000u - 16'384u);
  EXPECT_EQ(make_gauge(policy, 200'000, 4'096, 0, 0).limit, 200'000u - 4'096u);
  EXPECT_EQ(make_gauge(policy, 8'000, 16'384, 0, 0).limit, 6'000u);
}

TEST(Gauge, LadderIsOfTheLimit) {
  const Gauge gauge = make_gauge(BudgetPolicy{}, 10'000, 2'000, 4'000, 100);
  EXPECT_EQ(gauge.checkpoint_at, 5'600u);
  EXPECT_EQ(gauge.compact_at, 6'400u);
  EXPECT_EQ(gauge.force_at, 7'600u);
  EXPECT_EQ(gauge.percent(), 50u);
  EXPECT_EQ(gauge.floor, 100u);
}

TEST(Gauge, ZeroSwitchesARungOff) {
  BudgetPolicy policy;
  policy.compact_at = 0;
  EXPECT_EQ(make_gauge(policy, 10'000, 2'000, 9'000, 0).compact_at, 0u);
}

TEST(Gauge, WindowOfNothingHasNoFraction) {
  const Gauge gauge = make_gauge(BudgetPolicy{}, 0, 0, 10, 0);
  EXPECT_EQ(gauge.limit, 0u);
  EXPECT_EQ(gauge.percent(), 0u);
}

TEST(Gauge, PluginsSeeTheSameNumbers) {
  Gauge gauge = make_gauge(BudgetPolicy{}, 10'000, 2'000, 4'000, 100);
  gauge.reported = true;
  gauge.compactions = 3;
  const agentd_gauge abi = to_abi(gauge);
  EXPECT_EQ(abi.size, sizeof abi);
  EXPECT_EQ(abi.source, AGENTD_GAUGE_PROVIDER);
  EXPECT_EQ(abi.used, 4'000u);
  EXPECT_EQ(abi.limit, 8'000u);
  EXPECT_EQ(abi.compact_at, 6'400u);
  EXPECT_EQ(abi.force_at, 7'600u);
  EXPECT_EQ(abi.floor, 100u);
  EXPECT_EQ(abi.compactions, 3u);
}

TEST(ModelTable, LongestPatternTakesPrecedence) {
  const auto table = ModelTable::parse(
      R"({"models":[{"pattern":"a","window":1},{"pattern":"a-long","window":2},{"pattern":"a-","window":3}]})");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->find("a-long-1").window, 2u);
  EXPECT_EQ(table->find("a-short").window, 3u);
  EXPECT_EQ(table->find("ab").window, 1u);
}

TEST(ModelTable, UnknownModelHasTheStatedDefault) {
  const ModelTable table = ModelTable::embedded();
  EXPECT_FALSE(table.knows("nobody-knows"));
  EXPECT_EQ(table.find("nobody-knows").window, 200'000u);
  EXPECT_EQ(table.find("nobody-knows").summary_model, "");
}

TEST(ModelTable, EmbeddedTableKnowsWhatTheProvidersOffer) {
  const ModelTable table = ModelTable::embedded();
  for (const char* const model : {"claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro", "scripted"}) {
    EXPECT_TRUE(table.knows(model)) << model;
    EXPECT_NE(table.find(model).summary_model, "") << model;
  }
}

TEST(ModelTable, BrokenTablesAreInvalid) {
  for (const char* const json : {"", "{", R"({"models":[{"window":5}]})", R"({"models":[{"pattern":"x","window":0}]})"})
    EXPECT_EQ(ModelTable::parse(json).error().code, Code::kInvalid) << json;
}

}  // namespace
}  // namespace agentd
