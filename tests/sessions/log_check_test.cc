// SPDX-License-Identifier: Apache-2.0
// The checks themselves: each finds what it is for in a log that was doctored.
#include "tests/sessions/log_check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace agentd::sessions {
namespace {

constexpr const char* kId = "01JA0000000000000000000000";

// A run with one call, as the agent records it.
class LogCheck : public ::testing::Test {
 protected:
  LogCheck() {
    add(write_message({Message::of_text(Role::kUser, "question"), StopReason::kEndTurn, "user", {}}));
    Message asks = Message::of_text(Role::kAssistant, "working");
    asks.blocks.push_back(Block::tool_use("c1", "write", "{}"));
    add(write_message({asks, StopReason::kToolUse, {}, {}}));
    add(write_tool_intent({"c1", "write", {}, "effects"}));
    add(result("ok"));
    add(write_message({Message::of_text(Role::kAssistant, "answer"), StopReason::kEndTurn, {}, {}}));
  }
  void add(Record record) {
    StoredRecord stored;
    stored.seq = log().size() + 1;
    stored.record = std::move(record);
    log().push_back(std::move(stored));
  }
  static Record result(const char* status) {
    ToolResultRecord out;
    out.call_id = "c1";
    out.name = "write";
    out.status = status;
    return write_tool_result(out);
  }
  std::vector<StoredRecord>& log() { return logs_.by_id[kId].records; }
  void drop(RecordType type) {
    std::erase_if(log(), [&](const StoredRecord& each) { return each.record.type == type; });
  }

  Logs logs_;
  const std::vector<Fact> facts_{{Fact::Kind::kMessage, kId, 1, "question"},
                                 {Fact::Kind::kTool, kId, 0, "c1"},
                                 {Fact::Kind::kAnswer, kId, 0, "answer"}};
};

TEST_F(LogCheck, AWholeLogHasNoFindings) {
  EXPECT_EQ(check_facts(logs_, facts_), Findings{});
  EXPECT_EQ(check_calls(logs_, false), Findings{});
  EXPECT_TRUE(open_calls(logs_).empty());
}

TEST_F(LogCheck, AnAcknowledgedMessageThatIsGoneIsFound) {
  drop(RecordType::kUserMessage);
  EXPECT_EQ(check_facts(logs_, facts_).size(), 1u);
}

TEST_F(LogCheck, AnAcknowledgedMessageAtAnotherPlaceIsFound) {
  log().front().seq = 9;
  EXPECT_EQ(check_facts(logs_, facts_).size(), 1u);
}

TEST_F(LogCheck, AnAnswerThatIsGoneIsFound) {
  log().pop_back();
  EXPECT_EQ(check_facts(logs_, facts_).size(), 1u);
}

TEST_F(LogCheck, AConversationThatIsGoneIsFound) {
  logs_.by_id.clear();
  EXPECT_EQ(check_facts(logs_, facts_).size(), 3u);
}

TEST_F(LogCheck, AToolWithoutAnIntentIsFound) {
  drop(RecordType::kToolIntent);
  EXPECT_EQ(check_facts(logs_, facts_).size(), 1u);
  EXPECT_EQ(check_calls(logs_, false).size(), 1u);
}

TEST_F(LogCheck, AToolThatRanTwiceIsFound) {
  std::vector<Fact> twice = facts_;
  twice.push_back(facts_[1]);
  EXPECT_EQ(check_facts(logs_, twice).size(), 1u);
}

TEST_F(LogCheck, ACallWithoutAResultIsFoundUnlessItMayBeOpen) {
  drop(RecordType::kToolResult);
  EXPECT_EQ(check_calls(logs_, false).size(), 1u);
  EXPECT_EQ(check_calls(logs_, true), Findings{});
  EXPECT_EQ(open_calls(logs_), std::set<std::string>{std::string(kId) + "/c1"});
  logs_.by_id[kId].of_subagent = true;
  EXPECT_EQ(check_calls(logs_, false), Findings{});
}

TEST_F(LogCheck, ASecondResultOrIntentIsFound) {
  add(result("ok"));
  EXPECT_EQ(check_calls(logs_, true).size(), 1u);
  add(write_tool_intent({"c1", "write", {}, "effects"}));
  EXPECT_EQ(check_calls(logs_, true).size(), 2u);
}

TEST_F(LogCheck, AWaitThatIsGoneOrNotListedIsFound) {
  WaitRecord wait;
  wait.id = "w1";
  wait.conversation_id = kId;
  wait.call_id = "c1";
  wait.input = "{}";
  drop(RecordType::kToolResult);
  drop(RecordType::kToolIntent);
  add(write_wait(wait));
  const std::vector<Fact> facts{{Fact::Kind::kWait, kId, 0, "w1"}};
  EXPECT_EQ(check_facts(logs_, facts), Findings{});
  EXPECT_EQ(check_waits(logs_, facts, {"w1"}), Findings{});
  EXPECT_EQ(check_waits(logs_, facts, {}).size(), 1u);
  EXPECT_TRUE(open_calls(logs_).empty());
  add(write_answer({"w1", "deny", "user", "approve", {}}));
  EXPECT_EQ(check_waits(logs_, facts, {}), Findings{});
  drop(RecordType::kWait);
  EXPECT_EQ(check_facts(logs_, facts).size(), 1u);
}

TEST_F(LogCheck, AnOpenCallHasToBecomeUnknown) {
  const std::set<std::string> open{std::string(kId) + "/c1"};
  EXPECT_EQ(check_unknown(logs_, open).size(), 1u);  // it succeeded after all
  drop(RecordType::kToolResult);
  EXPECT_EQ(check_unknown(logs_, open).size(), 1u);
  add(result("unknown"));
  EXPECT_EQ(check_unknown(logs_, open), Findings{});
}

TEST(Fact, SurvivesItsLine) {
  const Fact fact{Fact::Kind::kMessage, kId, 17, "a question with blanks "};
  const auto read = read_fact(line_of(fact));
  ASSERT_TRUE(read);
  EXPECT_EQ(line_of(*read), line_of(fact));
  for (const char* const wrong : {"", "m", "x id 1 text", "m id", "m id x text", "m id 1", "ready"})
    EXPECT_FALSE(read_fact(wrong)) << wrong;
}

}  // namespace
}  // namespace agentd::sessions
