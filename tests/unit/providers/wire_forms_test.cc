// SPDX-License-Identifier: Apache-2.0
// Content of plugins, models and hooks is sent in the form that the wire format accepts: one unaccepted block would
// spoil every later request of the conversation.
#include <gtest/gtest.h>

#include <string>

#include "providers/anthropic/request.h"
#include "providers/common/wire.h"
#include "providers/google/request.h"
#include "providers/openai/chat_request.h"
#include "providers/openai/responses_request.h"
#include "tests/support/model_fakes.h"

namespace agentd {
namespace {

using testing::TestRequest;

class WireForms : public ::testing::TestWithParam<const char*> {
 protected:
  bool is(std::string_view wire) const { return wire == GetParam(); }
  std::string body() {
    JsonWriter out;
    const ModelRequest& value = request_.value();
    const auto written = is("anthropic")   ? write_anthropic_request(out, value, AnthropicCache::kOff)
                         : is("chat")      ? write_chat_request(out, value, {}, "house")
                         : is("responses") ? write_responses_request(out, value, "house", {})
                                           : write_google_request(out, value, "house", {});
    EXPECT_TRUE(written) << (written ? "" : written.error().message);
    return std::string(out.text());
  }
  bool says(const std::string& part) {
    const std::string all = body();
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
    return all.find(part) != std::string::npos;
  }
  bool is_silent_about(const std::string& part) {
    const std::string all = body();
    EXPECT_EQ(all.find(part), std::string::npos) << part << "\n" << all;
    return all.find(part) == std::string::npos;
  }
  void call(const std::string& id, const std::string& name, Block result) {
    request_.add({Role::kAssistant, 0, {Block::tool_use(id, name, "{}")}}).add({Role::kUser, 0, {std::move(result)}});
  }

