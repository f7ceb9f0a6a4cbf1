// SPDX-License-Identifier: Apache-2.0
// What hooks answered, kept beside the log.
#include <atomic>
#include <thread>

#include "core/base/bytes.h"
#include "tests/contract/store/store_contract.h"

namespace agentd {
namespace {

// ---- receipts

HookReceipt receipt(const std::string& hook, const std::string& payload = {}) {
  HookReceipt out;
  out.event_id = "01J0000000000000000000000E";
  out.event = "before_tool_call";
  out.revision = 2;
  out.hook = hook;
  out.payload_digest = sha256(payload);
  if (!payload.empty()) out.payload = std::make_shared<const std::string>(payload);
  return out;
}

std::string hooks_of(const Store& store, const Ulid& id) {
  std::string out;
  EXPECT_OK(store.receipts(id, [&](const HookReceipt& one) {
    out += one.hook + " ";
    return true;
  }));
  return out;
}

TEST_P(StoreContract, ReceiptsComeBackWholeAndInOrder) {
  start(a_);
  HookReceipt first = receipt("guard", "{\"v\":1}");
  first.run = 3;
  first.turn = 4;
  first.attempt = 2;
  first.plugin = "org.test.guard";
  first.kind = "native";
  first.bytes_digest = "abcd";
  first.answer = R"([{"action":"block","text":"no"}])";
  first.effect = AnswerEffect::kBlocked;
  first.note = "a note";
  first.duration_us = 17;
  first.time_ms = 1'700'000'000'123;
  ASSERT_OK(store_->append(a_, 2, {{user_message("x")}}, {}, {{first, receipt("second")}}));
  ASSERT_OK(store_->append_receipts(a_, {{receipt("third")}}));
  std::vector<HookReceipt> all;
  ASSERT_OK(reopened().receipts(a_, [&](const HookReceipt& one) {
    all.push_back(one);
    return true;
  }));
  ASSERT_EQ(all.size(), 3u);
  first.payload_kept = true;
  EXPECT_EQ(write_receipt(all[0]), write_receipt(first));
  EXPECT_EQ(all[0].payload, nullptr);
  EXPECT_FALSE(all[1].payload_kept);
  EXPECT_EQ(all[1].hook + all[2].hook, "secondthird");
  EXPECT_EQ(store_->blob(first.payload_digest).value_or(""), "{\"v\":1}");
}

TEST_P(StoreContract, ReceiptsChangeNeitherRevisionNorChainNorIndex) {
  start(a_);
  start(b_);
  ASSERT_OK(store_->append_receipts(a_, {{receipt("guard", "p")}}));
  EXPECT_EQ(store_->info(a_)->revision, 2u);
  EXPECT_OK(store_->verify(a_));
  EXPECT_EQ(listed({}), (std::vector<std::string>{b_.text(), a_.text()}));
  EXPECT_OK(store_->append(a_, 2, {{user_message("x")}}));
}

TEST_P(StoreContract, ReceiptsOfAnAppendThatFailsAreNotKept) {
  start(a_);
  const std::vector<HookReceipt> receipts{receipt("guard", "payload")};
  EXPECT_CODE(Code::kConflict, store_->append(a_, 7, {{user_message("x")}}, {}, receipts));
  EXPECT_EQ(hooks_of(*store_, a_), "");
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("payload")));
}

TEST_P(StoreContract, ReceiptsNeedAConversationAndAPayloadThatFits) {
  EXPECT_CODE(Code::kNotFound, store_->append_receipts(a_, {{receipt("guard")}}));
  EXPECT_CODE(Code::kNotFound, store_->receipts(a_, [](const HookReceipt&) { return true; }));
  start(a_);
  HookReceipt wrong = receipt("guard", "payload");
  wrong.payload_digest = sha256("another");
  EXPECT_CODE(Code::kInvalid, store_->append_receipts(a_, {{receipt("good"), wrong}}));
  EXPECT_CODE(Code::kInvalid, store_->append(a_, 2, {{user_message("x")}}, {}, {{wrong}}));
  EXPECT_EQ(hooks_of(*store_, a_), "");
  EXPECT_EQ(store_->info(a_)->revision, 2u);
}

TEST_P(StoreContract, ReceiptsOfOneConversationAreNotThoseOfItsNeighbours) {
  for (const Ulid& id : {a_, b_, c_}) start(id);
  ASSERT_OK(store_->append_receipts(c_, {{receipt("of_c")}}));
  ASSERT_OK(store_->append_receipts(a_, {{receipt("of_a")}}));
  EXPECT_EQ(hooks_of(*store_, a_), "of_a ");
  EXPECT_EQ(hooks_of(*store_, b_), "");
  EXPECT_EQ(hooks_of(*store_, c_), "of_c ");
}

