// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/calibration.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace agentd {
namespace {

TEST(Calibration, AModelThatReportedNothingIsTakenAsEstimated) {
  const Calibration calibration("simple");
  EXPECT_DOUBLE_EQ(calibration.factor("m"), 1);
  EXPECT_FALSE(calibration.moved());
}

TEST(Calibration, OneReportGivesItsRatio) {
  Calibration calibration("simple");
  calibration.learn("m", 1'000, 1'500);
  EXPECT_NEAR(calibration.factor("m"), 1.5, 1e-9);
  EXPECT_DOUBLE_EQ(calibration.factor("another"), 1);
  EXPECT_TRUE(calibration.moved());
}

TEST(Calibration, NewerTokensWeighMore) {
  Calibration calibration("simple");
  for (int i = 0; i < 10; ++i) calibration.learn("m", 2'000, 2'000);
  for (int i = 0; i < 4; ++i) calibration.learn("m", 2'000, 4'000);
  EXPECT_GT(calibration.factor("m"), 1.8);
  EXPECT_LT(calibration.factor("m"), 2.0);
}

TEST(Calibration, AShortReportMovesLittle) {
  Calibration calibration("simple");
  for (int i = 0; i < 10; ++i) calibration.learn("m", 2'000, 2'000);
  calibration.learn("m", 200, 800);
  EXPECT_LT(calibration.factor("m"), 1.3);
}

TEST(Calibration, AHugeReportIsForgottenAsFastAsAnyOther) {
  Calibration calibration("simple");
  calibration.learn("m", 1'000'000, 1'000'000);
  for (int i = 0; i < 5; ++i) calibration.learn("m", 2'000, 4'000);
  EXPECT_GT(calibration.factor("m"), 1.8);
}

TEST(Calibration, TinyPromptsTeachNothing) {
  Calibration calibration("simple");
  calibration.learn("m", Calibration::kEstimatedMin - 1, 600);
  EXPECT_DOUBLE_EQ(calibration.factor("m"), 1);
  calibration.learn("m", Calibration::kEstimatedMin, 600);
  EXPECT_NEAR(calibration.factor("m"), 3, 1e-9);
}

TEST(Calibration, ReportsThatCannotBeAboutTheSameTextAreIgnored) {
  Calibration calibration("simple");
  for (const std::uint64_t reported : {0ull, 1ull, 99ull, 9'000ull, 1'000'000'000ull, ~0ull})
    calibration.learn("m", 1'000, reported);
  calibration.learn("m", ~0ull, 1);
  EXPECT_DOUBLE_EQ(calibration.factor("m"), 1);
}

TEST(Calibration, TheFactorStaysWithinItsBounds) {
  Calibration calibration("simple");
  calibration.learn("high", 1'000, 7'900);
  calibration.learn("low", 1'000, 130);
  EXPECT_DOUBLE_EQ(calibration.factor("high"), Calibration::kFactorMax);
  EXPECT_DOUBLE_EQ(calibration.factor("low"), Calibration::kFactorMin);
}

TEST(Calibration, WhatIsWrittenIsReadAgain) {
  Calibration calibration("simple");
  calibration.learn("m", 3'000, 4'500);
  calibration.learn("n\"\n\xc3\xa9", 3'000, 2'000);
  Calibration later("simple");
  ASSERT_TRUE(later.read(calibration.json()));
  EXPECT_NEAR(later.factor("m"), 1.5, 1e-9);
  EXPECT_NEAR(later.factor("n\"\n\xc3\xa9"), 2.0 / 3, 1e-9);
  EXPECT_FALSE(later.moved());
}

TEST(Calibration, AFactorBelongsToItsEstimator) {
  Calibration simple("simple");
  simple.learn("m", 3'000, 4'500);
  Calibration bpe("cl100k_base");
  ASSERT_TRUE(bpe.read(simple.json()));
  EXPECT_DOUBLE_EQ(bpe.factor("m"), 1);
  bpe.learn("m", 3'000, 3'300);
  Calibration both("simple");
  ASSERT_TRUE(both.read(bpe.json()));
  EXPECT_NEAR(both.factor("m"), 1.5, 1e-9) << "the other estimator's factor was lost on the way";
}

TEST(Calibration, LearnedFactorsOverrideReadOnes) {
  Calibration other("simple");
  other.learn("m", 3'000, 6'000);
  other.learn("n", 3'000, 6'000);
  Calibration here("simple");
  here.learn("m", 3'000, 3'300);
  ASSERT_TRUE(here.read(other.json()));
  EXPECT_NEAR(here.factor("m"), 1.1, 1e-9);
  EXPECT_NEAR(here.factor("n"), 2, 1e-9);
  EXPECT_TRUE(here.moved());
}

TEST(Calibration, MoreThanOnePercentCountsAsMoved) {
  Calibration calibration("simple");
  calibration.learn("m", 3'000, 3'000);
  EXPECT_FALSE(calibration.moved()) << "a factor of 1 is what everybody starts with";
  calibration.learn("m", 3'000, 3'020);
  EXPECT_FALSE(calibration.moved());
  calibration.learn("m", 3'000, 3'200);
  EXPECT_TRUE(calibration.moved());
  calibration.saved();
  EXPECT_FALSE(calibration.moved());
}

TEST(Calibration, JsonThatIsNoneIsRefusedAndTakesNothing) {
  Calibration calibration("simple");
  calibration.learn("m", 3'000, 4'500);
  for (const char* const json : {"", "{", "[]", "{}", "null", R"({"v":2,"factors":[]})", R"({"v":1,"factors":{}})"})
    EXPECT_FALSE(calibration.read(json)) << json;
  EXPECT_NEAR(calibration.factor("m"), 1.5, 1e-9);
}

TEST(Calibration, EntriesThatMakeNoSenseAreSkipped) {
  Calibration calibration("simple");
  ASSERT_TRUE(calibration.read(R"({"v":1,"factors":[
    {"model":"a","estimator":"simple","estimated":0,"reported":5},
    {"model":"b","estimator":"simple","estimated":-4,"reported":-5},
    {"model":"c","estimator":"simple","estimated":1e300,"reported":1e300},
    {"model":"d","estimator":"simple","estimated":10,"reported":1e300},
    {"model":"","estimator":"simple","estimated":10,"reported":20},
    {"model":"e","estimated":10,"reported":20}, 5, null,
    {"model":"f","estimator":"simple","estimated":"10","reported":20},
    {"model":"good","estimator":"simple","estimated":10,"reported":20}]})"));
  for (const char* const model : {"a", "b", "c", "d", "", "e", "f"})
    EXPECT_DOUBLE_EQ(calibration.factor(model), 1) << model;
  EXPECT_DOUBLE_EQ(calibration.factor("good"), 2);
}

TEST(Calibration, ModelsWithoutEndDoNotGrowItWithoutEnd) {
  Calibration calibration("simple");
  for (int i = 0; i < 2'000; ++i) calibration.learn("m" + std::to_string(i), 3'000, 4'500);
  EXPECT_LT(calibration.json().size(), 64u * 1024);
}

TEST(Calibration, ManyThreadsMayLearnAtOnce) {
  Calibration calibration("simple");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        calibration.learn("m", 1'000, 2'000);
        (void)calibration.json();
        EXPECT_GE(calibration.factor("m"), 1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_NEAR(calibration.factor("m"), 2, 1e-9);
}

}  // namespace
}  // namespace agentd
