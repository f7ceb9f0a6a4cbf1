// SPDX-License-Identifier: Apache-2.0
// What hooks answered, kept beside the log.
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

}  // namespace
}  // namespace agentd
