// SPDX-License-Identifier: Apache-2.0
// What Gemini's API sends and accepts: chunks, signatures, ends, and how a history is sent.
#include "providers/google/google.h"

#include <gtest/gtest.h>

#include "providers/google/request.h"
#include "tests/support/google_wire.h"
#include "tests/support/model_fakes.h"
#include "tests/support/request_histories.h"

namespace agentd {
namespace {

using testing::FakeHttpClient;
using testing::google_error_body;
using testing::google_refusal;
using testing::GoogleWire;
using testing::RecordingSink;
using testing::Sleepless;
using testing::TestRequest;

constexpr const char* kModel = "gemini-3.8-flash";

std::string google_body(TestRequest& request) {
  request.value().model = kModel;
  JsonWriter out;
  const auto written = write_google_request(out, request.value(), "google", {});
  EXPECT_TRUE(written) << (written ? "" : written.error().message);
  return std::string(out.text());
}

class GoogleTest : public ::testing::Test {
 protected:
  ModelResult ask(const std::vector<std::string>& pieces) {
    http_.stream(pieces);
    return complete();
  }
  ModelResult complete() {
    GoogleOptions options;
    options.api_key = "sk-test";
    options.limits.retry.retries = 0;
    sink_ = RecordingSink();
    const auto provider = make_google_provider(options, http_, clock_);
    TestRequest request;
    request.user("hello").tool("bash");
    return provider->complete(request.value(), sink_, {}, {});
  }

  Sleepless<SystemClock> clock_{waits_};
  FakeHttpClient http_;
  RecordingSink sink_;
  std::vector<Milliseconds> waits_;
};

TEST_F(GoogleTest, ReadsThoughtsTextsAndCallsWithTheirSignatures) {
  const auto got = ask({GoogleWire()
                            .thinking({"let me ", "see"})
                            .text({"Look", "ing."})
                            .call("c1", "bash", R"({"a":1})", "sig-1")
                            .call("", "bash", R"({"b":2})")
                            .finish("STOP", R"({"promptTokenCount":100,"cachedContentTokenCount":60,)"
                                            R"("candidatesTokenCount":9,"thoughtsTokenCount":4})")
                            .bytes()});
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(got->message.blocks.size(), 4u);
  EXPECT_EQ(got->message.blocks[0].kind, BlockKind::kThinking);
  EXPECT_EQ(got->message.blocks[0].text, "let me see");
  EXPECT_EQ(got->message.blocks[1].text, "Looking.");
  EXPECT_EQ(got->message.blocks[2].opaque, "sig-1");
  EXPECT_EQ(got->message.blocks[2].json, R"({"a":1})");
  EXPECT_FALSE(got->message.blocks[3].call_id.empty());
  EXPECT_EQ(got->stop_reason, StopReason::kToolUse);
  EXPECT_EQ(sink_.text, "Looking.");
  EXPECT_EQ(sink_.thinking, "let me see");
  EXPECT_EQ(*got->usage, (Usage{.input = 40, .output = 13, .cache_read = 60, .reasoning = 4}));
}

TEST_F(GoogleTest, ReadsEachEnd) {
  const auto stop = [&](const std::string& reason) {
    return ask({GoogleWire().text({"x"}).finish(reason).bytes()})->stop_reason;
  };
  EXPECT_EQ(stop("STOP"), StopReason::kEndTurn);
  EXPECT_EQ(stop("MAX_TOKENS"), StopReason::kMaxTokens);
  EXPECT_EQ(stop("SAFETY"), StopReason::kRefusal);
  EXPECT_EQ(stop("SOMETHING_NEW"), StopReason::kInterrupted);
  const auto blocked = ask({GoogleWire().blocked("PROHIBITED_CONTENT").bytes()});
  ASSERT_TRUE(blocked) << blocked.error().message;
  EXPECT_EQ(blocked->stop_reason, StopReason::kRefusal);
  EXPECT_NE(blocked->note.find("PROHIBITED_CONTENT"), std::string::npos);
  const auto cut = ask({GoogleWire().call("c", "bash", "{}").finish("MAX_TOKENS").bytes()});
  EXPECT_TRUE(cut->message.blocks.empty());
}

TEST_F(GoogleTest, ACallThatTheModelCouldNotSpellIsSaidToBeOne) {
  const auto got = ask({GoogleWire().finish("MALFORMED_FUNCTION_CALL").bytes()});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_TRUE(got->malformed_call);
  EXPECT_EQ(got->stop_reason, StopReason::kInterrupted);
  EXPECT_FALSE(ask({GoogleWire().text({"Hi."}).finish("STOP").bytes()})->malformed_call);
}

TEST_F(GoogleTest, AStreamReadsTheSameWhereverItIsCut) {
  const std::string bytes = GoogleWire()
                                .thinking({"hm"})
                                .text({"Grüße, 世界 😀", "!"})
                                .call("c1", "bash", R"({"a":1})", "s")
                                .finish("STOP")
                                .bytes();
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const auto got = ask({bytes.substr(0, cut), bytes.substr(cut)});
    ASSERT_TRUE(got) << cut << got.error().message;
    ASSERT_EQ(got->message.text(), "Grüße, 世界 😀!") << cut;
    ASSERT_EQ(got->message.blocks.back().json, R"({"a":1})") << cut;
  }
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto got = ask({bytes.substr(0, cut)});
    if (got) continue;  // the last line's end adds nothing
    for (const Block& block : got.error().partial.blocks) ASSERT_EQ(block.kind, BlockKind::kText) << cut;
    http_.answers.clear();
  }
}

