// SPDX-License-Identifier: Apache-2.0
// What every model provider promises, whatever stands behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "core/codec/json.h"
#include "tests/contract/provider/harness.h"

namespace agentd {
namespace {

using testing::ProviderHarness;
using testing::ProviderKind;
using testing::RecordingSink;
using testing::TestRequest;
using testing::WantedAnswer;

class ProviderContract : public ::testing::TestWithParam<ProviderKind> {
 protected:
  std::unique_ptr<ProviderHarness> harness_ = GetParam().make();
  RecordingSink sink_;
  CancelToken cancel_;

  ModelResult ask(const std::vector<WantedAnswer>& answers, TestRequest& request) {
    provider_ = harness_->provider(answers);
    return provider_->complete(request.value(), sink_, cancel_, {});
  }
  ModelResult ask(const WantedAnswer& answer) {
    TestRequest request;
    request.user("hello");
    return ask({answer}, request);
  }
  std::unique_ptr<ModelProvider> provider_;
};

std::vector<Block> calls_of(const Message& message) {
  std::vector<Block> calls;
  for (const Block& block : message.blocks)
    if (block.kind == BlockKind::kToolUse) calls.push_back(block);
  return calls;
}

TEST_P(ProviderContract, GivesTheTextAndStreamsIt) {
  const auto result = ask({.text = "Grüße, 世界 😀"});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->message.role, Role::kAssistant);
  EXPECT_EQ(result->message.text(), "Grüße, 世界 😀");
  EXPECT_EQ(result->stop_reason, StopReason::kEndTurn);
  EXPECT_EQ(sink_.text, "Grüße, 世界 😀");
  EXPECT_FALSE(result->request_id.empty());
}

TEST_P(ProviderContract, HasAName) {
  provider_ = harness_->provider({{.text = "x"}});
  EXPECT_EQ(provider_->name(), GetParam().name);
}

TEST_P(ProviderContract, SendsEveryRowTheSystemPromptAndTheClosingText) {
  TestRequest request;
  request.user("first-question").add(Message::of_text(Role::kAssistant, "first-answer"));
  request.add(Message::of_text(Role::kSummary, "the-summary")).user("second-question");
  request.value().system = "the-system-prompt";
  request.value().closing_text = "the-closing-text";
  ASSERT_TRUE(ask({{.text = "x"}}, request));
  const std::string got = harness_->received();
  for (const char* part :
       {"first-question", "first-answer", "the-summary", "second-question", "the-system-prompt", "the-closing-text"})
    EXPECT_NE(got.find(part), std::string::npos) << part;
}

TEST_P(ProviderContract, SendsALongTextWhole) {
  TestRequest request;
  request.user(std::string(Rows::kElideBytes * 2, 'x') + "the-very-end");
  ASSERT_TRUE(ask({{.text = "x"}}, request));
  EXPECT_NE(harness_->received().find("the-very-end"), std::string::npos);
}

TEST_P(ProviderContract, WorksWithoutToolsAndWithoutASystemPrompt) {
  TestRequest request;
  request.user("hello");
  EXPECT_TRUE(ask({{.text = "x"}}, request));
}

TEST_P(ProviderContract, OffersTheToolsByName) {
  TestRequest request;
  request.user("hello").tool("tool_one").tool("tool_two");
  ASSERT_TRUE(ask({{.text = "x"}}, request));
  EXPECT_NE(harness_->received().find("tool_one"), std::string::npos);
  EXPECT_NE(harness_->received().find("tool_two"), std::string::npos);
}

TEST_P(ProviderContract, GivesAToolCallWithItsInputAsWritten) {
  const auto result = ask({.text = "Looking.", .calls = {{"bash", R"({"command": "ls  -l"})"}}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->stop_reason, StopReason::kToolUse);
  EXPECT_EQ(result->message.text(), "Looking.");
  const auto calls = calls_of(result->message);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].name, "bash");
  // Where the wire has an object and no text, the white space between tokens is nobody's.
  EXPECT_EQ(JsonDocument::parse(calls[0].json)->root().text(), R"({"command":"ls  -l"})");
  if (GetParam().kind != "google") {
    EXPECT_EQ(calls[0].json, R"({"command": "ls  -l"})");
  }
  EXPECT_EQ(sink_.calls, std::vector<std::string>{"bash"});
}

TEST_P(ProviderContract, GivesAnEmptyInputAsAnEmptyObject) {
  const auto result = ask({.calls = {{"list", ""}}});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(calls_of(result->message).at(0).json, "{}");
}

TEST_P(ProviderContract, GivesParallelCallsInOrderWithIdsOfTheirOwn) {
  const auto result = ask({.calls = {{"a", R"({"n":1})"}, {"b", R"({"n":2})"}, {"a", R"({"n":3})"}}});
  ASSERT_TRUE(result) << result.error().message;
  const auto calls = calls_of(result->message);
  ASSERT_EQ(calls.size(), 3u);
  std::set<std::string> ids;
  for (const Block& call : calls) ids.insert(call.call_id);
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids.count(""), 0u);
  EXPECT_EQ(calls[1].name, "b");
  EXPECT_EQ(calls[2].json, R"({"n":3})");
}

