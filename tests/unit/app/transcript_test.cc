// SPDX-License-Identifier: Apache-2.0
#include "core/app/transcript.h"

#include <gtest/gtest.h>

#include "core/codec/json.h"

namespace agentd::app {
namespace {

Transcript sample() {
  Transcript out;
  out.info.id = "01JZ";
  out.info.title = "a talk";
  out.records.push_back({2, 0, {}, write_message({Message::of_text(Role::kUser, "hi \x1b[2J"), {}, "user", {}})});
  Message answer;
  answer.role = Role::kAssistant;
  answer.blocks = {Block::of_text("Look:\n```\ncode\n```"), Block::tool_use("c1", "bash", R"({"command":"ls"})")};
  out.records.push_back({3, 0, {}, write_message({answer, StopReason::kToolUse, {}, {}})});
  out.records.push_back({4, 0, {}, write_tool_result({"c1", "bash", "a ``` b", "ok", {}, 7, 1})});
  BoundaryRecord boundary;
  boundary.id = "01B";
  boundary.trigger = "manual";
  boundary.method = "summary";
  boundary.pre_tokens = 1000;
  boundary.post_tokens = 10;
  out.records.push_back({5, 0, {}, write_boundary(boundary)});
  return out;
}

TEST(Transcript, TextIsHarmlessForATerminal) {
  const auto text = write_transcript(sample(), Format::kText);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_NE(text->find("[2] user\nhi \\x1b[2J\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("• bash ls"), std::string::npos);
  EXPECT_NE(text->find("── compacted (manual, summary"), std::string::npos);
}

TEST(Transcript, MarkdownFencesAreLongerThanWhatTheyHold) {
  const auto text = write_transcript(sample(), Format::kMarkdown);
  ASSERT_TRUE(text);
  EXPECT_NE(text->find("````\na ``` b\n````"), std::string::npos) << *text;
}

TEST(Transcript, JsonHoldsEveryMessage) {
  const auto text = write_transcript(sample(), Format::kJson);
  ASSERT_TRUE(text);
  const auto document = JsonDocument::parse(*text);
  ASSERT_TRUE(document) << document.error().message;
  const JsonView messages = document->root()["messages"];
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages.at(0)["blocks"].at(0)["text"].string_or(""), "hi \x1b[2J");
  EXPECT_EQ(messages.at(1)["blocks"].at(1)["input"]["command"].string_or(""), "ls");
  EXPECT_EQ(messages.at(3)["role"].string_or(""), "boundary");
}

TEST(Transcript, ABrokenRecordIsAnError) {
  Transcript broken = sample();
  broken.records[0].record.payload = "{";
  EXPECT_FALSE(write_transcript(broken, Format::kText));
}

}  // namespace
}  // namespace agentd::app