TEST_F(GoogleTest, ErrorsAreUnderstoodAndTheTimeToWaitIsRead) {
  http_.status(429, R"({"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED",)"
                    R"("details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}})");
  const auto limited = complete();
  ASSERT_FALSE(limited);
  EXPECT_EQ(limited.error().kind, ModelErrorKind::kRateLimit);
  EXPECT_EQ(limited.error().retry_after, Milliseconds(1500));
  http_.status(
      400, "[" + google_error_body(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.") + "]");
  const auto key = complete();
  ASSERT_FALSE(key);
  EXPECT_EQ(key.error().kind, ModelErrorKind::kAuth);
  EXPECT_EQ(key.error().message.find("sk-test"), std::string::npos);
}

// ---- how a history is sent

TEST(GoogleRules, NoHistoryBreaksThem) {
  for (std::uint32_t seed = 0; seed < 5'000; ++seed) {
    TestRequest request;
    testing::RequestHistory history(seed);  // the request borrows from it
    history.fill(request);
    const std::string body = google_body(request);
    ASSERT_EQ(google_refusal(kModel, body), "") << "seed " << seed << "\n" << body;
  }
}

TEST(GoogleOrigins, SignaturesGoToTheirOwnModelAloneAndCallsOfOthersAreMarked) {
  const auto calling = [](const std::string& id, const std::string& signature) {
    Message out;
    out.role = Role::kAssistant;
    out.blocks.push_back(Block::tool_use(id, "ls", "{}"));
    out.blocks.back().opaque = signature;
    return out;
  };
  const auto result = [](const std::string& id) {
    Message out;
    out.blocks.push_back(Block::tool_result(id, "x", false));
    return out;
  };
  TestRequest request;
  request.user("a").add(calling("c1", "gemini-3.8-flash/1")).add(result("c1"));
  request.add(calling("c2", "another/2")).add(result("c2"));
  Origins origins;
  origins.note(2, {"google", "generateContent", kModel});
  origins.note(4, {"openai", "responses", "gpt-6-sol"});
  request.value().origins = &origins;
  const std::string body = google_body(request);
  EXPECT_EQ(google_refusal(kModel, body, {.own_signatures_alone = true}), "") << body;
  EXPECT_NE(body.find("gemini-3.8-flash/1"), std::string::npos) << body;
  EXPECT_EQ(body.find("another/2"), std::string::npos) << body;
  EXPECT_NE(body.find("skip_thought_signature_validator"), std::string::npos) << body;
  EXPECT_NE(body.find(R"("functionResponse":{"id":"c2","name":"ls")"), std::string::npos) << body;
}

}  // namespace
}  // namespace agentd
