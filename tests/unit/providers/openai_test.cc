// SPDX-License-Identifier: Apache-2.0
// The output of servers with OpenAI's formats, each in its own way, and how it is read.
#include <gtest/gtest.h>

#include <functional>

#include "core/base/bytes.h"
#include "providers/openai/hosts.h"
#include "providers/openai/openai.h"
#include "tests/support/model_fakes.h"
#include "tests/support/openai_wire.h"

namespace agentd {
namespace {

using testing::ChatWire;
using testing::FakeHttpClient;
using testing::openai_error_body;
using testing::RecordingSink;
using testing::ResponsesWire;
using testing::Sleepless;
using testing::TestRequest;

class OpenAi : public ::testing::Test {
 protected:
  ModelResult ask(OpenAiApi api, const std::vector<std::string>& pieces) {
    http_.stream(pieces);
    return complete(api);
  }
  ModelResult chat(const std::string& bytes) { return ask(OpenAiApi::kChat, {bytes}); }
  ModelResult responses(const std::string& bytes) { return ask(OpenAiApi::kResponses, {bytes}); }
  ModelResult complete(OpenAiApi api, const std::string& key = "sk-test", const std::string& url = "http://h/v1") {
    OpenAiOptions options;
    options.api_key = key;
    options.api = api;
    options.base_url = url;
    options.limits.retry.retries = 0;
    sink_ = RecordingSink();
    const auto provider = make_openai_provider(options, http_, clock_);
    TestRequest request;
    request.user("hello").tool("bash");
    return provider->complete(request.value(), sink_, {}, {});
  }

