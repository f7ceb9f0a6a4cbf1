// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/compaction/compaction.h"
#include "tests/support/histories.h"

namespace agentd {
namespace {

// Rows of 100 tokens each, of one range.
Rows hundreds(std::uint32_t count) {
  Rows rows(testing::simple_count());
  for (std::uint32_t i = 1; i <= count; ++i)
    rows.append(Message::of_text(i % 2 == 1 ? Role::kUser : Role::kAssistant, std::string(384, 'x')), i, 0);
  return rows;
}

Gauge window(std::uint64_t tokens) { return make_gauge(BudgetPolicy{}, tokens, 16'384, 0, 0); }

CompactionRequest door(int phase, int strategy = AGENTD_STRATEGY_DEFAULT) {
  CompactionRequest request;
  request.phase = static_cast<std::uint32_t>(phase);
  request.strategy = static_cast<std::uint32_t>(strategy);
  request.max_summary_tokens = 100;
  return request;
}

CompactionPlan planned(const Rows& rows, const CompactionRequest& request, std::uint64_t tokens = 1'000) {
  const std::vector<SeqRange> view{{1, rows.size()}};
  return plan_compaction(rows, view, request, window(tokens), BudgetPolicy{});
}

TEST(Plan, AutomaticCompactionsKeepATailOfFortyPercentOfTheWindow) {
  for (const auto phase : {AGENTD_PHASE_PRE_REQUEST, AGENTD_PHASE_MID_TURN, AGENTD_PHASE_OVERFLOW}) {
    const CompactionPlan plan = planned(hundreds(10), door(phase));
    EXPECT_EQ(plan.strategy, std::uint32_t{AGENTD_STRATEGY_TAIL});
    EXPECT_EQ(plan.split, 6u);
    EXPECT_EQ(plan.kept, (std::vector<SeqRange>{{7, 10}}));
    EXPECT_EQ(plan.kept_tokens, 400u);
    EXPECT_EQ(plan.summarized_tokens, 600u);
    EXPECT_EQ(plan.summarized_first, 1u);
    EXPECT_EQ(plan.summarized_last, 6u);
    EXPECT_EQ(plan.kept_first, 7u);
    EXPECT_EQ(plan.kept_last, 10u);
  }
}

// Otherwise the next turn would compact again.
TEST(Plan, AutomaticCompactionsLeaveRoomForTheSummary) {
  CompactionRequest request = door(AGENTD_PHASE_PRE_REQUEST);
  request.max_summary_tokens = 250;  // of a target of 562
  EXPECT_EQ(planned(hundreds(20), request).kept_tokens, 300u);
}

TEST(Plan, UsersAndHooksCompactEverything) {
  for (const auto phase : {AGENTD_PHASE_POST_TURN, AGENTD_PHASE_STANDALONE}) {
    const CompactionPlan plan = planned(hundreds(10), door(phase));
    EXPECT_EQ(plan.strategy, std::uint32_t{AGENTD_STRATEGY_FULL});
    EXPECT_EQ(plan.split, 10u);
    EXPECT_TRUE(plan.kept.empty());
    EXPECT_EQ(plan.kept_first, 0u);
  }
}

TEST(Plan, AutomaticCompactionsDoNothingWhenEverythingFits) {
  EXPECT_TRUE(planned(hundreds(4), door(AGENTD_PHASE_PRE_REQUEST)).nothing_to_do());
  EXPECT_TRUE(planned(hundreds(4), door(AGENTD_PHASE_OVERFLOW)).nothing_to_do());
}

TEST(Plan, RequestForATailThatHoldsEverythingCompactsEverything) {
  const CompactionPlan plan = planned(hundreds(4), door(AGENTD_PHASE_STANDALONE, AGENTD_STRATEGY_TAIL));
  EXPECT_EQ(plan.split, 4u);
  EXPECT_TRUE(plan.kept.empty());
}

TEST(Plan, ASummaryAloneIsNotSummarisedAgain) {
  Rows rows(testing::simple_count());
  rows.append(Message::of_text(Role::kSummary, std::string(384, 's')), 1, 0);
  EXPECT_TRUE(planned(rows, door(AGENTD_PHASE_STANDALONE)).nothing_to_do());
  rows.append(Message::of_text(Role::kUser, "more"), 2, 0);
  EXPECT_EQ(planned(rows, door(AGENTD_PHASE_STANDALONE)).split, 2u);
}

TEST(Plan, EmptyViewHasNothingToCompact) {
  for (int phase = AGENTD_PHASE_PRE_REQUEST; phase <= AGENTD_PHASE_OVERFLOW; ++phase)
    for (int strategy = 0; strategy <= AGENTD_STRATEGY_USERS; ++strategy)
      EXPECT_TRUE(planned(Rows(), door(phase, strategy)).nothing_to_do());
}

TEST(Plan, KeepTokensOverrideThePercentage) {
  CompactionRequest request = door(AGENTD_PHASE_PRE_REQUEST);
  request.keep_tokens = 250;
  EXPECT_EQ(planned(hundreds(10), request).split, 8u);
}

TEST(Plan, UsersStrategyGivesHalfOfTheBudgetToUserTextsTheFirstAndTheNewest) {
  const CompactionPlan plan = planned(hundreds(10), door(AGENTD_PHASE_STANDALONE, AGENTD_STRATEGY_USERS));
  EXPECT_EQ(plan.split, 8u);
  // Users are the odd ones; 9 and 10 are the tail.
  EXPECT_EQ(plan.kept, (std::vector<SeqRange>{{1, 1}, {7, 7}, {9, 10}}));
  EXPECT_EQ(plan.kept_tokens, 400u);
  EXPECT_EQ(plan.summarized_tokens, 800u);
}

TEST(Plan, UsersStrategyKeepsAllUserTextsThatFit) {
  const CompactionPlan plan = planned(hundreds(10), door(AGENTD_PHASE_STANDALONE, AGENTD_STRATEGY_USERS), 2'000);
  EXPECT_EQ(plan.kept, (std::vector<SeqRange>{{1, 1}, {3, 3}, {5, 5}, {7, 10}}));
}

TEST(Plan, ContextAndToolResultsAreNoUserTexts) {
  Rows rows(testing::simple_count());
  Message context = Message::of_text(Role::kUser, std::string(384, 'x'));
  context.flags = AGENTD_MESSAGE_CONTEXT;
  rows.append(context, 1, 0);
  Message calls = Message::of_text(Role::kAssistant, std::string(400, 'x'));
  calls.blocks.push_back(Block::tool_use("a", "bash", "{}"));
  rows.append(calls, 2, 0);
  Message result;
  result.blocks = {Block::tool_result("a", std::string(400, 'x'), false), Block::of_text("note")};
  rows.append(result, 3, 0);
  for (std::uint64_t seq = 4; seq <= 8; ++seq)
    rows.append(Message::of_text(Role::kAssistant, std::string(384, 'x')), seq, 0);
  const CompactionPlan plan = planned(rows, door(AGENTD_PHASE_STANDALONE, AGENTD_STRATEGY_USERS));
  EXPECT_EQ(plan.kept, (std::vector<SeqRange>{{7, 8}}));
}

TEST(Plan, RunningTurnKeepsItsNewestMessageWhateverItsSize) {
  Rows rows = hundreds(4);
  rows.append(Message::of_text(Role::kUser, std::string(4'000, 'x')), 5, 0);
  const CompactionPlan plan = planned(rows, door(AGENTD_PHASE_MID_TURN));
  EXPECT_EQ(plan.split, 4u);
  EXPECT_EQ(plan.kept, (std::vector<SeqRange>{{5, 5}}));
}

// The user's last question is for the model to answer: never only a part of a summary.
TEST(Plan, NewRunKeepsTheMessageThatItIsToAnswer) {
  Rows rows = hundreds(4);
  rows.append(Message::of_text(Role::kUser, std::string(4'000, 'x')), 5, 0);
  Message context = Message::of_text(Role::kUser, std::string(2'000, 'c'));
  context.flags = AGENTD_MESSAGE_CONTEXT;
  rows.append(context, 6, 0);
  const CompactionPlan plan = planned(rows, door(AGENTD_PHASE_PRE_REQUEST));
  EXPECT_EQ(plan.split, 4u);
  EXPECT_EQ(plan.kept, (std::vector<SeqRange>{{5, 6}}));
}

// The context fits the budget, the question does not: it is kept nevertheless, complete and before the context.
TEST(Plan, ContextThatFitsDoesNotCostTheQuestion) {
  Rows rows = hundreds(4);
  rows.append(Message::of_text(Role::kUser, std::string(4'000, 'x')), 5, 0);
  Message context = Message::of_text(Role::kUser, "short");
  context.flags = AGENTD_MESSAGE_CONTEXT;
  rows.append(context, 6, 0);
  for (const auto phase : {AGENTD_PHASE_PRE_REQUEST, AGENTD_PHASE_MID_TURN, AGENTD_PHASE_OVERFLOW})
    EXPECT_EQ(planned(rows, door(phase)).kept, (std::vector<SeqRange>{{5, 6}}));
}

TEST(Plan, ConfiguredFullStrategyKeepsTheNewestMessageOfARun) {
  const CompactionPlan plan = planned(hundreds(9), door(AGENTD_PHASE_PRE_REQUEST, AGENTD_STRATEGY_FULL));
  EXPECT_EQ(plan.kept, (std::vector<SeqRange>{{9, 9}}));
}

TEST(Plan, TailNeverStartsInTheMiddleOfABatch) {
  Rows rows(testing::simple_count());
  rows.append(Message::of_text(Role::kUser, std::string(384, 'x')), 1, 0);
  Message calls = Message::of_text(Role::kAssistant, std::string(300, 'x'));
  for (const char* const id : {"a", "b", "c", "d"}) calls.blocks.push_back(Block::tool_use(id, "bash", "{}"));
  rows.append(calls, 2, 0);
  std::uint64_t seq = 2;
  for (const char* const id : {"a", "b", "c", "d"}) {
    Message result;
    result.blocks = {Block::tool_result(id, std::string(384, 'x'), false)};
    rows.append(result, ++seq, 0);
  }
  const CompactionPlan plan = planned(rows, door(AGENTD_PHASE_PRE_REQUEST), 600);
  EXPECT_EQ(plan.split, 1u);
  EXPECT_EQ(plan.kept, (std::vector<SeqRange>{{2, 6}}));
}

TEST(Plan, RangesOfTheViewAreNotJoinedOverWhatIsHidden) {
  Rows rows(testing::simple_count());
  for (const std::uint64_t seq : {50u, 40u, 41u, 42u, 53u, 54u})
    rows.append(Message::of_text(Role::kUser, std::string(384, 'x')), seq, 0);
  const std::vector<SeqRange> view{{50, 50}, {40, 42}, {53, 54}};
  CompactionRequest request = door(AGENTD_PHASE_PRE_REQUEST);
  request.keep_tokens = 450;
  const CompactionPlan plan = plan_compaction(rows, view, request, window(1'000), BudgetPolicy{});
  EXPECT_EQ(plan.kept, (std::vector<SeqRange>{{41, 42}, {53, 54}}));
}

TEST(Truncation, KeepsTheFirstUserMessageAndTheTail) {
  const Rows rows = hundreds(10);
  const std::vector<SeqRange> view{{1, 10}};
  const CompactionPlan plan = planned(rows, door(AGENTD_PHASE_PRE_REQUEST));
  const Truncation cut = plan_truncation(rows, view, plan);
  EXPECT_EQ(cut.kept, (std::vector<SeqRange>{{1, 1}, {7, 10}}));
  EXPECT_NE(cut.marker.find("5 earlier messages"), std::string::npos);
}

TEST(Truncation, KeepsTheLastSummary) {
  Rows rows(testing::simple_count());
  rows.append(Message::of_text(Role::kSummary, "what was before"), 9, 0);
  for (std::uint64_t seq = 5; seq <= 8; ++seq)
    rows.append(Message::of_text(seq % 2 == 1 ? Role::kUser : Role::kAssistant, "x"), seq, 0);
  CompactionPlan plan;
  plan.split = 4;
  const std::vector<SeqRange> view{{9, 9}, {5, 8}};
  EXPECT_EQ(plan_truncation(rows, view, plan).kept, (std::vector<SeqRange>{{9, 9}, {5, 5}, {8, 8}}));
}

TEST(Truncation, FirstUserMessageNextToTheTailIsOneRange) {
  const Rows rows = hundreds(5);
  const std::vector<SeqRange> view{{1, 5}};
  const Truncation cut = plan_truncation(rows, view, planned(rows, door(AGENTD_PHASE_PRE_REQUEST)));
  EXPECT_EQ(cut.kept, (std::vector<SeqRange>{{1, 5}}));
}

TEST(Names, StrategiesAreReadByName) {
  EXPECT_EQ(*parse_strategy("tail"), std::uint32_t{AGENTD_STRATEGY_TAIL});
  EXPECT_EQ(*parse_strategy("default"), std::uint32_t{AGENTD_STRATEGY_DEFAULT});
  const auto bad = parse_strategy("tials");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("full, tail or users"), std::string::npos);
}

TEST(Names, NumbersBeyondTheTablesAreQuestionMarks) {
  EXPECT_EQ(trigger_name(99), "?");
  EXPECT_EQ(reason_name(AGENTD_REASON_HOOK), "hook");
  EXPECT_EQ(phase_name(AGENTD_PHASE_OVERFLOW), "overflow");
  EXPECT_EQ(result_name(AGENTD_RESULT_VETOED), "vetoed");
  EXPECT_EQ(method_name(AGENTD_METHOD_TRUNCATE), "truncate");
}

TEST(Summary, IsRenderedUnderAHeadingThatSaysWhatItIs) {
  EXPECT_TRUE(render_summary("body").starts_with("[Summary of the conversation so far"));
  EXPECT_TRUE(render_summary("body").ends_with("\n\nbody"));
}

}  // namespace
}  // namespace agentd
