// SPDX-License-Identifier: Apache-2.0
// The account of a day: concurrent spending adds up, and stays below the limit.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "core/account/ledger.h"
#include "core/base/clock.h"

namespace agentd {
namespace {

constexpr const char* kDay = "2026-11-23";

class LedgerTest : public ::testing::Test {
 protected:
  LedgerRow day(const Ledger& ledger) {
    const auto days = ledger.rows(kDay);
    EXPECT_TRUE(days);
    return days && !days->readable.empty() ? days->readable.front() : LedgerRow{};
  }
  ManualClock clock_;
  std::unique_ptr<Store> store_ = make_memory_store(clock_);
};

Spending of(std::uint64_t tokens, std::uint64_t nano_usd, std::string model = "m") {
  return {"p", std::move(model), 1, {.input = tokens, .cost_nano_usd = nano_usd}};
}

TEST_F(LedgerTest, DaysAreThoseOfUtc) {
  EXPECT_EQ(date_of(0), "1970-01-01");
  EXPECT_EQ(date_of(86'399'999), "1970-01-01");
  EXPECT_EQ(date_of(86'400'000), "1970-01-02");
  EXPECT_EQ(date_of(1'795'392'000'000), "2026-11-23");
}

TEST_F(LedgerTest, WhatIsSettledIsBookedByModel) {
  Ledger ledger(*store_, {});
  const Spending spent[] = {of(10, 5), of(7, 3, "n"), of(1, 1)};
  ASSERT_TRUE(ledger.settle(kDay, {}, spent));
  const LedgerRow booked = day(ledger);
  ASSERT_EQ(booked.spent.size(), 2u);
  EXPECT_EQ(booked.spent[0].requests, 2u);
  EXPECT_EQ(booked.spent[0].usage.input, 11u);
  EXPECT_EQ(booked.spent[1].model, "n");
  EXPECT_EQ(booked.total().nano_usd, 9u);
}

TEST_F(LedgerTest, NoMoreIsReservedThanTheDayHasLeft) {
  Ledger ledger(*store_, {.tokens = 100, .nano_usd = 1'000});
  auto first = ledger.reserve(kDay, {10, 100}, {60, 600});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->tokens, 60u);
  const auto second = ledger.reserve(kDay, {10, 100}, {60, 600});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->tokens, 40u) << "as much as there is";
  EXPECT_EQ(second->nano_usd, 400u);
  const auto third = ledger.reserve(kDay, {10, 100}, {60, 600});
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kBusy) << "it may come back";
  EXPECT_NE(third.error().message.find("budget.day_usd"), std::string::npos) << third.error().message;
  // The unused part of the first one is available again.
  const Spending little[] = {of(5, 50)};
  ASSERT_TRUE(ledger.settle(kDay, *first, little));
  EXPECT_TRUE(ledger.reserve(kDay, {10, 100}, {60, 600}));
  // Spent amounts are not.
  const Spending all[] = {of(90, 0)};
  ASSERT_TRUE(ledger.settle(kDay, {}, all));
  const auto never = ledger.reserve(kDay, {10, 100}, {60, 600});
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, Code::kDenied);
}

TEST_F(LedgerTest, ARowThatCannotBeReadReservesNothing) {
  KeyOp put;
  put.key = kDay;
  put.value = "{\"spent\":7}";
  ASSERT_TRUE(store_->commit_keys("agentd spending", {&put, 1}));
  Ledger ledger(*store_, {.tokens = 100});
  const auto refused = ledger.reserve(kDay, {1, 0}, {1, 0});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kCorrupt);
  EXPECT_EQ(store_->get_key("agentd spending", kDay)->value, "{\"spent\":7}") << "left as it is";
}

// 64 sessions draw on one day until it is spent: together never more than the limit, and never much less.
TEST_F(LedgerTest, ManyAtOnceNeverSpendMoreThanTheDayAllows) {
  constexpr std::uint64_t kLimit = 100'000;
  std::atomic<std::uint64_t> spent = 0;
  std::vector<std::thread> sessions;
  for (unsigned i = 0; i < 64; ++i)
    sessions.emplace_back([&, i] {
      Ledger ledger(*store_, {.tokens = kLimit});  // each process has one of its own
      for (unsigned n = 0;; ++n) {
        const auto granted = ledger.reserve(kDay, {50, 0}, {400, 0});
        if (!granted) return;
        EXPECT_LE(day(ledger).total().tokens, kLimit);
        const Spending used[] = {of(granted->tokens - (i + n) % 40, 0)};
        spent += used[0].usage.input;
        EXPECT_TRUE(ledger.settle(kDay, *granted, used));
      }
    });
  for (std::thread& session : sessions) session.join();
  const LedgerRow booked = day(Ledger(*store_, {}));
  EXPECT_EQ(booked.total().tokens, spent.load());
  EXPECT_EQ(booked.reserved.tokens, 0u);
  EXPECT_LE(spent.load(), kLimit);
  EXPECT_GT(spent.load(), kLimit - 64 * 50u);
}

TEST_F(LedgerTest, ADayOfManyModelsStaysSmall) {
  Ledger ledger(*store_, {});
  for (int i = 0; i < 500; ++i) {
    const Spending spent[] = {of(1, 1, "model-" + std::to_string(i))};
    ASSERT_TRUE(ledger.settle(kDay, {}, spent));
  }
  const LedgerRow booked = day(ledger);
  EXPECT_EQ(booked.spent.size(), 201u);
  EXPECT_EQ(booked.total().tokens, 500u);
}

}  // namespace
}  // namespace agentd