TEST_P(StoreContract, VisitOfReceiptsStopsWhenItSaysSo) {
  start(a_);
  ASSERT_OK(store_->append_receipts(a_, {{receipt("one"), receipt("two")}}));
  int seen = 0;
  EXPECT_OK(store_->receipts(a_, [&](const HookReceipt&) { return ++seen > 1; }));
  EXPECT_EQ(seen, 1);
}

TEST_P(StoreContract, ThousandsOfReceiptsAreVisitedOnceEach) {
  start(a_);
  std::vector<HookReceipt> many(3'000, receipt("hook"));
  for (std::size_t i = 0; i < many.size(); ++i) {
    many[i].revision = i;
    many[i].note = std::string(200, 'n');
  }
  ASSERT_OK(store_->append_receipts(a_, many));
  std::uint64_t next = 0;
  ASSERT_OK(store_->receipts(a_, [&](const HookReceipt& one) { return one.revision == next++; }));
  EXPECT_EQ(next, many.size());
}

TEST_P(StoreContract, RemoveTakesReceiptsAndPayloadsThatNobodyElseNames) {
  start(a_);
  start(b_);
  const HookReceipt shared = receipt("x", "shared");
  ASSERT_OK(store_->append_receipts(a_, {{receipt("x", "mine"), shared, shared}}));
  ASSERT_OK(store_->append_receipts(b_, {{shared}}));
  ASSERT_OK(store_->remove(a_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("mine")));
  EXPECT_EQ(store_->blob(sha256("shared")).value_or(""), "shared");
  ASSERT_OK(store_->remove(b_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("shared")));
  start(a_);
  EXPECT_EQ(hooks_of(reopened(), a_), "");
}

TEST_P(StoreContract, ReceiptsFromSeveralThreadsAreAllKept) {
  start(a_);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) EXPECT_OK(store_->append_receipts(a_, {{receipt("x", "same")}}));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hooks_of(*store_, a_).size(), 40u * 2);
  ASSERT_OK(store_->remove(a_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("same")));
}

// ---- retention

constexpr std::int64_t kNow = 1'700'000'000'000;

HookReceipt receipt_at(std::int64_t time_ms, const std::string& hook, const std::string& payload = {}) {
  HookReceipt out = receipt(hook, payload);
  out.time_ms = time_ms;
  return out;
}

TEST_P(StoreContract, OldReceiptsAreRemovedWithTheirPayloads) {
  start(a_);
  start(b_);
  ASSERT_OK(store_->append_receipts(
      a_, {{receipt_at(kNow - 20, "old", "mine"), receipt_at(kNow - 10, "old", "shared"), receipt_at(kNow, "new")}}));
  ASSERT_OK(store_->append_receipts(b_, {{receipt_at(kNow - 1, "old"), receipt_at(kNow + 5, "new", "shared")}}));
  const auto removed = store_->prune_receipts(kNow, 100);
  ASSERT_OK(removed);
  EXPECT_EQ(*removed, 3u);
  Store& again = reopened();
  EXPECT_EQ(hooks_of(again, a_), "new ");
  EXPECT_EQ(hooks_of(again, b_), "new ");
  EXPECT_CODE(Code::kNotFound, again.blob(sha256("mine")));
  EXPECT_EQ(again.blob(sha256("shared")).value_or(""), "shared");
  EXPECT_EQ(again.prune_receipts(kNow, 100).value_or(9), 0u);
  EXPECT_EQ(hooks_of(again, a_), "new ");
}

TEST_P(StoreContract, RetentionChangesNeitherRevisionNorChainNorIndex) {
  start(a_);
  start(b_);
  ASSERT_OK(store_->append(a_, 2, {{user_message("x")}}, {}, {{receipt_at(kNow - 1, "old")}}));
  const std::uint64_t cursor = store_->changes(0, 10)->next;
  const Digest chain = store_->chain(a_, 0).value_or(Digest{});
  ASSERT_EQ(store_->prune_receipts(kNow, 100).value_or(0), 1u);
  EXPECT_EQ(store_->info(a_)->revision, 3u);
  EXPECT_EQ(store_->chain(a_, 0).value_or(Digest{}), chain);
  EXPECT_OK(store_->verify(a_));
  EXPECT_TRUE(store_->changes(cursor, 10)->changed.empty());
  EXPECT_EQ(hooks_of(*store_, a_), "");
  EXPECT_OK(store_->append(a_, 3, {{user_message("y")}}));
}

