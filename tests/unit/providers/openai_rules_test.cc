// SPDX-License-Identifier: Apache-2.0
// The requests keep the rules of OpenAI's two APIs, whatever their history contains.
#include <gtest/gtest.h>

#include "providers/openai/chat_request.h"
#include "providers/openai/responses_request.h"
#include "tests/support/model_fakes.h"
#include "tests/support/openai_rules.h"
#include "tests/support/request_histories.h"

namespace agentd {
namespace {

using testing::chat_refusal;
using testing::responses_refusal;
using testing::TestRequest;
using testing::thinking_in;

std::string chat_body(TestRequest& request, const ChatDialect& dialect = {}) {
  JsonWriter out;
  const auto written = write_chat_request(out, request.value(), dialect, "openai");
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
  return std::string(out.text());
}

std::string responses_body(TestRequest& request) {
  JsonWriter out;
  const auto written = write_responses_request(out, request.value(), "openai", {});
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
  return std::string(out.text());
}

TEST(OpenAiRules, NoHistoryBreaksThem) {
  for (std::uint32_t seed = 0; seed < 5'000; ++seed) {
    TestRequest request;
    testing::RequestHistory history(seed);  // the request borrows from it
    history.fill(request);
    const std::string chat = chat_body(request);
    ASSERT_EQ(chat_refusal(chat), "") << "seed " << seed << "\n" << chat;
    const std::string short_ids = chat_body(request, {.call_id_bytes = 9});
    ASSERT_EQ(chat_refusal(short_ids, {.call_id_bytes = 9}), "") << "seed " << seed << "\n" << short_ids;
    const std::string thinking = chat_body(request, {.thinking_back = true});
    ASSERT_EQ(chat_refusal(thinking, {.thinking_back = true}), "") << "seed " << seed << "\n" << thinking;
    const std::string responses = responses_body(request);
    ASSERT_EQ(responses_refusal(responses), "") << "seed " << seed << "\n" << responses;
  }
}

// ---- whose thinking is sent

Message thinking_part(const std::string& seal, const std::string& text = "so") {
  Message out;
  out.role = Role::kAssistant;
  Block block;
  block.kind = BlockKind::kThinking;
  block.text = "hm";
  block.opaque = R"({"type":"reasoning","id":"rs","summary":[],"encrypted_content":")" + seal + "\"}";
  out.blocks.push_back(block);
  if (!text.empty()) out.blocks.push_back(Block::of_text(text));
  return out;
}

TEST(OpenAiOrigins, ReasoningGoesToItsOwnModelAloneAndInFrontOfWhatItLedTo) {
  TestRequest request;
  request.value().model = "gpt-6-sol";
  request.user("a").add(thinking_part("gpt-6-sol/1")).user("b").add(thinking_part("gpt-6-luna/2")).user("c");
  request.add(thinking_part("nobody/3")).user("d").add(thinking_part("gpt-6-sol/4", "")).user("e");
  Origins origins;
  origins.note(2, {"openai", "responses", "gpt-6-sol"});
  origins.note(4, {"openai", "responses", "gpt-6-luna"});
  origins.note(8, {"openai", "responses", "gpt-6-sol"});
  request.value().origins = &origins;
  const std::string body = responses_body(request);
  EXPECT_EQ(responses_refusal(body, {.own_seals_alone = true}), "") << body;
  EXPECT_NE(body.find("gpt-6-sol/1"), std::string::npos) << body;
  for (const char* const other : {"gpt-6-luna/2", "nobody/3", "gpt-6-sol/4"})
    EXPECT_EQ(body.find(other), std::string::npos) << other << body;
  // The same model elsewhere has other seals.
  origins.note(2, {"another", "responses", "gpt-6-sol"});
  EXPECT_EQ(responses_body(request).find("gpt-6-sol/1"), std::string::npos);
}

TEST(OpenAiOrigins, APhaseGoesBackToTheModelThatNamedIt) {
  TestRequest request;
  request.value().model = "gpt-6-sol";
  Message answer = Message::of_text(Role::kAssistant, "looking");
  answer.blocks[0].opaque = R"({"phase":"commentary"})";
  request.user("a").add(answer).user("b");
  Origins origins;
  origins.note(2, {"openai", "responses", "gpt-6-sol"});
  request.value().origins = &origins;
  EXPECT_NE(responses_body(request).find(R"("content":"looking","phase":"commentary")"), std::string::npos);
  EXPECT_EQ(responses_refusal(responses_body(request)), "");
  origins.note(2, {"openai", "responses", "gpt-5.6"});
  EXPECT_EQ(responses_body(request).find("phase"), std::string::npos);
}

// ---- models that want their thinking back

Message looking(const std::string& id, const std::string& why) {
  Message out;
  out.role = Role::kAssistant;
  Block block = Block::of_text(why);
  block.kind = BlockKind::kThinking;
  out.blocks = {block, Block::tool_use(id, "ls", "{}")};
  return out;
}

Message result(const std::string& id) {
  Message out;
  out.blocks.push_back(Block::tool_result(id, "x", false));
  return out;
}

// Two runs with a call each, an answer without thinking between them.
struct TwoRuns {
  TwoRuns() {
    request.value().model = "deepseek-v4-flash";
    request.user("a").add(looking("c1", "earlier")).add(result("c1"));
    request.add(Message::of_text(Role::kAssistant, "well")).user("b").add(looking("c2", "now")).add(result("c2"));
    for (const std::uint64_t seq : {2u, 4u, 6u}) origins.note(seq, {"openai", "chat", "deepseek-v4-flash"});
    request.value().origins = &origins;
  }
  TestRequest request;
  Origins origins;
};

TEST(OpenAiOrigins, ThinkingGoesBackWithEachAnswerOfAllRunsWhereTheModelWantsIt) {
  TwoRuns runs;
  EXPECT_EQ(thinking_in(chat_body(runs.request)), "-\n-\n-\n");
  // The server's models want it, or this model does wherever it is served.
  EXPECT_EQ(thinking_in(chat_body(runs.request, {.thinking_back = true})), "earlier\n\nnow\n");
  runs.request.value().thinking_back = true;
  const std::string body = chat_body(runs.request);
  EXPECT_EQ(thinking_in(body), "earlier\n\nnow\n");
  EXPECT_EQ(chat_refusal(body, {.thinking_back = true}), "") << body;
  // What is known of the model goes before what is known of its server; a server may refuse it.
  runs.request.value().thinking_back = false;
  EXPECT_EQ(thinking_in(chat_body(runs.request, {.thinking_back = true})), "-\n-\n-\n");
  runs.request.value().thinking_back = true;
  EXPECT_EQ(thinking_in(chat_body(runs.request, openai_host_at("https://api.groq.com/openai/v1").chat)), "-\n-\n-\n");
}

TEST(OpenAiOrigins, ThinkingOfAnotherModelIsAnEmptyText) {
  TwoRuns runs;
  runs.request.value().thinking_back = true;
  runs.origins.note(2, {"openai", "chat", "another"});
  runs.origins.note(6, {"work", "chat", "deepseek-v4-flash"});
  EXPECT_EQ(thinking_in(chat_body(runs.request)), "\n\n\n");
  // Nobody knows whose an answer is that a hook wrote, or that is older than the origins.
  runs.request.value().origins = nullptr;
  EXPECT_EQ(thinking_in(chat_body(runs.request)), "\n\n\n");
}

}  // namespace
}  // namespace agentd
