// SPDX-License-Identifier: Apache-2.0
// What counts as measured, and the exit code where something is missing.
#include "bench/tally.h"

#include <gtest/gtest.h>

#include <limits>

namespace agentd::bench {
namespace {

// The last line of finish(), behind the program's name, and its exit code before it.
std::string finished(const Tally& tally) {
  ::testing::internal::CaptureStdout();
  const int code = tally.finish();
  std::string text = ::testing::internal::GetCapturedStdout();
  text.pop_back();
  return std::to_string(code) + text.substr(text.rfind(": rows measured"));
}

TEST(Tally, EveryRowOfEveryGroupIsMeasured) {
  Tally tally;
  tally.expect("a", 2);
  tally.expect("b", 1);
  tally.measured("a", {1, 2});
  tally.measured("a", {0.1});
  EXPECT_EQ(finished(tally), "1: rows measured: 2 of 3");
  tally.measured("b", {3});
  EXPECT_EQ(finished(tally), "0: rows measured: 3 of 3");
}

TEST(Tally, ARowOfAnotherGroupDoesNotMakeUpForOne) {
  Tally tally;
  tally.expect("a", 1);
  tally.expect("b", 1);
  tally.measured("a", {1});
  tally.measured("a", {1});
  EXPECT_EQ(finished(tally), "1: rows measured: 2 of 2");
}

TEST(Tally, AFigureOfNothingIsNoMeasurement) {
  for (const double figure :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Tally tally;
    tally.expect("a", 2);
    tally.measured("a", {1});
    tally.measured("a", {1, figure});
    EXPECT_EQ(finished(tally), "1: rows measured: 1 of 2") << figure;
  }
}

TEST(Tally, WhatTheMachineLacksIsLeftOut) {
  Tally tally;
  tally.expect("a", 3);
  tally.measured("a", {1});
  tally.left_out("a", 2, "no such thing here");
  EXPECT_EQ(finished(tally), "0: rows measured: 1 of 3, 2 left out");
}

TEST(Tally, NothingAtAllIsAFailure) {
  Tally tally;
  EXPECT_EQ(finished(tally), "1: rows measured: 0 of 0");
  tally.expect("a", 1);
  tally.left_out("a", 1, "no such thing here");
  EXPECT_EQ(finished(tally), "1: rows measured: 0 of 1, 1 left out");
}

TEST(Tally, AWordIsTakenOutOfTheArguments) {
  char program[] = "bench", once[] = "--once", other[] = "x";
  char* argv[] = {program, once, other, nullptr};
  int argc = 3;
  EXPECT_TRUE(take_word(argc, argv, kOnce));
  ASSERT_EQ(argc, 2);
  EXPECT_STREQ(argv[1], "x");
  EXPECT_EQ(argv[2], nullptr);
  EXPECT_FALSE(take_word(argc, argv, kOnce));
}

}  // namespace
}  // namespace agentd::bench
