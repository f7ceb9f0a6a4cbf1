// SPDX-License-Identifier: Apache-2.0
// A request keeps the rules of the API, whatever its history contains.
#include <gtest/gtest.h>

#include "core/base/bytes.h"
#include "providers/anthropic/request.h"
#include "tests/support/anthropic_rules.h"
#include "tests/support/model_fakes.h"
#include "tests/support/request_histories.h"

namespace agentd {
namespace {

using testing::anthropic_refusal;
using testing::TestRequest;

std::string anthropic_body(TestRequest& request) {
  request.value().model = "claude-sonnet-5-5";
  JsonWriter out;
  const auto written = write_anthropic_request(out, request.value(), AnthropicCache::kMinutes);
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
  return std::string(out.text());
}

TEST(AnthropicRules, NoHistoryBreaksThem) {
  for (std::uint32_t seed = 0; seed < 5'000; ++seed) {
    TestRequest request;
    testing::RequestHistory history(seed);  // the request borrows from it
    history.fill(request);
    const std::string body = anthropic_body(request);
    ASSERT_EQ(anthropic_refusal(body), "") << "seed " << seed << "\n" << body;
  }
}

// A control: the rules detect what the property is about.
TEST(AnthropicRules, BlankTextsAndRolesThatDoNotAlternateAreSeen) {
  const std::string head = R"({"model":"claude-sonnet-5-5","max_tokens":9,"messages":[)";
  EXPECT_EQ(anthropic_refusal(head + R"({"role":"user","content":[{"type":"text","text":"\n\n"}]}]})"),
            "messages: text content blocks must contain non-whitespace text");
  const std::string wide = R"({"role":"user","content":[{"type":"text","text":")"
                           "\xC2\xA0"
                           R"("}]}]})";
  EXPECT_EQ(anthropic_refusal(head + wide), "messages: text content blocks must contain non-whitespace text");
  const std::string user = R"({"role":"user","content":[{"type":"text","text":"a"}]})";
  EXPECT_NE(anthropic_refusal(head + user + "," + user + "]}"), "");
  EXPECT_EQ(anthropic_refusal(head + user + "]}"), "");
}

TEST(AnthropicRules, AMessageThatBecomesEmptyIsLeftOutAndItsNeighboursAreJoined) {
  TestRequest request;
  request.user("a").add(Message::of_text(Role::kAssistant, "\n\n")).user("b").user("\xE3\x80\x80");
  EXPECT_NE(anthropic_body(request).find(
                R"("messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b",)"),
            std::string::npos)
      << anthropic_body(request);
}

TEST(AnthropicRules, AWordStandsForAUsersMessageThatIsNeeded) {
  TestRequest request;
  request.user(" ").add(Message::of_text(Role::kAssistant, "yes")).user("\n");
  EXPECT_EQ(anthropic_refusal(anthropic_body(request)), "");
  const std::string word = R"x({"role":"user","content":[{"type":"text","text":"(no text)")x";
  const std::string body = anthropic_body(request);
  EXPECT_NE(body.find(word), body.rfind(word)) << body;
}

// ---- whose thinking is sent

Message thought(const std::string& signature) {
  Message out = Message::of_text(Role::kAssistant, "so");
  Block block;
  block.kind = BlockKind::kThinking;
  block.text = "hm";
  block.opaque = signature;
  out.blocks.insert(out.blocks.begin(), block);
  return out;
}

TEST(AnthropicOrigins, ThinkingOfAnotherModelIsLeftOut) {
  TestRequest request;
  request.user("a").add(thought("claude-opus-5-5/1")).user("b").add(thought("claude-sonnet-5-5/2")).user("c");
  request.add(thought("nobody-knows/3")).user("d");
  Origins origins;
  origins.note(2, {"anthropic", "messages", "claude-opus-5-5"});
  origins.note(4, {"anthropic", "messages", "claude-sonnet-5-5"});
  request.value().origins = &origins;
  const std::string body = anthropic_body(request);
  EXPECT_EQ(body.find("claude-opus-5-5/1"), std::string::npos) << body;
  EXPECT_NE(body.find("claude-sonnet-5-5/2"), std::string::npos) << body;
  EXPECT_NE(body.find("nobody-knows/3"), std::string::npos) << body;
  origins.note(4, {"another", "", "claude-sonnet-5-5"});
  EXPECT_EQ(anthropic_body(request).find("claude-sonnet-5-5/2"), std::string::npos);
}

TEST(AnthropicOrigins, ToolsThatMayNotBeCalledStandThereForTheHistory) {
  TestRequest request;
  request.user("a").tool("bash").value().may_call_tools = false;
  EXPECT_NE(anthropic_body(request).find(R"("tool_choice":{"type":"none"})"), std::string::npos);
  TestRequest without;
  without.user("a").value().may_call_tools = false;
  EXPECT_EQ(anthropic_body(without).find("tool_choice"), std::string::npos);
}

TEST(Blank, WhiteSpaceOfAnyScriptIsBlank) {
  for (const char* const blank : testing::kBlanks) EXPECT_TRUE(is_blank(blank));
  for (const char* const text : {"a", " a", "\xE2\x80\x8B", "\xC2\xA1", "\xE2\x80\x90", "\xC2", "\xE3\x80"})
    EXPECT_FALSE(is_blank(text)) << text;
}

}  // namespace
}  // namespace agentd
