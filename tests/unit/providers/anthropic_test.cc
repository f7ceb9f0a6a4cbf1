// SPDX-License-Identifier: Apache-2.0
#include "providers/anthropic/anthropic.h"
#include "core/net/curl_client.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"
#include "tests/support/model_fakes.h"

namespace agentd {
namespace {

using testing::anthropic_error_body;
using testing::AnthropicWire;
using testing::cut_at;
using testing::FakeHttpClient;
using testing::LoopbackServer;
using testing::RecordedRequest;
using testing::RecordingSink;
using testing::Reply;
using testing::Sleepless;
using testing::TestRequest;

const char* const kKey = "sk-ant-test-0123456789";

class AnthropicTest : public ::testing::Test {
 protected:
  FakeHttpClient http_;
  Sleepless<SystemClock> clock_{waits_};
  std::vector<Milliseconds> waits_;
  RecordingSink sink_;
  CancelToken cancel_;
  AnthropicOptions options_;

  AnthropicTest() { options_.api_key = kKey; }
  ModelResult ask(HttpClient& http, Deadline deadline = {}) {
    TestRequest request;
    request.user("hello");
    const auto provider = make_anthropic_provider(options_, http, clock_);
    return provider->complete(request.value(), sink_, cancel_, deadline);
  }
  ModelResult ask() { return ask(http_); }
};

std::string whole_answer(std::string text = "ok") {
  return AnthropicWire().start().text({std::move(text)}).finish("end_turn").bytes();
}

bool has_call(const Message& message) {
  return std::any_of(message.blocks.begin(), message.blocks.end(),
                     [](const Block& block) { return block.kind == BlockKind::kToolUse; });
}

TEST_F(AnthropicTest, SendsTheDocumentedHeadersToTheEndpoint) {
  LoopbackServer server({Reply::stream(whole_answer()), Reply::stream(whole_answer())});
  const auto http = make_http_client(clock_);
  options_.base_url = server.url() + "/";
  options_.betas = {"one-2025", "two-2025"};
  ASSERT_TRUE(ask(*http));
  options_.base_url = server.url() + "/proxy/v1";
  options_.api_key = "";
  options_.auth_token = " token\n";
  ASSERT_TRUE(ask(*http));
  const RecordedRequest first = server.requests().at(0);
  EXPECT_EQ(first.method, "POST");
  EXPECT_EQ(first.target, "/v1/messages");
  EXPECT_EQ(first.header("x-api-key"), kKey);
  EXPECT_EQ(first.header("anthropic-version"), "2023-06-01");
  EXPECT_EQ(first.header("anthropic-beta"), "one-2025,two-2025");
  EXPECT_EQ(first.header("content-type"), "application/json");
  EXPECT_EQ(first.header("accept-encoding"), "identity");
  EXPECT_EQ(first.header("authorization"), "");
  const RecordedRequest second = server.requests().at(1);
  EXPECT_EQ(second.target, "/proxy/v1/messages");
  EXPECT_EQ(second.header("x-api-key"), "");
  EXPECT_EQ(second.header("authorization"), "Bearer token");
}

TEST_F(AnthropicTest, SaysWhatToDoWithoutAKeyAndSendsNothing) {
  options_.api_key = " \n";
  const auto result = ask();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kAuth);
  EXPECT_NE(result.error().message.find("ANTHROPIC_API_KEY"), std::string::npos);
  EXPECT_TRUE(http_.bodies.empty());
}

TEST_F(AnthropicTest, ReadsEveryFixtureOfTheDocumentation) {
  for (const auto& fixture : testing::anthropic_fixtures()) {
    http_.stream({fixture.bytes});
    sink_ = RecordingSink();
    const auto result = ask();
    EXPECT_EQ(sink_.text, fixture.text) << fixture.name;
    EXPECT_EQ(sink_.thinking, fixture.thinking) << fixture.name;
    ASSERT_EQ(result.has_value(), !fixture.stop_reason.empty()) << fixture.name;
    if (!result) continue;
    EXPECT_EQ(result->message.text(), fixture.text) << fixture.name;
    std::vector<std::pair<std::string, std::string>> calls;
    for (const Block& block : result->message.blocks)
      if (block.kind == BlockKind::kToolUse) calls.emplace_back(block.name, block.json);
    EXPECT_EQ(calls, fixture.calls) << fixture.name;
    EXPECT_EQ(name_of(result->stop_reason), fixture.stop_reason) << fixture.name;
  }
}

TEST_F(AnthropicTest, ReadsTheSameFromEveryCutOfEveryFixture) {
  for (const auto& fixture : testing::anthropic_fixtures()) {
    if (fixture.stop_reason.empty()) continue;
    http_.stream({fixture.bytes});
    const auto whole = ask();
    ASSERT_TRUE(whole);
    for (std::size_t at = 1; at < fixture.bytes.size(); ++at) {
      http_.stream(cut_at(fixture.bytes, {at}));
      const auto cut = ask();
      ASSERT_TRUE(cut) << fixture.name << " cut at " << at << ": " << cut.error().message;
      ASSERT_EQ(cut->message, whole->message) << fixture.name << " cut at " << at;
    }
  }
}

TEST_F(AnthropicTest, ReadsUsageWithItsCacheFieldsAndLaterTotals) {
  http_.stream({AnthropicWire()
                    .start(R"({"input_tokens":21,"cache_creation_input_tokens":188,)"
                           R"("cache_read_input_tokens":1086,"output_tokens":1})")
                    .text({"x"})
                    .finish("end_turn", R"({"input_tokens":22,"cache_read_input_tokens":null,)"
                                        R"("output_tokens":393,"output_tokens_details":{"thinking_tokens":40}})")
                    .bytes()});
  const auto result = ask();
  ASSERT_TRUE(result);
  const Usage expected{
      .input = 22, .output = 393, .cache_read = 1086, .cache_write = 188, .reasoning = 40, .cost_nano_usd = 0};
  EXPECT_EQ(result->usage, expected);
}

TEST_F(AnthropicTest, HasNoUsageWhenTheProviderReportsNone) {
  http_.stream({AnthropicWire().start("null").text({"x"}).finish("end_turn", "null").bytes()});
  const auto result = ask();
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->usage.has_value());
}