  TestRequest request_;
};

// platform.openai.com, Function calling: "object schema missing properties" is how the API refuses the first.
TEST_P(WireForms, ASchemaIsAnObjectWithNothingElseAtItsTop) {
  const bool lists = is("chat") || is("responses");
  request_.user("a").tool("bare", R"({"type":"object"})").tool("none", "{}");
  request_.tool("either", R"({"anyOf":[{"required":["a"]}],"properties":{"a":{"oneOf":[]}},"not":{}})");
  request_.tool("whole", R"({"type":"object","properties":{"b":{}},"required":["b"]})");
  says(lists ? R"({"type":"object","properties":{}})" : R"({"type":"object"})");
  says(R"({"type":"object","properties":{"a":{"oneOf":[]}}})");
  says(R"({"type":"object","properties":{"b":{}},"required":["b"]})");
  for (const char* const gone :
       {"anyOf", "\"not\"", R"("input_schema":{})", R"("parameters":{})", R"("parametersJsonSchema":{})"})
    is_silent_about(gone);
  if (lists) is_silent_about(R"("parameters":{"type":"object"})");
}

TEST_P(WireForms, ASchemaThatIsNoneIsStillRefused) {
  request_.user("a").tool("bad", "[]");
  JsonWriter out;
  EXPECT_FALSE(write_anthropic_request(out, request_.value(), AnthropicCache::kOff));
}

// Models call tools by names that were never offered; the call and its result stay in the history.
TEST_P(WireForms, ANameThatNoToolCanHaveIsMadeOne) {
  request_.user("a");
  call("c1", "files.read me", Block::tool_result("c1", "there is no tool named files.read me", true));
  call("c2", "", Block::tool_result("c2", "x", true));
  call("c3", std::string(80, 'n'), Block::tool_result("c3", "x", true));
  call("c4", "3d", Block::tool_result("c4", "x", true));
  request_.user("b");
  says(R"("name":"files_read_me")");
  says(R"("name":"unnamed")");
  says("\"name\":\"" + std::string(64, 'n') + "\"");
  says(R"("name":"_3d")");
  is_silent_about(R"("name":"files.read me")");
}

// Some servers name calls "functions.bash:0"; other vendors refuse that, and ids longer than their own.
TEST_P(WireForms, AnIdThatTheWireDoesNotTakeIsAnotherOneForCallAndResult) {
  request_.user("a");
  for (const std::string& id : {std::string("functions.bash:0"), std::string(300, 'i'), std::string("call_9")})
    call(id, "bash", Block::tool_result(id, "x", false));
  request_.user("b");
  const std::string all = body();
  EXPECT_EQ(all, body()) << "the same in every request: prompts are cached";
  const std::string own = wire_call_id("functions.bash:0", 40);
  EXPECT_EQ(own.size(), 37u);
  for (const std::string& id : {own, wire_call_id(std::string(300, 'i'), 64), std::string("call_9")}) {
    const std::size_t first = all.find("\"" + id + "\"");
    ASSERT_NE(first, std::string::npos) << id << "\n" << all;
    EXPECT_NE(all.find("\"" + id + "\"", first + 1), std::string::npos) << "its result\n" << all;
  }
  is_silent_about("functions.bash");
  is_silent_about(std::string(65, 'i'));
}

// For servers that restart their counter in each answer, and an undo that restores a call from before the compaction.
TEST_P(WireForms, AnIdThatNamesTwoCallsIsAnotherOneForTheSecondAndItsResult) {
  request_.user("a");
  for (const char* const output : {"first", "second"})
    call("call_0", "bash", Block::tool_result("call_0", output, false));
  request_.add({Role::kAssistant, 0, {Block::tool_use("call_0", "x", "{}"), Block::tool_use("call_0", "y", "{}")}});
  request_.add(
      {Role::kUser, 0, {Block::tool_result("call_0", "third", false), Block::tool_result("call_0", "fourth", false)}});
  const std::string all = body();
  for (const char* const id : {"\"call_0\"", "\"call_0_2\"", "\"call_0_3\"", "\"call_0_4\""}) {
    const std::size_t first = all.find(id), second = all.find(id, first + 1);
    ASSERT_NE(second, std::string::npos) << id << "\n" << all;
    EXPECT_EQ(all.find(id, second + 1), std::string::npos) << id << "\n" << all;
  }
  EXPECT_LT(all.find("\"call_0_2\"", all.find("\"call_0_2\"") + 1), all.find("second"));
  EXPECT_LT(all.find("\"call_0_4\"", all.find("\"call_0_4\"") + 1), all.find("fourth"));
}

// A refusal of Anthropic's: "content cannot be empty if `is_error` is true".
TEST_P(WireForms, AnErrorWithoutATextSaysSo) {
  request_.user("a");
  call("c1", "bash", Block::tool_result("c1", " \n", true));
  says("(no text)");
}

TEST_P(WireForms, PicturesThatNoVendorTakesAndBlocksOfTheWrongSpeakerAreNotSent) {
  Block odd;
  odd.kind = BlockKind::kImage;
  odd.name = "image/bmp";
  odd.opaque = "AAAA";
  Block good = odd;
  good.name = "image/png";
  good.opaque = "BBBB";
  Block answer = good;
  answer.opaque = "CCCC";
  Block result = Block::tool_result("c1", "x", false);
  result.parts = {odd, good, Block::tool_use("c2", "nested", "{}")};
  request_.user("a").add({Role::kAssistant, 0, {Block::of_text("see"), answer}}).user("b");
  call("c1", "bash", result);
  says("BBBB");
  for (const char* const gone : {"AAAA", "CCCC", "nested", "image/bmp"}) is_silent_about(gone);
}

INSTANTIATE_TEST_SUITE_P(All, WireForms, ::testing::Values("anthropic", "chat", "responses", "google"),
                         [](const auto& tested) { return std::string(tested.param); });

// Mistral: "Unexpected role 'user' after role 'tool'". Templates of other servers need the user's message first.
TEST(ChatForms, AnAnswerStandsBehindResultsWhereTheServerWantsOneAndTheUserComesFirst) {
  TestRequest request;
  request.add({Role::kAssistant, 0, {Block::tool_use("call_0001", "ls", "{}")}});
  request.add({Role::kUser, 0, {Block::tool_result("call_0001", "a.txt", false)}}).user("and now?");
  const auto body = [&](bool user_behind_results) {
    JsonWriter out;
    EXPECT_TRUE(write_chat_request(out, request.value(), {.user_behind_results = user_behind_results}, "house"));
    return std::string(out.text());
  };
  const std::string between = R"x("content":"a.txt"},{"role":"assistant","content":"(no text)"},{"role":"user")x";
  EXPECT_NE(body(false).find(between), std::string::npos) << body(false);
  EXPECT_EQ(body(true).find(between), std::string::npos) << body(true);
  EXPECT_NE(body(true).find(R"x("messages":[{"role":"user","content":"(no text)"},{"role":"assistant")x"),
            std::string::npos)
      << body(true);
  EXPECT_FALSE(openai_host_at("https://api.mistral.ai/v1").chat.user_behind_results);
}

// Extended thinking: with a budget, the answer that began a tool loop must begin with thinking.
TEST(AnthropicLoops, GetNoBudgetWhereAnotherModelHasBegunThem) {
  const auto thinks = [](const Message& answer, const std::string& last = {}) {
    TestRequest request;
    request.user("a").add(answer).add({Role::kUser, 0, {Block::tool_result("c1", "x", false)}});
    if (!last.empty()) request.add(Message::of_text(Role::kAssistant, "so")).user(last);
    request.value().thinking.mode = Thinking::Mode::kBudget;
    request.value().thinking.budget_tokens = 2'000;
    JsonWriter out;
    EXPECT_TRUE(write_anthropic_request(out, request.value(), AnthropicCache::kOff));
    return out.text().find("\"budget_tokens\":2000") != std::string_view::npos;
  };
  Message bare{Role::kAssistant, 0, {Block::tool_use("c1", "ls", "{}")}};
  Message own = bare;
  Block thought = Block::of_text("hm");
  thought.kind = BlockKind::kThinking;
  thought.opaque = "sig";
  own.blocks.insert(own.blocks.begin(), thought);
  EXPECT_FALSE(thinks(bare));
  EXPECT_TRUE(thinks(own));
  EXPECT_TRUE(thinks(bare, "and now?")) << "the loop is over";
}

}  // namespace
}  // namespace agentd
