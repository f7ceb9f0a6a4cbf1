// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/compaction/compaction.h"
#include "tests/support/histories.h"

namespace agentd {
namespace {

ReplacePart keep(std::uint64_t first, std::uint64_t last) {
  ReplacePart part;
  part.first = first;
  part.last = last;
  return part;
}

ReplacePart literal(Role role, std::string text) {
  ReplacePart part;
  part.literal = Message::of_text(role, std::move(text));
  return part;
}

// user 1, call 2, result 3, assistant 4, user 5.
Rows plain_rows() {
  Rows rows(testing::simple_count());
  rows.append(Message::of_text(Role::kUser, "one"), 1, 0);
  Message call = Message::of_text(Role::kAssistant, "");
  call.blocks = {Block::tool_use("a", "bash", "{}")};
  rows.append(call, 2, 0);
  Message result;
  result.blocks = {Block::tool_result("a", "out", false)};
  rows.append(result, 3, 0);
  rows.append(Message::of_text(Role::kAssistant, "four"), 4, 0);
  rows.append(Message::of_text(Role::kUser, "five"), 5, 0);
  return rows;
}

Result<Replacement> planned(std::vector<ReplacePart> parts) {
  Action action;
  action.parts = std::move(parts);
  const std::vector<SeqRange> view{{1, 5}};
  return plan_replacement(plain_rows(), view, action, "some_hook");
}

std::string refused(std::vector<ReplacePart> parts) {
  const auto result = planned(std::move(parts));
  EXPECT_FALSE(result);
  if (result) return {};
  EXPECT_EQ(result.error().code, Code::kInvalid);
  return result.error().message;
}

TEST(Replacement, KeepsRangesAndPutsLiteralsBetween) {
  const auto result = planned({literal(Role::kUser, "first"), keep(2, 3), literal(Role::kUser, "last")});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->pieces.size(), 3u);
  EXPECT_TRUE(result->pieces[0].literal);
  EXPECT_EQ(result->pieces[1].range, (SeqRange{2, 3}));
  EXPECT_EQ(result->pieces[2].index, 1u);
  EXPECT_EQ(result->literals.size(), 2u);
  EXPECT_EQ(result->rows.size(), 4u);
  EXPECT_EQ(result->rows[1].seq, 2u);
}

TEST(Replacement, LiteralOfAUserIsRecordedAsContextOfTheHook) {
  const auto result = planned({literal(Role::kUser, "text")});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->literals[0].type, RecordType::kContext);
  const auto back = read_message(result->literals[0]);
  EXPECT_EQ(back->author, "some_hook");
  EXPECT_EQ(back->source, "hook");
}

TEST(Replacement, LiteralSummaryBecomesAUsersMessage) {
  const auto result = planned({literal(Role::kSummary, "text")});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->rows[0].role, AGENTD_ROLE_USER);
}

TEST(Replacement, NothingIsRefused) { EXPECT_EQ(refused({}), "the replacement has no parts"); }

TEST(Replacement, RangeThatIsNotInTheViewIsRefused) {
  EXPECT_EQ(refused({keep(1, 9)}), "the range 1..9 is not in the view");
  EXPECT_EQ(refused({keep(7, 8)}), "the range 7..8 is not in the view");
}

TEST(Replacement, RangesOutOfOrderOrTwiceAreRefused) {
  EXPECT_NE(refused({keep(4, 5), keep(1, 1)}).find("order"), std::string::npos);
  EXPECT_NE(refused({keep(1, 3), keep(3, 4)}).find("order"), std::string::npos);
}

TEST(Replacement, PartedPairIsRefused) {
  EXPECT_NE(refused({keep(1, 2), keep(4, 5)}).find("has no result"), std::string::npos);
  EXPECT_NE(refused({literal(Role::kUser, "x"), keep(3, 5)}).find("has no tool call"), std::string::npos);
  EXPECT_NE(refused({keep(1, 2), literal(Role::kUser, "x"), keep(3, 5)}).find("has no result"), std::string::npos);
}

TEST(Replacement, AssistantFirstIsRefused) {
  EXPECT_EQ(refused({keep(4, 5)}), "the replacement begins with an assistant message");
  EXPECT_NE(refused({literal(Role::kAssistant, "x")}), "");
}

TEST(Replacement, EmptyLiteralIsRefused) {
  EXPECT_EQ(refused({literal(Role::kUser, "")}), "a literal message is empty");
  ReplacePart part;
  EXPECT_EQ(refused({part}), "a literal message is empty");
}

TEST(Replacement, LiteralCallsAndResultsMustPairToo) {
  ReplacePart call;
  call.literal = Message::of_text(Role::kAssistant, "x");
  call.literal.blocks.push_back(Block::tool_use("z", "bash", "{}"));
  EXPECT_NE(refused({keep(1, 1), call}).find("z has no result"), std::string::npos);
  ReplacePart result;
  result.literal.blocks = {Block::tool_result("z", "out", false)};
  EXPECT_TRUE(planned({keep(1, 1), call, result}));
}

// After a compaction the rows are not in the order of their sequences: the summary is younger than the kept rows after
// it.
class AfterCompaction : public ::testing::Test {
 protected:
  AfterCompaction() {
    for (int i = 0; i < 12; ++i)
      log_.push(write_message(
          {Message::of_text(i % 2 == 0 ? Role::kUser : Role::kAssistant, "m"), StopReason::kEndTurn, {}, {}}));
    BoundaryRecord boundary;
    boundary.base_seq = 13;
    boundary.summary_seq =
        log_.push(write_message({Message::of_text(Role::kSummary, "s"), StopReason::kEndTurn, {}, {}}));
    boundary.kept = {{4, 5}, {10, 13}};
    log_.push(write_boundary(boundary));
    log_.push(write_message({Message::of_text(Role::kUser, "since"), StopReason::kEndTurn, {}, {}}));
    EXPECT_TRUE(conversation_.load(log_.records()));
  }
  Result<Replacement> planned(std::vector<ReplacePart> parts) {
    Action action;
    action.parts = std::move(parts);
    return plan_replacement(conversation_.rows(), conversation_.state().ranges(), action, "h");
  }

  testing::RandomLog log_{1};
  Conversation conversation_{"01J9ZQ2V8M4T0C7X5R3N6K1B2D", testing::simple_count()};
};

TEST_F(AfterCompaction, TheFixtureIsWhatItSays) {
  EXPECT_EQ(testing::sequences(conversation_.rows()), (std::vector<std::uint64_t>{14, 4, 5, 10, 11, 12, 13, 16}));
}

TEST_F(AfterCompaction, SummaryAndTailCanBeKept) {
  const auto result = planned({keep(14, 14), keep(12, 13), keep(16, 16)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(testing::sequences(result->rows), (std::vector<std::uint64_t>{14, 12, 13, 16}));
}

TEST_F(AfterCompaction, KeptRangeOverAGapDoesNotBringBackWhatWasHidden) {
  const auto result = planned({keep(5, 16)});
  ASSERT_FALSE(result);  // 5 is the assistant's
  const auto longer = planned({literal(Role::kUser, "x"), keep(5, 16)});
  ASSERT_TRUE(longer) << longer.error().message;
  std::vector<SeqRange> ranges;
  for (const Replacement::Piece& piece : longer->pieces)
    if (!piece.literal) ranges.push_back(piece.range);
  EXPECT_EQ(ranges, (std::vector<SeqRange>{{5, 5}, {10, 13}, {16, 16}}));
}

}  // namespace
}  // namespace agentd
