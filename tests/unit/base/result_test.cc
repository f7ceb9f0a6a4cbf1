// SPDX-License-Identifier: Apache-2.0
#include "core/base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

namespace agentd {
namespace {

Result<int> parsed(bool good) {
  if (!good) return Error{Code::kNotFound, "no number"};
  return 7;
}

Result<std::string> doubled(bool good) {
  AGENTD_TRY(const int number, parsed(good));
  return std::to_string(number * 2);
}

Result<void> checked(bool good, int& reached) {
  AGENTD_TRY_VOID(parsed(good));
  ++reached;
  return {};
}

TEST(Result, TryGivesTheValue) { EXPECT_EQ(*doubled(true), "14"); }

TEST(Result, TryReturnsTheErrorUnchanged) {
  const auto result = doubled(false);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kNotFound);
  EXPECT_EQ(result.error().message, "no number");
}

TEST(Result, TryVoidStopsAtTheError) {
  int reached = 0;
  EXPECT_FALSE(checked(false, reached));
  EXPECT_EQ(reached, 0);
  EXPECT_TRUE(checked(true, reached));
  EXPECT_EQ(reached, 1);
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(3));
  const std::unique_ptr<int> taken = std::move(*result);
  EXPECT_EQ(*taken, 3);
}

TEST(Result, ValueOrAnswersForAnError) {
  EXPECT_EQ(parsed(false).value_or(1), 1);
  EXPECT_EQ(parsed(true).value_or(1), 7);
}

TEST(Error, ContextComesFirst) {
  const Error error = Error{Code::kBusy, "held"}.with_context("opening the store");
  EXPECT_EQ(error.message, "opening the store: held");
  EXPECT_EQ(error.code, Code::kBusy);
}

TEST(Error, ErrnoSaysWhatTheCallerCanDo) {
  EXPECT_EQ(errno_error("x", ENOENT).code, Code::kNotFound);
  EXPECT_EQ(errno_error("x", EACCES).code, Code::kDenied);
  EXPECT_EQ(errno_error("x", EISDIR).code, Code::kInvalid);
  EXPECT_EQ(errno_error("x", EBUSY).code, Code::kBusy);
  EXPECT_EQ(errno_error("x", ENOSPC).code, Code::kUnavailable);
  EXPECT_EQ(errno_error("reading /x", ENOENT).message, "reading /x: No such file or directory");
}

TEST(Error, EveryCodeHasANameOfItsOwn) {
  EXPECT_EQ(name_of(Code::kInvalid), "invalid");
  EXPECT_EQ(name_of(Code::kInternal), "internal");
  EXPECT_NE(name_of(Code::kDenied), name_of(Code::kCancelled));
}

TEST(AssertDeathTest, SaysTheConditionAndThePlace) {
  EXPECT_DEATH(AGENTD_ASSERT(1 + 1 == 3), "bug: 1 \\+ 1 == 3 does not hold at .*result_test.cc");
}

}  // namespace
}  // namespace agentd
