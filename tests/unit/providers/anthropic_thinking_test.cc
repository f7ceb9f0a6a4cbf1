// SPDX-License-Identifier: Apache-2.0
// The requested thinking, in the form that the model's API accepts.
#include <gtest/gtest.h>

#include "core/agent/thinking.h"
#include "providers/anthropic/request.h"
#include "tests/support/anthropic_rules.h"
#include "tests/support/model_fakes.h"

namespace agentd {
namespace {

using testing::anthropic_refusal;
using testing::TestRequest;

constexpr const char* kModels[] = {"claude-fable-5-1", "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5",
                                   "claude-opus-5",    "claude-sonnet-5", "claude-opus-4-8",   "claude-opus-4-7",
                                   "claude-opus-4-6",  "claude-opus-4-5", "claude-haiku-4-5",  "claude-sonnet-4-5"};

std::string body_of(const std::string& model, const Thinking& thinking, std::uint64_t answer) {
  TestRequest request;
  request.user("hi").value().model = model;
  request.value().thinking = thinking;
  request.value().max_output_tokens = answer;
  JsonWriter out;
  EXPECT_TRUE(write_anthropic_request(out, request.value(), AnthropicCache::kMinutes));
  return std::string(out.text());
}

std::string sent(const std::string& model, const ThinkingWish& wish, std::uint64_t answer = 16'384) {
  const ModelInfo info = ModelTable::embedded().find(model);
  return body_of(model, plan_thinking(info, wish, answer), answer);
}

bool says(const std::string& body, const std::string& part) { return body.find(part) != std::string::npos; }

std::string note(const std::string& model, const ThinkingWish& wish) {
  return thinking_note(ModelTable::embedded().find(model), model, wish);
}

TEST(AnthropicThinking, NoWishForAnyModelIsRefused) {
  const ModelTable table = ModelTable::embedded();
  for (const char* const model : kModels)
    for (const char* const effort : {"", "none", "low", "medium", "high", "xhigh", "max"})
      for (const std::uint64_t budget : {0ull, 1ull, 5'000ull, 20'000ull, 200'000ull})
        for (const std::uint64_t answer : {1ull, 1'000ull, 16'384ull, 64'000ull}) {
          const std::string body = sent(model, {budget, effort}, answer);
          EXPECT_EQ(anthropic_refusal(body), "") << model << " " << effort << " " << body;
          const Thinking least = least_thinking(table.find(model), answer);
          EXPECT_EQ(anthropic_refusal(body_of(model, least, answer)), "") << model;
        }
}

// The rules refuse what was sent before: a control for the test above.
TEST(AnthropicThinking, TheRulesRefuseABudgetWhereTheModelTakesNone) {
  Thinking budget;
  budget.mode = Thinking::Mode::kBudget;
  budget.budget_tokens = 8'000;
  for (const char* const model : {"claude-sonnet-5-5", "claude-opus-5-5", "claude-opus-4-7"})
    EXPECT_TRUE(says(anthropic_refusal(body_of(model, budget, 16'384)),
                     R"("thinking.type.enabled" is not supported for this model)"))
        << model;
  EXPECT_EQ(anthropic_refusal(body_of("claude-haiku-4-5", budget, 16'384)), "");
}

TEST(AnthropicThinking, AModelThatThinksUnaskedShowsIt) {
  for (const char* const model : {"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"}) {
    const std::string body = sent(model, {});
    EXPECT_TRUE(says(body, R"("thinking":{"type":"adaptive","display":"summarized"})")) << body;
    EXPECT_FALSE(says(body, "output_config")) << body;
  }
  EXPECT_FALSE(says(sent("claude-opus-4-8", {}), "thinking"));
  EXPECT_FALSE(says(sent("claude-haiku-4-5", {}), "thinking"));
}

TEST(AnthropicThinking, AnEffortIsSentAsAnEffortOrAsABudget) {
  const ThinkingWish high{0, "high"};
  const std::string adaptive = R"("thinking":{"type":"adaptive","display":"summarized"},)"
                               R"("output_config":{"effort":"high"})";
  EXPECT_TRUE(says(sent("claude-sonnet-5-5", high), adaptive));
  EXPECT_TRUE(says(sent("claude-opus-4-8", high), adaptive));
  EXPECT_TRUE(says(sent("claude-opus-4-5", high), R"("output_config":{"effort":"high"})"));
  EXPECT_TRUE(says(sent("claude-haiku-4-5", high), R"("type":"enabled","budget_tokens":24576)"));
  EXPECT_EQ(note("claude-sonnet-5-5", high), "");
  EXPECT_EQ(note("claude-haiku-4-5", high),
            "claude-haiku-4-5 takes a thinking budget and no effort: effort high is sent as 24,576 "
            "thinking tokens");
}

TEST(AnthropicThinking, ABudgetIsSentAsAnEffortAndTheUserIsTold) {
  const ThinkingWish wish{20'000, {}};
  EXPECT_TRUE(says(sent("claude-opus-5-5", wish), R"("output_config":{"effort":"high"})"));
  EXPECT_FALSE(says(sent("claude-opus-5-5", wish), "budget_tokens"));
  EXPECT_EQ(note("claude-opus-5-5", wish),
            "claude-opus-5-5 takes an effort and no thinking budget: thinking_tokens 20,000 is sent as "
            "effort high; set effort");
  EXPECT_TRUE(says(sent("claude-sonnet-4-5", wish), R"("budget_tokens":20000)"));
  EXPECT_EQ(note("claude-sonnet-4-5", wish), "");
}

TEST(AnthropicThinking, AnEffortThatAModelDoesNotHaveBecomesTheNextLowerOne) {
  EXPECT_TRUE(says(sent("claude-opus-4-6", {0, "xhigh"}), R"("effort":"high")"));
  EXPECT_EQ(note("claude-opus-4-6", {0, "xhigh"}), "claude-opus-4-6 has no effort xhigh: effort high is sent");
}

TEST(AnthropicThinking, NoneIsAsLittleAsTheModelCan) {
  const ThinkingWish none{0, "none"};
  EXPECT_TRUE(says(sent("claude-sonnet-5-5", none), R"("thinking":{"type":"between_tools"})"));
  EXPECT_TRUE(says(sent("claude-haiku-5-5", none), R"("thinking":{"type":"disabled"})"));
  EXPECT_TRUE(says(sent("claude-opus-5-5", none), R"("output_config":{"effort":"low"})"));
  EXPECT_FALSE(says(sent("claude-opus-4-8", none), "thinking"));
  EXPECT_EQ(note("claude-opus-5-5", none), "claude-opus-5-5 always thinks: effort none is sent as effort low");
}

// max_tokens includes thinking: the answer keeps the requested length.
TEST(AnthropicThinking, TheAnswerKeepsItsRoomWithinTheModelsLongestOutput) {
  const auto limit = [](const std::string& body) {
    const auto document = JsonDocument::parse(body);
    return document ? document->root()["max_tokens"].uint_or(0) : 0;
  };
  EXPECT_EQ(limit(sent("claude-sonnet-5-5", {})), 16'384u + 32'768u);
  EXPECT_EQ(limit(sent("claude-opus-5-5", {})), 16'384u + 16'384u);
  EXPECT_EQ(limit(sent("claude-opus-5-5", {0, "max"}, 100'000)), 128'000u);
  EXPECT_EQ(limit(sent("claude-haiku-4-5", {8'000, {}}, 1'000)), 9'000u);
  EXPECT_EQ(limit(sent("claude-haiku-5-5", {0, "none"}, 4'096)), 4'096u);
}

// An unknown server may refuse a longer answer than it was asked for before.
TEST(AnthropicThinking, AnUnknownModelsLimitGrowsOnlyWhereTheBudgetNeedsIt) {
  const ModelInfo unknown = ModelTable::embedded().find("house-model");
  EXPECT_EQ(plan_thinking(unknown, {8'000, {}}, 16'384).room, 0u);
  EXPECT_EQ(plan_thinking(unknown, {20'000, {}}, 16'384).room, 20'000u);
  EXPECT_EQ(plan_thinking(unknown, {}, 16'384).mode, Thinking::Mode::kUnsaid);
}

TEST(AnthropicThinking, AnUnknownModelOfTheVendorIsAskedAsItsCurrentOnesAre) {
  const std::string body = sent("claude-opus-7", {20'000, {}});
  EXPECT_TRUE(says(body, R"("type":"adaptive")")) << body;
  EXPECT_FALSE(says(body, "budget_tokens")) << body;
}

}  // namespace
}  // namespace agentd