std::string tool_stream() {
  return AnthropicWire()
      .start()
      .text({"I will ", "look."})
      .tool_use("toolu_1", "bash", {"{\"command\":", " \"rm -rf build\"", "}"})
      .finish("tool_use")
      .bytes();
}

// The guarantee that a tool never runs from a partial answer, for each byte at which the stream may end.
TEST_F(AnthropicTest, NeverMakesACallOfAStreamCutAtAnyByte) {
  const std::string stream = tool_stream();
  for (std::size_t size = 0; size + 1 < stream.size(); ++size) {
    http_.stream({stream.substr(0, size)});
    const auto result = ask();
    ASSERT_FALSE(result) << "cut at " << size;
    EXPECT_EQ(result.error().kind, ModelErrorKind::kInterrupted) << "cut at " << size;
    EXPECT_FALSE(has_call(result.error().partial)) << "cut at " << size;
  }
  http_.stream({stream});
  ASSERT_TRUE(has_call(ask()->message));
  EXPECT_TRUE(waits_.empty());
}

TEST_F(AnthropicTest, NeverMakesACallOfAConnectionCutAtAnyByte) {
  const std::string stream = tool_stream();
  std::size_t size = 0;
  LoopbackServer server([&](const RecordedRequest&) {
    const std::string part = stream.substr(0, size);
    return size % 2 == 0 ? Reply::chunked({part}, false) : Reply::stream(part);
  });
  const auto http = make_http_client(clock_);
  options_.base_url = server.url();
  for (size = 1; size + 1 < stream.size(); size += 5) {
    const auto result = ask(*http);
    ASSERT_FALSE(result) << "cut at " << size;
    EXPECT_EQ(result.error().kind, ModelErrorKind::kInterrupted) << result.error().message;
    EXPECT_FALSE(has_call(result.error().partial)) << "cut at " << size;
  }
}

TEST_F(AnthropicTest, KeepsTheTextThatArrivedBeforeTheCut) {
  const std::string stream = tool_stream();
  http_.stream({stream.substr(0, stream.find("toolu_1"))});
  const auto result = ask();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().partial.text(), "I will look.");
  EXPECT_EQ(result.error().partial.flags, AGENTD_MESSAGE_INTERRUPTED);
  EXPECT_TRUE(result.error().retryable);
}