  Sleepless<SystemClock> clock_{waits_};
  FakeHttpClient http_;
  RecordingSink sink_;
  std::vector<Milliseconds> waits_;
};

std::string calls_of(const ModelResponse& response) {
  std::string out;
  for (const Block& block : response.message.blocks)
    if (block.kind == BlockKind::kToolUse) out += block.call_id + " " + block.name + " " + block.json + ";";
  return out;
}

// ---- Chat Completions as servers send them

TEST_F(OpenAi, ReadsEachServersWayOfStreaming) {
  const std::string call =
      R"({"index":0,"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"a\":1}"}})";
  const struct {
    const char* what;
    std::string bytes, text, thinking, calls;
    StopReason stop;
  } table[] = {
      {"the vendor's", ChatWire().text({"Hel", "lo"}).finish("stop").bytes(), "Hello", "", "", StopReason::kEndTurn},
      {"no finish_reason", ChatWire().text({"Hello"}).data("[DONE]").bytes(), "Hello", "", "", StopReason::kEndTurn},
      {"no [DONE]", ChatWire().choice(R"("delta":{"content":"Hello"},"finish_reason":"stop")").bytes(), "Hello", "", "",
       StopReason::kEndTurn},
      {"whole call at once",
       ChatWire().choice(R"("delta":{"tool_calls":[)" + call + R"(]},"finish_reason":"tool_calls")").bytes(), "", "",
       "c1 bash {\"a\":1};", StopReason::kToolUse},
      {"stop beside a call", ChatWire().choice(R"("delta":{"tool_calls":[)" + call + "]}").finish("stop").bytes(), "",
       "", "c1 bash {\"a\":1};", StopReason::kToolUse},
      {"calls without an index",
       ChatWire()
           .choice(R"("delta":{"tool_calls":[{"id":"c1","function":{"name":"a","arguments":"{}"}},)"
                   R"({"id":"c2","function":{"name":"b","arguments":"{}"}}]})")
           .finish("tool_calls")
           .bytes(),
       "", "", "c1 a {};c2 b {};", StopReason::kToolUse},
      {"calls without an id",
       ChatWire()
           .choice(R"("delta":{"tool_calls":[{"function":{"name":"a","arguments":{"x":1}}},)"
                   R"({"function":{"name":"b","arguments":"{}"}}]})")
           .finish("tool_calls")
           .bytes(),
       "", "", "call_0 a {\"x\":1};call_1 b {};", StopReason::kToolUse},
      {"one index for all calls",
       ChatWire().tool_call(0, "c1", "a", {"{}"}).tool_call(0, "c2", "b", {"{}"}).finish("tool_calls").bytes(), "", "",
       "c1 a {};c2 b {};", StopReason::kToolUse},
      {"calls in turns",
       ChatWire()
           .tool_call(0, "c1", "a", {"{\"x\""})
           .tool_call(1, "c2", "b", {"{\"y\""})
           .choice(R"("delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]})")
           .choice(R"("delta":{"tool_calls":[{"index":1,"function":{"arguments":":2}"}}]})")
           .finish("tool_calls")
           .bytes(),
       "", "", "c1 a {\"x\":1};c2 b {\"y\":2};", StopReason::kToolUse},
      {"name in every piece",
       ChatWire()
           .choice(R"("delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{"}}]})")
           .choice(R"("delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"}"}}]})")
           .finish("tool_calls")
           .bytes(),
       "", "", "c1 a {};", StopReason::kToolUse},
      {"reasoning_content", ChatWire().thinking({"h", "m"}).text({"x"}).finish("stop").bytes(), "x", "hm", "",
       StopReason::kEndTurn},
      {"reasoning", ChatWire().thinking({"hm"}, "reasoning").text({"x"}).finish("stop").bytes(), "x", "hm", "",
       StopReason::kEndTurn},
      {"both of them",
       ChatWire().choice(R"("delta":{"reasoning":"hm","reasoning_content":"hm"})").text({"x"}).finish("stop").bytes(),
       "x", "hm", "", StopReason::kEndTurn},
      {"content as parts",
       ChatWire()
           .choice(R"("delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},)"
                   R"({"type":"text","text":"x"}]})")
           .finish("stop")
           .bytes(),
       "x", "hm", "", StopReason::kEndTurn},
      {"comments as signs of life", ": OPENROUTER PROCESSING\n\n" + ChatWire().text({"x"}).finish("stop").bytes(), "x",
       "", "", StopReason::kEndTurn},
      {"a cut answer", ChatWire().text({"x"}).finish("length").bytes(), "x", "", "", StopReason::kMaxTokens},
      {"a cut call", ChatWire().tool_call(0, "c1", "a", {"{\"x"}).finish("length").bytes(), "", "", "",
       StopReason::kMaxTokens},
      {"a filter", ChatWire().text({"x"}).finish("content_filter").bytes(), "x", "", "", StopReason::kRefusal},
      {"a refusal", ChatWire().choice(R"("delta":{"refusal":"No."})").finish("stop").bytes(), "No.", "", "",
       StopReason::kRefusal},
      {"two choices",
       ChatWire().data(R"({"choices":[{"index":1,"delta":{"content":"other"}}]})").text({"x"}).finish("stop").bytes(),
       "x", "", "", StopReason::kEndTurn},
      {"calls announced and not made", ChatWire().text({"x"}).finish("tool_calls").bytes(), "x", "", "",
       StopReason::kEndTurn},
  };
  for (const auto& row : table) {
    const ModelResult got = chat(row.bytes);
    ASSERT_TRUE(got) << row.what << ": " << got.error().message;
    EXPECT_EQ(got->message.text(), row.text) << row.what;
    EXPECT_EQ(sink_.text, row.text) << row.what;
    EXPECT_EQ(sink_.thinking, row.thinking) << row.what;
    EXPECT_EQ(calls_of(*got), row.calls) << row.what;
    EXPECT_EQ(got->stop_reason, row.stop) << row.what;
  }
}

