// SPDX-License-Identifier: Apache-2.0
// The reports of a provider that are used, and what they say about tokens that were not sent.
#include "core/tokens/reports.h"

#include <gtest/gtest.h>

namespace agentd {
namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};
constexpr std::uint64_t kWindow = 200'000;

bool believed(std::uint64_t input, std::uint64_t estimated, std::uint64_t output = 1) {
  return can_be_true(Usage{input, output, 0, 0, 0, 0}, estimated, kWindow);
}

TEST(Reports, NothingReadIsNoReport) {
  EXPECT_FALSE(believed(0, 1'000));
  EXPECT_FALSE(believed(0, 0));
}

TEST(Reports, LessThanAQuarterOfWhatWasSentIsNone) {
  EXPECT_FALSE(believed(249, 1'000));
  EXPECT_TRUE(believed(250, 1'000));
  EXPECT_FALSE(believed(1, kMost));
}

TEST(Reports, MuchMoreThanWasSentIsOneInsideTheWindowOnly) {
  EXPECT_TRUE(believed(kWindow, 500));
  EXPECT_FALSE(believed(kWindow + 1, 500));
  EXPECT_TRUE(believed(700'000, 180'000)) << "the table may be wrong about the window";
  EXPECT_FALSE(believed(800'000, 180'000));
  EXPECT_FALSE(believed(kMost, 180'000));
}

TEST(Reports, AnAnswerLongerThanTheWindowMakesItNone) {
  EXPECT_TRUE(believed(1'000, 1'000, kWindow));
  EXPECT_FALSE(believed(1'000, 1'000, kMost));
}

TEST(Reports, SumsThatWouldWrapAreAsLargeAsCanBe) {
  const Usage wraps{kMost, 1, kMost, 2, 0, 0};
  EXPECT_EQ(wraps.prompt_tokens(), kMost);
  EXPECT_EQ(wraps.total(), kMost);
  EXPECT_FALSE(can_be_true(wraps, 1'000, kWindow));
  Usage sum = wraps;
  sum += wraps;
  EXPECT_EQ(sum.input, kMost);
  EXPECT_EQ(sum.cache_write, 4u);
}

TEST(Reports, WhatNothingExplainsWasAdded) {
  EXPECT_EQ(unexplained_tokens(60'500, 500, 0), 60'000u);
  EXPECT_EQ(unexplained_tokens(100'000, 40'000, 0), 60'000u);
}

TEST(Reports, WhatAnEstimateMayBeOffIsNotAdded) {
  EXPECT_EQ(unexplained_tokens(1'000, 500, 0), 0u);
  EXPECT_EQ(unexplained_tokens(50'000, 40'000, 0), 0u);
  EXPECT_EQ(unexplained_tokens(30'000, 40'000, 0), 0u);
}

TEST(Reports, WhatAnEstimateMayBeOffOnlyLowersWhatWasThoughtToBeAdded) {
  EXPECT_EQ(unexplained_tokens(50'000, 40'000, 30'000), 10'000u);
  EXPECT_EQ(unexplained_tokens(50'000, 40'000, 2'000), 2'000u);
  EXPECT_EQ(unexplained_tokens(40'000, 40'000, 2'000), 0u);
}

// The server has not read a request's end, as Ollama does with prompts longer than num_ctx.
TEST(Reports, ACutPromptIsSeen) {
  EXPECT_TRUE(is_cut(4'096, 30'000, false));
  EXPECT_TRUE(is_cut(4'096, 8'000, true));
  EXPECT_FALSE(is_cut(4'096, 8'000, false));  // an estimate may be that far off
  EXPECT_FALSE(is_cut(4'096, 6'000, true));
  EXPECT_FALSE(is_cut(200, 1'000, false));
  EXPECT_FALSE(is_cut(0, 30'000, true));  // nothing was reported
  EXPECT_FALSE(is_cut(25, 30'000, true));
}

}  // namespace
}  // namespace agentd