TEST_F(AnthropicTest, DropsACallThatTheTokenLimitMayHaveCut) {
  for (const char* reason : {"max_tokens", "refusal", "model_context_window_exceeded", "of_tomorrow"}) {
    http_.stream({AnthropicWire().start().text({"t"}).tool_use("t1", "bash", {"{\"a\":"}).finish(reason).bytes()});
    const auto result = ask();
    ASSERT_TRUE(result) << reason << result.error().message;
    EXPECT_FALSE(has_call(result->message));
    EXPECT_EQ(result->message.text(), "t");
  }
}

TEST_F(AnthropicTest, KnowsEveryStopReason) {
  const std::vector<std::pair<const char*, StopReason>> reasons = {
      {"end_turn", StopReason::kEndTurn},
      {"tool_use", StopReason::kToolUse},
      {"max_tokens", StopReason::kMaxTokens},
      {"stop_sequence", StopReason::kSequence},
      {"refusal", StopReason::kRefusal},
      {"pause_turn", StopReason::kPause},
      {"model_context_window_exceeded", StopReason::kContextLength},
      {"of_tomorrow", StopReason::kInterrupted}};
  for (const auto& [name, reason] : reasons) {
    http_.stream({AnthropicWire().start().text({"x"}).finish(name).bytes()});
    EXPECT_EQ(ask()->stop_reason, reason) << name;
  }
}

TEST_F(AnthropicTest, CallsItToolUseWhenACallCameWithEndTurn) {
  http_.stream({AnthropicWire().start().tool_use("t", "n", {}).finish("end_turn").bytes()});
  EXPECT_EQ(ask()->stop_reason, StopReason::kToolUse);
}

TEST_F(AnthropicTest, TakesAnInputThatComesWithTheBlock) {
  http_.stream({AnthropicWire()
                    .start()
                    .event("content_block_start", R"({"type":"content_block_start","index":0,"content_block":)"
                                                  R"({"type":"tool_use","id":"t","name":"n","input":{"a":1}}})")
                    .event("content_block_stop", R"({"type":"content_block_stop","index":0})")
                    .finish("tool_use")
                    .bytes()});
  EXPECT_EQ(ask()->message.blocks.at(0).json, R"({"a":1})");
}

TEST_F(AnthropicTest, SkipsBlocksAndDeltasOfANewerApi) {
  http_.stream({AnthropicWire()
                    .start()
                    .event("content_block_start", R"({"type":"content_block_start","index":7,"content_block":)"
                                                  R"({"type":"server_tool_use","id":"s","name":"web"}})")
                    .event("content_block_delta", R"({"type":"content_block_delta","index":7,"delta":)"
                                                  R"({"type":"input_json_delta","partial_json":"{"}})")
                    .event("content_block_stop", R"({"type":"content_block_stop","index":7})")
                    .event("content_block_start", R"({"type":"content_block_start","index":8,"content_block":)"
                                                  R"({"type":"text","text":""}})")
                    .event("content_block_delta", R"({"type":"content_block_delta","index":8,"delta":)"
                                                  R"({"type":"citations_delta","citation":{}}})")
                    .event("content_block_delta", R"({"type":"content_block_delta","index":8,"delta":)"
                                                  R"({"type":"text_delta","text":"fine"}})")
                    .event("content_block_stop", R"({"type":"content_block_stop","index":8})")
                    .finish("end_turn")
                    .bytes()});
  const auto result = ask();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->message, Message::of_text(Role::kAssistant, "fine"));
}