TEST_F(OpenAi, CountsUsageHoweverItComes) {
  const auto usage_of = [&](const std::string& usage) {
    const auto got = chat(ChatWire().text({"x"}).finish("stop", usage).bytes());
    EXPECT_TRUE(got && got->usage) << usage;
    return got && got->usage ? *got->usage : Usage{};
  };
  EXPECT_EQ(usage_of(R"({"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":60},)"
                     R"("completion_tokens_details":{"reasoning_tokens":4}})"),
            (Usage{.input = 40, .output = 9, .cache_read = 60, .reasoning = 4}));
  EXPECT_EQ(
      usage_of(
          R"({"prompt_tokens":100,"completion_tokens":9,"prompt_cache_hit_tokens":70,"prompt_cache_miss_tokens":30})"),
      (Usage{.input = 30, .output = 9, .cache_read = 70}));
  EXPECT_EQ(usage_of(R"({"prompt_tokens":10,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":60}})"),
            (Usage{.input = 0, .output = 9, .cache_read = 10}));
  EXPECT_FALSE(chat(ChatWire().text({"x"}).data("[DONE]").bytes())->usage);
}

// ---- Responses

TEST_F(OpenAi, ReadsItemsOfResponsesInTheirOrder) {
  const ModelResult got = responses(ResponsesWire()
                                        .start()
                                        .reasoning({"let me ", "see"}, "seal-1")
                                        .text({"Look", "ing."}, "commentary")
                                        .function_call("call_1", "bash", {"{\"a\"", ":1}"})
                                        .finish()
                                        .bytes());
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(got->message.blocks.size(), 3u);
  EXPECT_EQ(got->message.blocks[0].kind, BlockKind::kThinking);
  EXPECT_EQ(got->message.blocks[0].text, "let me see");
  EXPECT_NE(got->message.blocks[0].opaque.find(R"("encrypted_content":"seal-1")"), std::string::npos);
  EXPECT_EQ(got->message.blocks[1].text, "Looking.");
  EXPECT_EQ(got->message.blocks[1].opaque, R"({"phase":"commentary"})");
  EXPECT_EQ(calls_of(*got), "call_1 bash {\"a\":1};");
  EXPECT_EQ(got->stop_reason, StopReason::kToolUse);
  EXPECT_EQ(sink_.text, "Looking.");
  EXPECT_EQ(sink_.thinking, "let me see");
  EXPECT_EQ(sink_.calls, std::vector<std::string>{"bash"});
}

TEST_F(OpenAi, ReadsEachEndOfResponses) {
  const auto stop = [&](const std::string& bytes) { return responses(bytes)->stop_reason; };
  EXPECT_EQ(stop(ResponsesWire().start().text({"x"}).finish().bytes()), StopReason::kEndTurn);
  EXPECT_EQ(stop(ResponsesWire().start().text({"x"}).incomplete("max_output_tokens").bytes()), StopReason::kMaxTokens);
  EXPECT_EQ(stop(ResponsesWire().start().text({"x"}).incomplete("content_filter").bytes()), StopReason::kRefusal);
  EXPECT_EQ(stop(ResponsesWire().start().refusal("No.").finish().bytes()), StopReason::kRefusal);
  const auto odd = responses(ResponsesWire().start().text({"x"}).incomplete("something_new").bytes());
  EXPECT_EQ(odd->stop_reason, StopReason::kInterrupted);
  EXPECT_NE(odd->note.find("something_new"), std::string::npos);
  // A call of a cut answer is not made.
  const auto cut =
      responses(ResponsesWire().start().function_call("c", "bash", {"{}"}).incomplete("max_output_tokens").bytes());
  EXPECT_EQ(calls_of(*cut), "");
  const auto failed = responses(ResponsesWire().start().text({"x"}).failed("server_error", "oops").bytes());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ModelErrorKind::kServer);
  EXPECT_NE(failed.error().message.find("oops"), std::string::npos);
  EXPECT_EQ(failed.error().partial.text(), "x");
  const auto limited = responses(
      "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow "
      "down\",\"param\":null}\n\n");
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().kind, ModelErrorKind::kRateLimit) << limited.error().message;
}