TEST_P(StoreContract, RetentionRemovesAtMostAsManyAsItIsTold) {
  start(a_);
  start(b_);
  for (const Ulid& id : {a_, b_})
    ASSERT_OK(store_->append_receipts(
        id, {{receipt_at(1, "one"), receipt_at(2, "two"), receipt_at(3, "three"), receipt_at(kNow, "new")}}));
  EXPECT_EQ(store_->prune_receipts(kNow, 2).value_or(0), 2u);
  EXPECT_EQ(hooks_of(*store_, a_), "three new ");
  EXPECT_EQ(store_->prune_receipts(kNow, 2).value_or(0), 2u);
  EXPECT_EQ(hooks_of(*store_, a_), "new ");
  EXPECT_EQ(hooks_of(*store_, b_), "two three new ");
  EXPECT_EQ(store_->prune_receipts(kNow, 2).value_or(0), 2u);
  EXPECT_EQ(store_->prune_receipts(kNow, 2).value_or(9), 0u);
  EXPECT_EQ(hooks_of(*store_, b_), "new ");
}

TEST_P(StoreContract, ReceiptsFollowThoseThatRetentionLeaves) {
  start(a_);
  ASSERT_OK(store_->append_receipts(a_, {{receipt_at(1, "one"), receipt_at(kNow, "two")}}));
  ASSERT_EQ(store_->prune_receipts(kNow, 9).value_or(0), 1u);
  ASSERT_OK(store_->append_receipts(a_, {{receipt_at(kNow + 1, "three")}}));
  EXPECT_EQ(hooks_of(reopened(), a_), "two three ");
  ASSERT_EQ(store_->prune_receipts(kNow + 2, 9).value_or(0), 2u);
  ASSERT_OK(store_->append_receipts(a_, {{receipt_at(kNow + 3, "four", "payload")}}));
  EXPECT_EQ(hooks_of(reopened(), a_), "four ");
  ASSERT_OK(store_->remove(a_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("payload")));
}

// Receipts of one conversation have no gap, whatever a clock did.
TEST_P(StoreContract, AnOldReceiptBehindANewerOneIsKeptUntilThatGoes) {
  start(a_);
  ASSERT_OK(store_->append_receipts(a_, {{receipt_at(1, "a"), receipt_at(kNow, "b"), receipt_at(2, "c")}}));
  EXPECT_EQ(store_->prune_receipts(kNow, 9).value_or(0), 1u);
  EXPECT_EQ(hooks_of(*store_, a_), "b c ");
  EXPECT_EQ(store_->prune_receipts(kNow + 1, 9).value_or(0), 2u);
  EXPECT_EQ(hooks_of(*store_, a_), "");
}

TEST_P(StoreContract, StatsCountReceiptsFromTheOldestOn) {
  EXPECT_EQ(store_->stats()->receipts, 0u);
  EXPECT_EQ(store_->stats()->oldest_receipt_ms, 0);
  start(a_);
  start(b_);
  ASSERT_OK(store_->append_receipts(a_, {{receipt_at(kNow, "x"), receipt_at(kNow + 2, "x")}}));
  ASSERT_OK(store_->append_receipts(b_, {{receipt_at(kNow - 7, "x")}}));
  EXPECT_EQ(reopened().stats()->receipts, 3u);
  EXPECT_EQ(store_->stats()->oldest_receipt_ms, kNow - 7);
  ASSERT_OK(store_->prune_receipts(kNow, 9));
  EXPECT_EQ(store_->stats()->receipts, 2u);
  EXPECT_EQ(store_->stats()->oldest_receipt_ms, kNow);
}

TEST_P(StoreContract, RetentionFromSeveralThreadsRemovesEachOnce) {
  start(a_);
  std::vector<HookReceipt> many(400, receipt_at(1, "old", "same"));
  many.resize(500, receipt_at(kNow, "new", "same"));
  ASSERT_OK(store_->append_receipts(a_, many));
  std::atomic<std::uint64_t> removed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) removed += store_->prune_receipts(kNow, 50).value_or(1'000'000);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(removed, 400u);
  EXPECT_EQ(hooks_of(*store_, a_).size(), 100u * 4);
  EXPECT_EQ(store_->blob(sha256("same")).value_or(""), "same");
  EXPECT_EQ(store_->prune_receipts(kNow + 1, 1'000).value_or(0), 100u);
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("same")));
}

}  // namespace
}  // namespace agentd