TEST_F(AnthropicTest, RefusesWhatIsNotTheFormat) {
  const std::string start = AnthropicWire().start().bytes();
  const auto block = [](std::string_view json) { return AnthropicWire().event("content_block_start", json).bytes(); };
  const std::string text0 =
      block(R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})");
  const std::vector<std::string> broken = {
      start + "event: message_delta\ndata: {\"type\":\n\n",
      start + "event: x\ndata: \"\xff\"\n\n",
      start + start,
      text0,
      start + text0 + text0,
      start + AnthropicWire().event("content_block_delta", R"({"type":"content_block_delta","index":0})").bytes(),
      start + text0 +
          AnthropicWire()
              .event("content_block_delta", R"({"type":"content_block_delta","index":0,"delta":)"
                                            R"({"type":"input_json_delta","partial_json":"{}"}})")
              .bytes(),
      start + AnthropicWire().event("content_block_stop", R"({"type":"content_block_stop","index":3})").bytes(),
      start + block(R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}})"),
      start + AnthropicWire().event("message_stop", R"({"type":"message_stop"})").bytes(),
      start +
          block(R"({"type":"content_block_start","index":0,"content_block":)"
                R"({"type":"tool_use","id":"t","name":"n","input":{}}})") +
          AnthropicWire().finish("tool_use").bytes(),
  };
  for (const std::string& stream : broken) {
    http_.stream({stream});
    const auto result = ask();
    ASSERT_FALSE(result) << stream;
    EXPECT_EQ(result.error().kind, ModelErrorKind::kProtocol) << stream << result.error().message;
    EXPECT_FALSE(has_call(result.error().partial));
  }
  EXPECT_TRUE(waits_.empty());
}

TEST_F(AnthropicTest, ReportsAnErrorEventWithWhatArrivedBeforeIt) {
  http_.stream({AnthropicWire().start().text({"Hel"}).error("overloaded_error", "Overloaded").bytes()});
  const auto result = ask();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kOverloaded);
  EXPECT_EQ(result.error().partial.text(), "Hel");
  EXPECT_NE(result.error().message.find("overloaded_error: Overloaded"), std::string::npos);
  EXPECT_EQ(http_.bodies.size(), 1u);
}

TEST_F(AnthropicTest, TriesAgainAfterAnErrorEventThatCameBeforeTheAnswer) {
  http_.stream({AnthropicWire().error("overloaded_error", "Overloaded").bytes()}).stream({whole_answer()});
  EXPECT_TRUE(ask());
  EXPECT_EQ(waits_.size(), 1u);
}

struct StatusCase {
  int status;
  const char *type, *message;
  ModelErrorKind kind;
  unsigned attempts;
};

TEST_F(AnthropicTest, MapsEveryStatusAndRetriesOnlyWhatMayPass) {
  const StatusCase cases[] = {
      {400, "invalid_request_error", "messages: bad", ModelErrorKind::kInvalid, 1},
      {400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum",
       ModelErrorKind::kContextLength, 1},
      {400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000",
       ModelErrorKind::kContextLength, 1},
      {400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.",
       ModelErrorKind::kBilling, 1},
      {401, "authentication_error", "invalid x-api-key", ModelErrorKind::kAuth, 1},
      {402, "billing_error", "pay", ModelErrorKind::kBilling, 1},
      {403, "permission_error", "no rights", ModelErrorKind::kAuth, 1},
      {404, "not_found_error", "model: claude-x", ModelErrorKind::kInvalid, 1},
      {408, "timeout_error", "late", ModelErrorKind::kServer, 3},
      {409, "conflict_error", "busy", ModelErrorKind::kInvalid, 1},
      {413, "request_too_large", "Request exceeds the maximum size", ModelErrorKind::kContextLength, 1},
      {422, "odd_error", "odd", ModelErrorKind::kInvalid, 1},
      {429, "rate_limit_error", "slow down", ModelErrorKind::kRateLimit, 3},
      {429, "rate_limit_error", "You have reached your specified API usage limits.", ModelErrorKind::kBilling, 1},
      {500, "api_error", "oops", ModelErrorKind::kServer, 3},
      {502, "", "", ModelErrorKind::kServer, 3},
      {503, "", "", ModelErrorKind::kOverloaded, 3},
      {529, "overloaded_error", "Overloaded", ModelErrorKind::kOverloaded, 3},
  };
  for (const StatusCase& one : cases) {
    http_.answers.clear();
    http_.bodies.clear();
    const std::string body =
        *one.type == '\0' ? "<html>bad\ngateway</html>" : anthropic_error_body(one.type, one.message);
    for (int i = 0; i < 5; ++i) http_.status(one.status, body);
    const auto result = ask();
    ASSERT_FALSE(result);
    EXPECT_EQ(name_of(result.error().kind), name_of(one.kind)) << one.status << " " << one.message;
    EXPECT_EQ(result.error().http_status, one.status);
    EXPECT_EQ(result.error().attempts, one.attempts) << one.status << " " << one.message;
    EXPECT_EQ(http_.bodies.size(), one.attempts) << one.status;
    EXPECT_NE(result.error().message.find(std::to_string(one.status)), std::string::npos);
    EXPECT_NE(result.error().message.find(one.message), std::string::npos);
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(result.error().message.find("(--model)") != std::string::npos, one.status == 404)
        << result.error().message;
    EXPECT_EQ(result.error().message.find("providers.anthropic.base_url") != std::string::npos, one.status == 404)
        << result.error().message;
  }
}