TEST_F(OpenAi, ReadsItemsThatComeAtTheEndAlone) {
  const auto got =
      responses(R"(data: {"type":"response.completed","response":{"status":"completed","output":[)"
                R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"whole"}]},)"
                R"({"type":"function_call","call_id":"c1","name":"bash","arguments":"{}"}]}})"
                "\n\n");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->message.text(), "whole");
  EXPECT_EQ(sink_.text, "whole");
  EXPECT_EQ(calls_of(*got), "c1 bash {};");
}

TEST_F(OpenAi, CountsWhatResponsesReports) {
  const auto got = responses(
      ResponsesWire()
          .start()
          .text({"x"})
          .finish(R"({"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},)"
                  R"("output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":109})")
          .bytes());
  EXPECT_EQ(*got->usage, (Usage{.input = 10, .output = 9, .cache_read = 60, .cache_write = 30, .reasoning = 4}));
}

TEST_F(OpenAi, RetriesOnceWithoutReasoningThatCannotBeOpened) {
  http_.status(400, openai_error_body("invalid_request_error", "invalid_encrypted_content",
                                      "The encrypted content gAAA could not be verified."));
  http_.stream({ResponsesWire().start().text({"well"}).finish().bytes()});
  OpenAiOptions options;
  options.api_key = "k";
  options.api = OpenAiApi::kResponses;
  const auto provider = make_openai_provider(options, http_, clock_);
  Message answer = Message::of_text(Role::kAssistant, "so");
  Block block;
  block.kind = BlockKind::kThinking;
  block.opaque = R"({"type":"reasoning","id":"rs","summary":[],"encrypted_content":"gAAA"})";
  answer.blocks.insert(answer.blocks.begin(), block);
  TestRequest request;
  request.user("a").add(answer).user("b");
  Origins origins;
  origins.note(2, {"openai", "responses", "claude-test"});
  request.value().origins = &origins;
  const auto got = provider->complete(request.value(), sink_, {}, {});
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(http_.bodies.size(), 2u);
  EXPECT_NE(http_.bodies[0].find("gAAA"), std::string::npos);
  EXPECT_EQ(http_.bodies[1].find("gAAA"), std::string::npos);
  http_.stream({ResponsesWire().start().text({"well"}).finish().bytes()});
  EXPECT_TRUE(provider->complete(request.value(), sink_, {}, {}));
  EXPECT_EQ(http_.bodies[2].find("gAAA"), std::string::npos);  // it is not tried again
}

// ---- wherever a stream is cut

TEST_F(OpenAi, AStreamReadsTheSameWhereverItIsCut) {
  const std::string text = "Grüße, 世界 😀";
  for (const OpenAiApi api : {OpenAiApi::kChat, OpenAiApi::kResponses}) {
    const bool chat = api == OpenAiApi::kChat;
    const std::string bytes = chat ? ChatWire()
                                         .thinking({"hm"})
                                         .text({text, "!"})
                                         .tool_call(0, "c1", "bash", {"{\"a\"", ":1}"})
                                         .finish("tool_calls")
                                         .bytes()
                                   : ResponsesWire()
                                         .start()
                                         .reasoning({"hm"}, "seal")
                                         .text({text, "!"})
                                         .function_call("c1", "bash", {"{\"a\"", ":1}"})
                                         .finish()
                                         .bytes();
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      const auto got = ask(api, {bytes.substr(0, cut), bytes.substr(cut)});
      ASSERT_TRUE(got) << cut << got.error().message;
      ASSERT_EQ(got->message.text(), text + "!") << cut;
      ASSERT_EQ(calls_of(*got), "c1 bash {\"a\":1};") << cut;
    }
    // An answer that ends early is never complete, and has no call.
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      const auto got = ask(api, {bytes.substr(0, cut)});
      if (got) {
        // After the end reason only the usage follows.
        ASSERT_EQ(got->message.text(), text + "!") << cut;
        ASSERT_TRUE(chat) << cut;
        continue;
      }
      for (const Block& block : got.error().partial.blocks) ASSERT_NE(block.kind, BlockKind::kToolUse) << cut;
      http_.answers.clear();
    }
  }
}

