// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/receipt_retention.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/store/lmdb/lmdb_store.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

constexpr std::int64_t kDayMs = 24 * 60 * 60 * 1000;

class Warnings final : public Log {
 public:
  void write(LogLevel level, std::string_view, std::string_view text) override {
    EXPECT_EQ(level, LogLevel::kWarning);
    all.emplace_back(text);
  }
  std::vector<std::string> all;
};

class ReceiptRetentionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    GenesisRecord genesis;
    genesis.conversation_id = Ulid().text();
    ASSERT_TRUE(store_->append(Ulid(), 0, {{write_genesis(genesis)}}));
  }
  void add(std::size_t count, std::int64_t days_ago) {
    HookReceipt receipt;
    receipt.hook = "guard";
    receipt.time_ms = clock_.wall_ms() - days_ago * kDayMs;
    ASSERT_TRUE(store_->append_receipts(Ulid(), std::vector<HookReceipt>(count, receipt)));
  }
  std::uint64_t left() const { return store_->stats()->receipts; }

  ManualClock clock_;
  Warnings log_;
  const std::unique_ptr<Store> store_ = make_memory_store(clock_);
};

TEST_F(ReceiptRetentionTest, ReceiptsAreKeptForThatManyDays) {
  add(3, 91);
  add(2, 89);
  ReceiptRetention retention(*store_, clock_, log_, 90);
  retention.run();
  EXPECT_EQ(left(), 2u);
  EXPECT_TRUE(log_.all.empty());
}

TEST_F(ReceiptRetentionTest, WithZeroDaysAllAreKept) {
  add(3, 10'000);
  ReceiptRetention(*store_, clock_, log_, 0).run();
  EXPECT_EQ(left(), 3u);
}

TEST_F(ReceiptRetentionTest, NextSearchIsAnHourLater) {
  ReceiptRetention retention(*store_, clock_, log_, 90);
  retention.run();
  add(3, 91);
  retention.run();
  EXPECT_EQ(left(), 3u);
  clock_.advance(ReceiptRetention::kPause);
  retention.run();
  EXPECT_EQ(left(), 0u);
}

TEST_F(ReceiptRetentionTest, ManyAreRemovedSomeAtATimeWithoutAPause) {
  add(2 * ReceiptRetention::kAtOnce + 5, 91);
  ReceiptRetention retention(*store_, clock_, log_, 90);
  for (const std::uint64_t expected :
       {std::uint64_t{ReceiptRetention::kAtOnce} + 5, std::uint64_t{5}, std::uint64_t{0}}) {
    retention.run();
    EXPECT_EQ(left(), expected);
  }
}

TEST_F(ReceiptRetentionTest, AFailureIsLoggedAndTriedAgainAfterThePause) {
  testing::TempDir directory;
  LmdbOptions options;
  options.directory = directory.path() + "/store";
  ASSERT_TRUE(open_lmdb_store(options, clock_));
  options.read_only = true;
  const auto read_only = open_lmdb_store(options, clock_);
  ASSERT_TRUE(read_only);
  ReceiptRetention retention(**read_only, clock_, log_, 90);
  retention.run();
  retention.run();
  ASSERT_EQ(log_.all.size(), 1u);
  EXPECT_TRUE(log_.all[0].starts_with("old receipts of hooks could not be removed: the store ")) << log_.all[0];
  clock_.advance(ReceiptRetention::kPause);
  retention.run();
  EXPECT_EQ(log_.all.size(), 2u);
}

}  // namespace
}  // namespace agentd