TEST_F(AnthropicTest, SucceedsAfterAnOverload) {
  http_.status(529, anthropic_error_body("overloaded_error", "Overloaded")).stream({whole_answer()});
  EXPECT_TRUE(ask());
  ASSERT_EQ(waits_.size(), 1u);
  EXPECT_GE(waits_[0], Milliseconds(375));
  EXPECT_LE(waits_[0], Milliseconds(500));
}

TEST_F(AnthropicTest, WaitsAsLongAsTheProviderAsks) {
  http_.status(429, "{}", {{"retry-after", "7"}}).status(429, "{}", {{"retry-after-ms", "1250"}});
  http_.stream({whole_answer()});
  EXPECT_TRUE(ask());
  EXPECT_EQ(waits_, (std::vector{Milliseconds(7000), Milliseconds(1250)}));
}

TEST_F(AnthropicTest, ObeysAServerThatForbidsARetry) {
  http_.status(500, "{}", {{"x-should-retry", "false"}}).stream({whole_answer()});
  EXPECT_FALSE(ask());
  EXPECT_TRUE(waits_.empty());
}

TEST_F(AnthropicTest, TriesAgainWhenThereWasNoAnswerButNotWhenItBroke) {
  http_.broken({Code::kUnavailable, "no connection"}).broken({Code::kUnavailable, "no connection"});
  http_.stream({whole_answer()});
  EXPECT_TRUE(ask());
  EXPECT_EQ(waits_.size(), 2u);
  for (const Code code : {Code::kCorrupt, Code::kDenied, Code::kInvalid, Code::kCancelled}) {
    http_.broken({code, "no"}).stream({whole_answer()});
    EXPECT_FALSE(ask());
    http_.answers.clear();
  }
  EXPECT_EQ(waits_.size(), 2u);
}

TEST_F(AnthropicTest, TakesAWholeAnswerWhoseConnectionBrokeAfterIt) {
  http_.answers.push_back(
      {{200, {{"content-type", "text/event-stream"}}}, {tool_stream()}, Error{Code::kCorrupt, "reset"}});
  const auto result = ask();
  ASSERT_TRUE(result);
  EXPECT_TRUE(has_call(result->message));
}

TEST_F(AnthropicTest, DoesNotWaitPastItsDeadline) {
  http_.status(429, "{}", {{"retry-after", "30"}}).stream({whole_answer()});
  const auto result = ask(http_, Deadline::after(clock_, Milliseconds(5000)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kRateLimit);
  EXPECT_EQ(result.error().retry_after, Milliseconds(30'000));
  EXPECT_TRUE(waits_.empty());
}

TEST_F(AnthropicTest, SaysWhoAnsweredWhenItIsNoEventStream) {
  http_.answers.push_back({{200, {{"content-type", "text/html"}}}, {"<html>Please log in</html>"}, {}});
  const auto result = ask();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kProtocol);
  EXPECT_NE(result.error().message.find("text/html"), std::string::npos);
  EXPECT_NE(result.error().message.find("Please log in"), std::string::npos);
}

TEST_F(AnthropicTest, FollowsNoRedirectAndShowsTheTargetNoKey) {
  LoopbackServer target([](const RecordedRequest&) { return Reply::stream(whole_answer()); });
  LoopbackServer server([&](const RecordedRequest&) {
    return Reply::http(307, {{"location", target.url() + "/v1/messages"}}, "");
  });
  const auto http = make_http_client(clock_);
  options_.base_url = server.url();
  const auto result = ask(*http);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kInvalid);
  EXPECT_NE(result.error().message.find("redirects (307) to 127.0.0.1:"), std::string::npos) << result.error().message;
  EXPECT_EQ(target.connections(), 0u);
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(AnthropicTest, EndsAnEndlessStream) {
  std::string endless = AnthropicWire().start().bytes();
  for (int i = 0; i < 2000; ++i) endless += AnthropicWire().ping().bytes();
  LoopbackServer server([&](const RecordedRequest&) { return Reply::stream(endless); });
  const auto http = make_http_client(clock_);
  options_.base_url = server.url();
  options_.limits.answer_bytes_max = 20'000;
  const auto result = ask(*http);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kInterrupted);
  EXPECT_NE(result.error().message.find("more than 20000 bytes"), std::string::npos) << result.error().message;
  EXPECT_EQ(server.requests().size(), 1u);
}

TEST_F(AnthropicTest, NeverShowsTheKeyInAnError) {
  http_.status(401, anthropic_error_body("authentication_error", std::string("bad key ") + kKey + "!"));
  const auto result = ask();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message.find(kKey), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().message.find("bad key ***!"), std::string::npos) << result.error().message;
}