// ---- which server is called

TEST_F(OpenAi, ErrorsOfEveryServerAreUnderstood) {
  const struct {
    int status;
    std::string body;
    ModelErrorKind kind;
  } table[] = {
      {400,
       R"({"error":{"message":"This model's maximum context length is 8192 tokens",)"
       R"("type":"invalid_request_error","code":"context_length_exceeded"}})",
       ModelErrorKind::kContextLength},
      {400,
       R"({"error":{"code":400,"message":"the request exceeds the available context size, try increasing it",)"
       R"("type":"exceed_context_size_error"}})",
       ModelErrorKind::kContextLength},
      {400,
       R"({"object":"error","message":"This model's maximum context length is 4096 tokens.",)"
       R"("type":"BadRequestError","code":400})",
       ModelErrorKind::kContextLength},
      {402,
       R"({"error":{"message":"Insufficient Balance",)"
       R"("type":"unknown_error","param":null,"code":"invalid_request_error"}})",
       ModelErrorKind::kBilling},
      {429,
       R"({"error":{"message":"You exceeded your current quota",)"
       R"("type":"insufficient_quota","code":"insufficient_quota"}})",
       ModelErrorKind::kBilling},
      {429, R"({"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}})",
       ModelErrorKind::kRateLimit},
      {404, R"({"error":"model \"x\" not found, try pulling it first"})", ModelErrorKind::kInvalid},
      {422, R"({"detail":"Unprocessable"})", ModelErrorKind::kInvalid},
      {502, "<html>Bad Gateway</html>", ModelErrorKind::kServer},
      {401, R"({"message":"Unauthorized"})", ModelErrorKind::kAuth},
  };
  for (const auto& row : table) {
    http_.status(row.status, row.body);
    const auto got = complete(OpenAiApi::kChat);
    ASSERT_FALSE(got) << row.body;
    EXPECT_EQ(name_of(got.error().kind), name_of(row.kind)) << row.body << got.error().message;
  }
}

TEST_F(OpenAi, AnErrorWithinTheStreamIsOne) {
  const auto got = chat(": x\n\ndata: {\"error\":{\"code\":\"server_overloaded\",\"message\":\"busy\"}}\n\n");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ModelErrorKind::kOverloaded) << got.error().message;
}

TEST_F(OpenAi, AKeyIsNeededWhereTheServerWantsOneAndNeverShown) {
  const auto none = complete(OpenAiApi::kChat, "");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ModelErrorKind::kAuth);
  EXPECT_NE(none.error().message.find("OPENAI_API_KEY"), std::string::npos);
  EXPECT_TRUE(http_.bodies.empty());
  http_.status(401, openai_error_body("", "invalid_api_key", "Incorrect API key provided: sk-secret."));
  const auto wrong = complete(OpenAiApi::kChat, " sk-secret\n");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message.find("sk-secret"), std::string::npos) << wrong.error().message;
}

TEST(OpenAiHosts, AreKnownByTheirAddress) {
  EXPECT_TRUE(openai_host_at("https://api.openai.com/v1").responses);
  EXPECT_EQ(openai_host_at("https://api.mistral.ai").chat.call_id_bytes, 9u);
  EXPECT_TRUE(openai_host_at("https://api.deepseek.com/v1/").chat.thinking_back);
  EXPECT_FALSE(openai_host_at("http://127.0.0.1:9/v1").chat.thinking_back);
  // Another host's name within the address changes nothing.
  EXPECT_EQ(openai_host_at("https://proxy.test/api.openai.com/v1").name, "");
  EXPECT_EQ(openai_host_at("http://127.0.0.1:9/v1").chat.output_limit, "max_tokens");
  EXPECT_EQ(openai_host_at("https://api.groq.com/openai/v1").key_variable, "GROQ_API_KEY");
}

}  // namespace
}  // namespace agentd
