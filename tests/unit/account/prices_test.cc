// SPDX-License-Identifier: Apache-2.0
// The cost of an answer: by the table's prices, by the user's, and without a known price.
#include <gtest/gtest.h>

#include "core/tokens/tokens.h"

namespace agentd {
namespace {

constexpr std::uint64_t kDollar = 1'000'000'000;

std::uint64_t cost(std::string_view provider, std::string_view model, const Usage& usage) {
  const auto prices = ModelTable::embedded().prices_of(provider, model);
  EXPECT_TRUE(prices) << model;
  return prices ? cost_of(*prices, usage) : 0;
}

TEST(Prices, AreReadAsVendorsWriteThem) {
  EXPECT_EQ(parse_price("2.5"), 2'500'000u);
  EXPECT_EQ(parse_price("10"), 10'000'000u);
  EXPECT_EQ(parse_price("0.075"), 75'000u);
  EXPECT_EQ(parse_price("0.000001"), 1u);
  EXPECT_EQ(parse_price("0"), 0u);
  for (const char* const text : {"", "-1", "1e3", ".5", "5.", "1,5", "0.0000001", "1000001", " 1", "1 ", "NaN"})
    EXPECT_EQ(parse_price(text), std::nullopt) << text;
  EXPECT_EQ(price_text(2'500'000), "$2.50");
  EXPECT_EQ(price_text(75'000), "$0.075");
}

TEST(Prices, OfAnAnswerAreAddedUpPartByPart) {
  // $2 in, $10 out, $0.10 from the cache, $2.50 and $4 into it.
  EXPECT_EQ(cost("anthropic", "claude-sonnet-5-5", {.input = 1'000'000}), 2 * kDollar);
  EXPECT_EQ(cost("anthropic", "claude-sonnet-5-5", {.output = 1'000'000}), 10 * kDollar);
  EXPECT_EQ(cost("anthropic", "claude-sonnet-5-5", {.cache_read = 1'000'000}), kDollar / 10);
  EXPECT_EQ(cost("anthropic", "claude-sonnet-5-5", {.cache_write = 1'000'000}), 2'500'000'000);
  EXPECT_EQ(cost("anthropic", "claude-sonnet-5-5", {.cache_write = 1'000'000, .cache_write_long = 1'000'000}),
            4 * kDollar);
  EXPECT_EQ(cost("anthropic", "claude-sonnet-5-5", {.input = 1}), 2'000u);
  EXPECT_EQ(cost("openai", "gpt-6-luna", {.cache_read = 1}), 10u);
}

TEST(Prices, OfALongPromptHoldForTheWholeRequest) {
  EXPECT_EQ(cost("openai", "gpt-6.1-terra", {.input = 272'000, .output = 1'000}), 272'000 * 1'000u + 1'000 * 5'000u);
  EXPECT_EQ(cost("openai", "gpt-6.1-terra", {.input = 272'001, .output = 1'000}), 272'001 * 2'000u + 1'000 * 7'500u);
  EXPECT_EQ(cost("anthropic", "claude-haiku-5-5", {.input = 1, .output = 10, .cache_read = 100'000}),
            1 * 500u + 10 * 2'500u + 100'000 * 50u);
}

TEST(Prices, AreNotGuessedForAnotherModelOrAnotherSeller) {
  const ModelTable table = ModelTable::embedded();
  for (const char* const name : {"gpt-4o", "gpt-4o-2024-08-06", "gpt-5.4-mini", "gpt-5.4-mini-2026-03-17", "o3"})
    EXPECT_TRUE(table.prices_of("openai", name)) << name;
  // Beginnings of known names, and other models.
  for (const char* const name :
       {"gpt-4o-mini", "gpt-4o-audio-preview", "gpt-5.5-pro", "gpt-5-codex", "gpt-7", "o3-pro"})
    EXPECT_FALSE(table.prices_of("openai", name)) << name;
  EXPECT_TRUE(table.prices_of("anthropic", "claude-haiku-4-5-20251001"));
  EXPECT_TRUE(table.prices_of("google", "models/gemini-3.8-flash"));
  EXPECT_FALSE(table.prices_of("openrouter", "anthropic/claude-haiku-4-5"));
  EXPECT_FALSE(table.prices_of("work", "gpt-4o"));
}

TEST(Prices, OfTheUsersTableHoldWhereverItsEntryIsFound) {
  ModelTable table = ModelTable::embedded();
  const auto done = table.overlay(
      "models:\n"
      "  - pattern: qwen3\n"
      "    window: 32768\n"
      "    prices: {input: 0.2, output: 0.8, tiers: [{above: 16000, input: 0.4, output: 1.6}]}\n"
      "  - pattern: gpt-4o\n"
      "    prices: {input: 1, output: 2, cache_read: 0}\n",
      "models.yaml");
  ASSERT_TRUE(done) << done.error().message;
  const auto own = table.prices_of("work", "qwen3-coder");
  ASSERT_TRUE(own);
  EXPECT_EQ(cost_of(*own, {.input = 1'000, .output = 100}), 1'000 * 200u + 100 * 800u);
  EXPECT_EQ(cost_of(*own, {.input = 16'001}), 16'001 * 400u);
  EXPECT_EQ(cost_of(*own, {.cache_read = 1'000}), 1'000 * 200u) << "what is not said costs what the input costs";
  EXPECT_EQ(cost_of(*table.prices_of("anyone", "gpt-4o-mini"), {.input = 1, .cache_read = 9}), 1'000u);
}

TEST(Prices, OfTheUsersDefaultAndOfEntriesLikeTheirOwn) {
  ModelTable table = ModelTable::embedded();
  const auto done = table.overlay(
      "models:\n  - {pattern: foo, window: 1000, prices: {input: 1, output: 2}}\n"
      "  - {pattern: foo-bar, window: 2000}\ndefault: {prices: {input: 3, output: 4}}\n",
      "models.yaml");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(table.prices_of("p", "foo-bar-1")->rates.input, 1'000'000u);
  EXPECT_EQ(table.prices_of("p", "unheard-of")->rates.input, 3'000'000u);
  EXPECT_FALSE(table.prices_of("openai", "gpt-4o-mini")) << "known, and of another price than its pattern";
}

TEST(Prices, ThatAreWrongAreRefusedWithTheirPlace) {
  const auto refusal = [](const std::string& prices) {
    ModelTable table = ModelTable::embedded();
    const auto done = table.overlay("models:\n  - pattern: x\n    prices: " + prices + "\n", "m.yaml");
    return done ? std::string("accepted") : done.error().message;
  };
  EXPECT_EQ(refusal("{input: 1}"), "m.yaml:3:5: prices need 'input' and 'output': US dollars per million tokens");
  EXPECT_EQ(refusal("{input: 1, output: -2}"),
            "m.yaml:3:24: output must be US dollars per million tokens, like 2.5, not '-2'");
  EXPECT_EQ(refusal("{input: 1, ouput: 2}"), "m.yaml:3:24: unknown key 'ouput': did you mean 'output'?");
  EXPECT_EQ(refusal("5"), "m.yaml:3:5: prices must be a section, not '5'");
  EXPECT_NE(refusal("{input: 1, output: 2, tiers: [{input: 1, output: 2}]}").find("a tier needs 'above'"),
            std::string::npos);
}

TEST(Prices, NeverWrapAround) {
  Prices dear{{UINT64_MAX, UINT64_MAX, 0, 0, 0}};
  EXPECT_EQ(cost_of(dear, {.input = UINT64_MAX, .output = UINT64_MAX}), UINT64_MAX);
}

TEST(Prices, AreToldAsMoney) {
  EXPECT_EQ(money_text(12'300'000), "$0.0123");
  EXPECT_EQ(money_text(1'234'567'890'000), "$1,234.57");
  EXPECT_EQ(money_text(500'000'000), "$0.50");
  EXPECT_EQ(money_text(10), "less than $0.0001");
  EXPECT_EQ(enough_text(19'410'000), "$0.0195");
  EXPECT_EQ(cost_text({}), "");
  EXPECT_EQ(cost_text({.unpriced = 3}), "cost not known");
  EXPECT_EQ(cost_text({.cost_nano_usd = 500'000'000, .unpriced = 1}), "$0.50 and 1 request of unknown price");
}

// Every price is plausible next to its neighbours, and each model that agentd uses by default has one.
TEST(Prices, OfTheBuiltInTableAreWhole) {
  const ModelTable table = ModelTable::embedded();
  for (const ModelInfo& info : table.models()) {
    if (!info.prices) continue;
    const Rates& rates = info.prices->rates;
    EXPECT_GT(rates.output, rates.input) << info.pattern;
    EXPECT_LT(rates.cache_read, rates.input) << info.pattern;
    EXPECT_GE(rates.cache_write, rates.input) << info.pattern;
    EXPECT_GE(rates.cache_write_long, rates.cache_write) << info.pattern;
    for (const Prices::Tier& tier : info.prices->tiers) EXPECT_GT(tier.rates.input, rates.input) << info.pattern;
  }
  for (const auto& [provider, model] : table.defaults()) {
    if (provider == "scripted") continue;
    EXPECT_TRUE(table.prices_of(provider, model)) << model;
    EXPECT_TRUE(table.prices_of(provider, table.find(model).summary_model)) << model;
  }
  EXPECT_FALSE(table.find("scripted").metered);
}

}  // namespace
}  // namespace agentd
