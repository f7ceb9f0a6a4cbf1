// SPDX-License-Identifier: Apache-2.0
#include "providers/anthropic/request.h"

#include <gtest/gtest.h>

#include "tests/support/model_fakes.h"

namespace agentd {
namespace {

using testing::TestRequest;

std::string body_of(TestRequest& request, bool cache = false) {
  JsonWriter out;
  const auto written =
      write_anthropic_request(out, request.value(), cache ? AnthropicCache::kMinutes : AnthropicCache::kOff);
  EXPECT_TRUE(written) << written.error().message;
  const auto document = JsonDocument::parse(out.text());
  EXPECT_TRUE(document) << out.text();
  return std::string(out.text());
}

std::string messages_of(TestRequest& request, bool cache = false) {
  const auto document = JsonDocument::parse(body_of(request, cache));
  return document ? document->root()["messages"].text() : "broken";
}

Message results(std::vector<Block> blocks) {
  Message message;
  message.blocks = std::move(blocks);
  return message;
}

TEST(AnthropicRequest, HoldsOnlyWhatWasAsked) {
  TestRequest request;
  request.user("hi");
  EXPECT_EQ(body_of(request), R"({"model":"claude-test","max_tokens":16384,"stream":true,)"
                              R"("messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]})");
}

TEST(AnthropicRequest, HasNoMoreMarksThanTheFourThatAreTaken) {
  TestRequest request;
  request.add(Message::of_text(Role::kAssistant, "an answer alone")).tool("a").value().system = "be good";
  const std::string body = body_of(request, true);
  std::size_t marks = 0;
  for (std::size_t at = 0; (at = body.find("cache_control", at)) != std::string::npos; ++at) ++marks;
  EXPECT_LE(marks, 4u) << body;
}

TEST(AnthropicRequest, MarksSystemToolsAndTheLastMessageForTheCache) {
  TestRequest request;
  request.user("one").add(Message::of_text(Role::kAssistant, "two")).user("three").tool("a").tool("b");
  request.value().system = "be good";
  const std::string body = body_of(request, true);
  const std::string mark = R"("cache_control":{"type":"ephemeral"})";
  std::size_t marks = 0;
  for (std::size_t at = body.find(mark); at != std::string::npos; at = body.find(mark, at + 1)) ++marks;
  EXPECT_EQ(marks, 3u);
  EXPECT_NE(body.find(R"("text":"be good",)" + mark), std::string::npos);
  EXPECT_NE(body.find(R"("name":"b","description":"does it","input_schema":{"type":"object"},)" + mark),
            std::string::npos);
  EXPECT_NE(body.find(R"("text":"three",)" + mark), std::string::npos);
}

TEST(AnthropicRequest, AsksForALongerCacheWhereItIsWishedFor) {
  TestRequest request;
  request.user("one");
  JsonWriter out;
  ASSERT_TRUE(write_anthropic_request(out, request.value(), AnthropicCache::kHour));
  EXPECT_NE(out.text().find(R"("text":"one","cache_control":{"type":"ephemeral","ttl":"1h"})"), std::string::npos)
      << out.text();
}

TEST(AnthropicRequest, HoldsTheAnswerToASchemaBesideTheEffort) {
  TestRequest request;
  request.user("one");
  request.value().output_schema = R"({"type":"object"})";
  EXPECT_NE(body_of(request).find(R"("output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}})"),
            std::string::npos);
  request.value().thinking.effort = "low";
  EXPECT_NE(body_of(request).find(R"("output_config":{"effort":"low","format":{)"), std::string::npos);
}

TEST(AnthropicRequest, ShowsImagesAndDocuments) {
  TestRequest request;
  Block image, document;
  image.kind = BlockKind::kImage;
  image.name = "image/png";
  image.opaque = "AAAA";
  document.kind = BlockKind::kDocument;
  document.name = "application/pdf";
  document.opaque = "BBBB";
  document.text = "plan.pdf";
  request.add(results({image, document}));
  EXPECT_EQ(messages_of(request),
            R"([{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png",)"
            R"("data":"AAAA"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf",)"
            R"("data":"BBBB"},"title":"plan.pdf"}]}])");
}

TEST(AnthropicRequest, JoinsNeighboursOfOneRole) {
  TestRequest request;
  request.add(Message::of_text(Role::kSummary, "sum")).user("a").user("b");
  EXPECT_EQ(messages_of(request),
            R"([{"role":"user","content":[{"type":"text","text":"sum"},{"type":"text","text":"a"},)"
            R"({"type":"text","text":"b"}]}])");
}

TEST(AnthropicRequest, PutsTheClosingTextIntoTheLastUserMessage) {
  TestRequest request;
  request.user("a");
  request.value().closing_text = "now sum up";
  EXPECT_EQ(messages_of(request),
            R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"now sum up"}]}])");
  request.add(Message::of_text(Role::kAssistant, "b"));
  EXPECT_NE(messages_of(request).find(R"({"role":"user","content":[{"type":"text","text":"now sum up"}]}])"),
            std::string::npos);
}

TEST(AnthropicRequest, MarksTheClosingTextInsteadOfTheRowsBeforeIt) {
  TestRequest request;
  request.user("a");
  request.value().closing_text = "now";
  EXPECT_EQ(messages_of(request, true), R"([{"role":"user","content":[{"type":"text","text":"a"},)"
                                        R"({"type":"text","text":"now","cache_control":{"type":"ephemeral"}}]}])");
}