TEST_F(AnthropicTest, IsCancelledWhileItWaitsToTryAgain) {
  http_.status(529, "{}").stream({whole_answer()});
  class Canceller final : public SystemClock {
   public:
    bool sleep(Milliseconds, const CancelToken& cancel) const override {
      cancel.cancel(1);
      return false;
    }
  };
  const Canceller clock;
  TestRequest request;
  request.user("x");
  const auto provider = make_anthropic_provider(options_, http_, clock);
  const auto result = provider->complete(request.value(), sink_, cancel_, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kCancelled);
  EXPECT_EQ(http_.bodies.size(), 1u);
}

// ---- thinking that the API does not accept back

const char* const kForeign = "messages.1.content.0: Invalid `signature` in `thinking` block";

TEST_F(AnthropicTest, ARefusedSignatureIsAnsweredByOneRequestWithoutThinking) {
  TestRequest request;
  Message answer = Message::of_text(Role::kAssistant, "so");
  Block block;
  block.kind = BlockKind::kThinking;
  block.opaque = "foreign-signature";
  answer.blocks.insert(answer.blocks.begin(), block);
  request.user("hello").add(answer).user("go on");
  const auto provider = make_anthropic_provider(options_, http_, clock_);
  http_.status(400, anthropic_error_body("invalid_request_error", kForeign)).stream({whole_answer()});
  ASSERT_TRUE(provider->complete(request.value(), sink_, cancel_, {}));
  ASSERT_EQ(http_.bodies.size(), 2u);
  EXPECT_NE(http_.bodies[0].find("foreign-signature"), std::string::npos);
  EXPECT_EQ(http_.bodies[1].find("foreign-signature"), std::string::npos);
  // The next request does not try it again.
  http_.stream({whole_answer()});
  ASSERT_TRUE(provider->complete(request.value(), sink_, cancel_, {}));
  ASSERT_EQ(http_.bodies.size(), 3u);
  EXPECT_EQ(http_.bodies[2].find("foreign-signature"), std::string::npos);
  EXPECT_TRUE(waits_.empty());
}

TEST_F(AnthropicTest, ASecondRefusalIsTheError) {
  for (int i = 0; i < 2; ++i) http_.status(400, anthropic_error_body("invalid_request_error", kForeign));
  const auto result = ask();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kInvalid);
  EXPECT_EQ(http_.bodies.size(), 2u);
}

TEST_F(AnthropicTest, AnotherInvalidRequestIsNotSentAgain) {
  http_.status(400, anthropic_error_body("invalid_request_error", "max_tokens: 9 > 8"));
  ASSERT_FALSE(ask());
  EXPECT_EQ(http_.bodies.size(), 1u);
}

TEST_F(AnthropicTest, OtherServersWordsForATooLongPromptAreKnown) {
  for (const char* const text :
       {"Input is too long for requested model.",
        "This model's maximum context length is 131072 tokens. However, you requested 140000"}) {
    http_.status(400, anthropic_error_body("invalid_request_error", text));
    const auto result = ask();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ModelErrorKind::kContextLength) << text;
  }
}

}  // namespace
}  // namespace agentd