TEST_P(ProviderContract, RoundTripsACallAndItsResult) {
  TestRequest request;
  request.user("go");
  const auto first = ask({{.calls = {{"bash", R"({"x":1})"}}}, {.text = "done"}}, request);
  ASSERT_TRUE(first) << first.error().message;
  request.add(first->message);
  Message results;
  results.blocks.push_back(Block::tool_result(calls_of(first->message).at(0).call_id, "the-tool-output", true));
  request.add(results);
  const auto second = provider_->complete(request.value(), sink_, cancel_, {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->message.text(), "done");
  EXPECT_NE(harness_->received().find("the-tool-output"), std::string::npos);
  EXPECT_NE(harness_->received().find(calls_of(first->message).at(0).call_id), std::string::npos);
}

TEST_P(ProviderContract, GivesThinkingWithItsSignatureAndTakesItBack) {
  TestRequest request;
  request.user("think");
  const auto first = ask({{.text = "42", .thinking = "hm, thus", .signature = "sig=="}, {.text = "y"}}, request);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_EQ(first->message.blocks.size(), 2u);
  EXPECT_EQ(first->message.blocks[0].kind, BlockKind::kThinking);
  EXPECT_EQ(first->message.blocks[0].text, "hm, thus");
  const bool sealed = std::any_of(first->message.blocks.begin(), first->message.blocks.end(),
                                  [](const Block& block) { return block.opaque.find("sig==") != std::string::npos; });
  EXPECT_EQ(sealed, GetParam().seals);
  EXPECT_EQ(sink_.thinking, "hm, thus");
  EXPECT_EQ(first->message.text(), "42");
  request.add(first->message).user("more");
  Origins origins;
  origins.note(2, {std::string(provider_->name()), std::string(provider_->api()), request.value().model});
  request.value().origins = &origins;
  ASSERT_TRUE(provider_->complete(request.value(), sink_, cancel_, {}));
  EXPECT_EQ(harness_->received().find("hm, thus") != std::string::npos, GetParam().replays);
  if (!GetParam().seals) return;
  // No other model gets it.
  provider_ = harness_->provider({{.text = "z"}});
  origins.note(2, {std::string(provider_->name()), std::string(provider_->api()), "another-model"});
  ASSERT_TRUE(provider_->complete(request.value(), sink_, cancel_, {}));
  EXPECT_EQ(harness_->received().find("sig=="), std::string::npos);
}

TEST_P(ProviderContract, TellsTheKindsOfErrorsApart) {
  for (const ModelErrorKind kind :
       {ModelErrorKind::kAuth, ModelErrorKind::kBilling, ModelErrorKind::kInvalid, ModelErrorKind::kContextLength,
        ModelErrorKind::kRateLimit, ModelErrorKind::kOverloaded, ModelErrorKind::kServer, ModelErrorKind::kNetwork,
        ModelErrorKind::kProtocol}) {
    const auto result = ask({.fails = true, .kind = kind});
    ASSERT_FALSE(result) << name_of(kind);
    EXPECT_EQ(name_of(result.error().kind), name_of(kind)) << result.error().message;
    EXPECT_FALSE(result.error().message.empty());
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
    EXPECT_TRUE(calls_of(result.error().partial).empty());
  }
}

TEST_P(ProviderContract, SaysWhatMayPassAndWhatWillNot) {
  for (const ModelErrorKind kind :
       {ModelErrorKind::kAuth, ModelErrorKind::kBilling, ModelErrorKind::kInvalid, ModelErrorKind::kContextLength})
    EXPECT_FALSE(ask({.fails = true, .kind = kind}).error().retryable) << name_of(kind);
  for (const ModelErrorKind kind :
       {ModelErrorKind::kRateLimit, ModelErrorKind::kOverloaded, ModelErrorKind::kServer, ModelErrorKind::kNetwork})
    EXPECT_TRUE(ask({.fails = true, .kind = kind}).error().retryable) << name_of(kind);
}

TEST_P(ProviderContract, KeepsTheTextOfAnInterruptedAnswer) {
  const auto result = ask({.text = "half an ans", .fails = true, .kind = ModelErrorKind::kInterrupted});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kInterrupted);
  EXPECT_EQ(result.error().partial.text(), "half an ans");
  EXPECT_EQ(result.error().partial.role, Role::kAssistant);
  EXPECT_EQ(sink_.text, "half an ans");
}

TEST_P(ProviderContract, GoesOnAfterAnError) {
  TestRequest request;
  request.user("hello");
  EXPECT_FALSE(ask({{.fails = true, .kind = ModelErrorKind::kServer}, {.text = "well"}}, request));
  const auto second = provider_->complete(request.value(), sink_, cancel_, {});
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->message.text(), "well");
}

TEST_P(ProviderContract, IsCancelledBeforeItBegins) {
  cancel_.cancel(1);
  const auto result = ask({.text = "x"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kCancelled);
  EXPECT_TRUE(sink_.text.empty());
}

TEST_P(ProviderContract, IsCancelledWhileItWaits) {
  std::thread later([this] {
    std::this_thread::sleep_for(Milliseconds(30));
    cancel_.cancel(1);
  });
  const auto result = ask({.silent = true});
  later.join();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ModelErrorKind::kCancelled);
  EXPECT_FALSE(result.error().retryable);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProviderContract,
    ::testing::Values(ProviderKind{"scripted", "scripted", true, true, testing::make_scripted_harness},
                      ProviderKind{"anthropic", "anthropic", true, true, testing::make_anthropic_harness},
                      ProviderKind{"google", "google", true, false, testing::make_google_harness},
                      ProviderKind{"responses", "openai", true, true, testing::make_responses_harness},
                      ProviderKind{"chat", "openai", false, false, testing::make_chat_harness}),
    [](const auto& one) { return one.param.kind; });

}  // namespace
}  // namespace agentd