TEST(AnthropicRequest, SendsToolCallsWithTheirBytesAndResultsFirst) {
  TestRequest request;
  Message calls;
  calls.role = Role::kAssistant;
  calls.blocks = {Block::tool_use("t1", "bash", R"({ "b": 1,  "a": 2 })"), Block::tool_use("t2", "ls", "")};
  request.user("go").add(calls).user("context");
  request.add(results({Block::tool_result("t1", "out", false), Block::tool_result("t2", "bad", true)}));
  JsonWriter out;
  ASSERT_TRUE(write_anthropic_request(out, request.value(), AnthropicCache::kOff));
  const std::string body(out.text());
  EXPECT_NE(body.find(R"("input":{ "b": 1,  "a": 2 }})"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("id":"t2","name":"ls","input":{}})"), std::string::npos) << body;
  EXPECT_NE(body.find(R"([{"type":"tool_result","tool_use_id":"t1","content":"out"},)"
                      R"({"type":"tool_result","tool_use_id":"t2","content":"bad","is_error":true},)"
                      R"({"type":"text","text":"context"}])"),
            std::string::npos)
      << body;
}

TEST(AnthropicRequest, KeepsTheBodyWholeWhenAnInputIsNoObject) {
  TestRequest request;
  Message call;
  call.role = Role::kAssistant;
  call.blocks = {Block::tool_use("t1", "bash", "not json \xff")};
  request.user("go").add(call);
  EXPECT_NE(body_of(request).find(R"("input":{"raw":"not json )"), std::string::npos);
}

TEST(AnthropicRequest, SendsImagesOfTheUserAndOfTools) {
  Block image;
  image.kind = BlockKind::kImage;
  image.name = "image/png";
  image.opaque = "aGk=";
  Block result = Block::tool_result("t1", "see", false);
  result.parts = {image};
  TestRequest request;
  request.add(results({image})).add(results({result}));
  const std::string wire = R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}})";
  EXPECT_EQ(messages_of(request), R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[)"
                                  R"({"type":"text","text":"see"},)" +
                                      wire + "]}," + wire + "]}]");
}

TEST(AnthropicRequest, ReturnsThinkingOnlyWithItsSignature) {
  Message answer;
  answer.role = Role::kAssistant;
  Block signed_one, unsigned_one, redacted;
  signed_one.kind = unsigned_one.kind = redacted.kind = BlockKind::kThinking;
  signed_one.text = "hm";
  signed_one.opaque = "sig";
  unsigned_one.text = "cut off";
  redacted.name = "redacted";
  redacted.opaque = "enc";
  answer.blocks = {signed_one, unsigned_one, redacted, Block::of_text("so"), Block::of_text("")};
  TestRequest request;
  request.user("q").add(answer).user("next");
  EXPECT_NE(messages_of(request).find(R"("content":[{"type":"thinking","thinking":"hm","signature":"sig"},)"
                                      R"({"type":"redacted_thinking","data":"enc"},{"type":"text","text":"so"}]})"),
            std::string::npos)
      << messages_of(request);
}

TEST(AnthropicRequest, LeavesOutRowsWithNothingToSayAndJoinsAroundThem) {
  Message empty;
  empty.role = Role::kAssistant;
  TestRequest request;
  request.user("a").add(empty).add(Message::of_text(Role::kAssistant, "")).user("b");
  EXPECT_EQ(messages_of(request),
            R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])");
}

TEST(AnthropicRequest, FindsRoomForTheAnswerBesideTheThinking) {
  TestRequest request;
  request.user("a").value().thinking.mode = Thinking::Mode::kBudget;
  request.value().thinking.budget_tokens = 5;
  request.value().thinking.room = 1024;
  request.value().max_output_tokens = 1000;
  EXPECT_NE(body_of(request).find(R"("max_tokens":2024,"thinking":{"type":"enabled","budget_tokens":1024})"),
            std::string::npos)
      << body_of(request);
}

TEST(AnthropicRequest, MakesBrokenTextValid) {
  TestRequest request;
  request.user(
      "a\xff\xfe"
      "b");
  EXPECT_NE(body_of(request).find("a\xEF\xBF\xBD"), std::string::npos);
}

TEST(AnthropicRequest, RefusesAToolWhoseSchemaIsBroken) {
  for (const char* schema : {"{\"type\":", "[]", "\"x\"", "{} {}"}) {
    TestRequest request;
    request.user("a").tool("odd", schema);
    JsonWriter out;
    const auto written = write_anthropic_request(out, request.value(), AnthropicCache::kMinutes);
    ASSERT_FALSE(written) << schema;
    EXPECT_EQ(written.error().message, "the input schema of tool 'odd' from core is not a JSON object");
  }
}

TEST(AnthropicRequest, GivesAToolWithoutASchemaTheEmptyOne) {
  TestRequest request;
  request.user("a").tool("plain", "");
  EXPECT_NE(body_of(request).find(R"("input_schema":{"type":"object"})"), std::string::npos);
}

TEST(AnthropicRequest, RefusesARequestWithoutAnyMessage) {
  TestRequest request;
  JsonWriter out;
  EXPECT_EQ(write_anthropic_request(out, request.value(), AnthropicCache::kMinutes).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace agentd
