// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "core/compaction/compaction.h"

namespace agentd {
namespace {

// One row by its letters: u user, a assistant, cX a call X, rX its result, in one message.
class Script {
 public:
  Script& user(std::string text = "u") { return add(Message::of_text(Role::kUser, std::move(text))); }
  Script& calls(std::initializer_list<const char*> ids) {
    Message message = Message::of_text(Role::kAssistant, "");
    message.blocks.clear();
    for (const char* const id : ids) message.blocks.push_back(Block::tool_use(id, "bash", "{}"));
    return add(message);
  }
  Script& results(std::initializer_list<const char*> ids) {
    Message message;
    for (const char* const id : ids) message.blocks.push_back(Block::tool_result(id, "out", false));
    return add(message);
  }
  Script& add(const Message& message) {
    rows.append(message, rows.size() + 1, 0);
    return *this;
  }
  std::string checked(bool complete = true) const {
    const auto result = check_pairs(rows.list(), complete);
    return result ? "" : result.error().message;
  }
  Rows rows;
};

TEST(CheckPairs, ResultsAfterTheirCallsAreWhole) {
  EXPECT_EQ(Script().user().calls({"a"}).results({"a"}).user().checked(), "");
  EXPECT_EQ(Script().calls({"a", "b", "c"}).results({"b"}).results({"c", "a"}).checked(), "");
  EXPECT_EQ(Script().calls({"a"}).results({"a"}).calls({"a"}).results({"a"}).checked(), "");
  EXPECT_EQ(Script().checked(), "");
}

TEST(CheckPairs, ResultWithoutACallIsNamed) {
  EXPECT_EQ(Script().results({"x"}).checked(), "the tool result x has no tool call");
  EXPECT_EQ(Script().calls({"a"}).results({"a"}).results({"a"}).checked(), "the tool result a has no tool call");
  EXPECT_EQ(Script().results({"a"}).calls({"a"}).checked(), "the tool result a has no tool call");
}

TEST(CheckPairs, CallWithoutAResultIsNamed) {
  EXPECT_EQ(Script().calls({"a"}).user().checked(), "the tool call a has no result");
  EXPECT_EQ(Script().calls({"a", "b"}).results({"a"}).user().checked(), "the tool call b has no result");
  EXPECT_EQ(Script().calls({"a"}).calls({"b"}).results({"a", "b"}).checked(), "the tool call a has no result");
}

TEST(CheckPairs, CallsAtTheEndMayBeOpenOnlyWhenTheListIsNotComplete) {
  EXPECT_EQ(Script().user().calls({"a"}).checked(false), "");
  EXPECT_EQ(Script().user().calls({"a", "b"}).results({"a"}).checked(false), "");
  EXPECT_EQ(Script().user().calls({"a"}).checked(true), "the tool call a has no result");
}

TEST(CheckPairs, TextBetweenACallAndItsResultPartsThem) {
  EXPECT_EQ(Script().calls({"a"}).user("hook says").results({"a"}).checked(), "the tool call a has no result");
}

TEST(CheckPairs, OneIdTwiceInABatchIsNamed) {
  EXPECT_EQ(Script().calls({"a", "a"}).results({"a"}).checked(), "the tool call a is repeated");
}

TEST(CheckPairs, CallAndResultStandInMessagesOfTheirRoles) {
  Message call;
  call.blocks = {Block::tool_use("a", "bash", "{}")};
  EXPECT_NE(Script().add(call).results({"a"}).checked(), "");
  Message result = Message::of_text(Role::kAssistant, "x");
  result.blocks = {Block::tool_result("a", "out", false)};
  EXPECT_NE(Script().calls({"a"}).add(result).checked(), "");
}

TEST(SnapSplit, MovesBackToTheCall) {
  const Script script = Script().user().calls({"a", "b"}).results({"a"}).results({"b"}).user();
  EXPECT_EQ(snap_split(script.rows, 0), 0u);
  EXPECT_EQ(snap_split(script.rows, 1), 1u);
  EXPECT_EQ(snap_split(script.rows, 2), 1u);
  EXPECT_EQ(snap_split(script.rows, 3), 1u);
  EXPECT_EQ(snap_split(script.rows, 4), 4u);
  EXPECT_EQ(snap_split(script.rows, 5), 5u);
  EXPECT_EQ(snap_split(script.rows, 99), 5u);
}

TEST(SnapSplit, ResultAtTheVeryStartKeepsEverything) {
  EXPECT_EQ(snap_split(Script().results({"a"}).results({"b"}).user().rows, 1), 0u);
}

}  // namespace
}  // namespace agentd
