// SPDX-License-Identifier: Apache-2.0
// Forks: a new conversation out of the beginning of another one.
#include <atomic>
#include <thread>

#include "tests/contract/store/store_contract.h"

namespace agentd {
namespace {

class StoreForks : public StoreContract {
 protected:
  Result<ConversationInfo> fork(const Ulid& to, std::uint64_t at = 0, const std::string& title = "copy") {
    GenesisRecord genesis;
    genesis.conversation_id = to.text();
    genesis.project_id = "p";
    genesis.cwd = "/w";
    return store_->fork(a_, at, genesis, title);
  }
  // Nine records in four batches: 1-2, 3-5, 6, 7-9.
  void talk() {
    start(a_, "the title");
    clock_.advance(Milliseconds(5));
    ASSERT_OK(store_->append(a_, 2, {{user_message("c"), user_message("d"), user_message("e")}}));
    clock_.advance(Milliseconds(5));
    ASSERT_OK(store_->append(a_, 5, {{user_message("f")}}));
    ASSERT_OK(store_->append(a_, 6, {{user_message("g"), user_message("h"), user_message("i")}}));
    clock_.advance(Milliseconds(1'000));
  }
  GenesisRecord genesis_of(const Ulid& id) {
    const auto all = read_all(*store_, id, 1, 1);
    auto genesis = read_genesis(all.at(0).record);
    EXPECT_OK(genesis);
    return *genesis;
  }
  // Sequence, time, kind, digest and payload of the records first..last.
  std::vector<std::string> copies(const Ulid& id, std::uint64_t first, std::uint64_t last) {
    std::vector<std::string> out;
    for (const StoredRecord& record : read_all(*store_, id, first, last))
      out.push_back(std::to_string(record.seq) + " " + std::to_string(record.time_ms) + " " +
                    std::string(name_of(record.record.type)) + " " + std::to_string(record.record.run) + " " +
                    std::to_string(record.record.turn) + " " + std::to_string(record.record.flags) + " " +
                    hex(record.digest) + " " + record.record.payload);
    return out;
  }
};

TEST_P(StoreForks, ForkAtTheHeadHasEveryRecordAtItsPlaceUnderAGenesisOfItsOwn) {
  talk();
  const auto made = fork(b_);
  ASSERT_OK(made);
  EXPECT_EQ(copies(b_, 2, 9), copies(a_, 2, 9));
  const GenesisRecord genesis = genesis_of(b_);
  EXPECT_EQ(genesis.conversation_id, b_.text());
  EXPECT_EQ(genesis.parent, a_.text());
  EXPECT_EQ(genesis.parent_seq, 9u);
  EXPECT_EQ(genesis.parent_chain, hex(*store_->chain(a_, 9)));
  EXPECT_EQ(made->revision, 10u);
  EXPECT_EQ(read_meta(read_all(*store_, b_, 10).at(0).record)->title, "copy");
  EXPECT_OK(reopened().verify(b_));
  EXPECT_OK(store_->verify(a_));
}

// A summary that its boundary does not follow would be a view that never was.
TEST_P(StoreForks, SequenceInsideOfACompactionIsRefusedWithTheOnesAroundIt) {
  start(a_);
  ASSERT_OK(store_->append(a_, 2, {{user_message("x")}}));
  BoundaryRecord boundary;
  boundary.id = "B";
  boundary.base_seq = 3;
  boundary.summary_seq = 4;
  const Message summary = Message::of_text(Role::kSummary, "short");
  ASSERT_OK(
      store_->append(a_, 3, {{write_message({summary, StopReason::kEndTurn, {}, {}}), write_boundary(boundary)}}));
  const auto refused = fork(b_, 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_NE(refused.error().message.find("use 3, before it, or 5, after it"), std::string::npos)
      << refused.error().message;
  EXPECT_OK(fork(b_, 3));
  EXPECT_OK(fork(id_of(101), 5));
}

TEST_P(StoreForks, ForkAtAnySequenceHoldsWhatTheLogHeldThere) {
  talk();
  for (std::uint8_t at = 1; at <= 9; ++at) {
    SCOPED_TRACE(at);
    const Ulid to = id_of(static_cast<std::uint8_t>(100 + at));
    ASSERT_OK(fork(to, at));
    EXPECT_EQ(copies(to, 2, at), copies(a_, 2, at));
    EXPECT_EQ(store_->info(to)->revision, at + 1u);
    EXPECT_EQ(genesis_of(to).parent_chain, hex(*store_->chain(a_, at)));
    EXPECT_OK(store_->verify(to));
  }
}

TEST_P(StoreForks, ChainAtASequenceIsWhatTheHeadWasWhenTheLogEndedThere) {
  start(a_);
  const Digest then = *store_->chain(a_, 0);
  ASSERT_OK(store_->append(a_, 2, {{user_message("more")}}));
  EXPECT_EQ(*store_->chain(a_, 2), then);
  EXPECT_NE(*store_->chain(a_, 3), then);
  EXPECT_EQ(*store_->chain(a_, 3), *store_->chain(a_, 0));
  EXPECT_NE(*store_->chain(a_, 1), then);
  EXPECT_CODE(Code::kInvalid, store_->chain(a_, 4));
  EXPECT_CODE(Code::kNotFound, store_->chain(b_, 0));
}

TEST_P(StoreForks, IndexOfAForkIsThatOfItsRecords) {
  talk();
  const auto made = fork(b_, 4, "the title (fork)");
  ASSERT_OK(made);
  const auto info = reopened().info(b_);
  ASSERT_OK(info);
  EXPECT_EQ(write_info(*made), write_info(*info));
  EXPECT_EQ(info->title, "the title (fork)");
  EXPECT_EQ(info->messages, 3u);
  EXPECT_EQ(info->parent, a_.text());
  EXPECT_EQ(info->parent_seq, 4u);
  EXPECT_EQ(info->created_ms, clock_.wall_ms());
  EXPECT_EQ(info->updated_ms, clock_.wall_ms());
  EXPECT_TRUE(is_fresh_fork(*info));
  ConversationInfo folded;
  for (const StoredRecord& record : read_all(*store_, b_)) ASSERT_OK(fold(folded, record));
  EXPECT_EQ(write_info(folded), write_info(*info));
}

TEST_P(StoreForks, ForkIsTheNewestChange) {
  talk();
  start(c_);
  ASSERT_OK(fork(b_));
  EXPECT_EQ(listed({}), (std::vector<std::string>{b_.text(), c_.text(), a_.text()}));
  EXPECT_EQ(store_->changes(0, 10)->changed.size(), 3u);
}

TEST_P(StoreForks, ParentAndForkGoOnApart) {
  talk();
  ASSERT_OK(fork(b_));
  ASSERT_OK(store_->append(b_, 10, {{user_message("only in the fork")}}));
  ASSERT_OK(store_->append(a_, 9, {{user_message("only in the parent")}}));
  EXPECT_EQ(text_of(read_all(*store_, b_).back()), "only in the fork");
  EXPECT_EQ(text_of(read_all(*store_, a_).back()), "only in the parent");
  EXPECT_FALSE(is_fresh_fork(*store_->info(b_)));
  EXPECT_OK(reopened().verify(a_));
  EXPECT_OK(store_->verify(b_));
}

TEST_P(StoreForks, ForkOfAForkNamesTheForkAsItsParent) {
  talk();
  ASSERT_OK(fork(b_, 5));
  GenesisRecord genesis;
  genesis.conversation_id = c_.text();
  ASSERT_OK(store_->fork(b_, 0, genesis, "grandchild"));
  EXPECT_EQ(genesis_of(c_).parent, b_.text());
  EXPECT_EQ(copies(c_, 2, 5), copies(a_, 2, 5));
  EXPECT_OK(store_->verify(c_));
}

TEST_P(StoreForks, EitherSideMayBeRemovedAndTheOtherIsWhole) {
  const std::string text(100'000, 's');
  const std::vector<std::string> blobs{"prompt", "prompt"};
  for (const bool parent_first : {true, false}) {
    SCOPED_TRACE(parent_first);
    ASSERT_OK(store_->append(a_, 0, {{genesis(a_), user_message(text), user_message(text)}}, blobs));
    ASSERT_OK(fork(b_));
    const Ulid first = parent_first ? a_ : b_, second = parent_first ? b_ : a_;
    ASSERT_OK(store_->remove(first));
    EXPECT_OK(reopened().verify(second));
    EXPECT_EQ(text_of(read_all(*store_, second).at(1)), text);
    EXPECT_OK(store_->blob(sha256("prompt")));
    ASSERT_OK(store_->remove(second));
    EXPECT_CODE(Code::kNotFound, store_->blob(sha256("prompt")));
    EXPECT_CODE(Code::kNotFound, store_->blob(sha256(user_message(text).payload)));
  }
}

TEST_P(StoreForks, BlobsBehindTheForkAreNotShared) {
  const std::string late(100'000, 'l');
  start(a_);
  ASSERT_OK(store_->append(a_, 2, {{user_message(late)}}));
  ASSERT_OK(fork(b_, 2));
  ASSERT_OK(store_->remove(a_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256(user_message(late).payload)));
  EXPECT_OK(store_->verify(b_));
}

TEST_P(StoreForks, ReceiptsStayWithTheParent) {
  start(a_);
  HookReceipt receipt;
  receipt.hook = "guard";
  ASSERT_OK(store_->append_receipts(a_, {{receipt}}));
  ASSERT_OK(fork(b_));
  int seen = 0;
  ASSERT_OK(store_->receipts(b_, [&](const HookReceipt&) { return ++seen != 0; }));
  EXPECT_EQ(seen, 0);
}

TEST_P(StoreForks, WhatCannotBeForkedIsRefusedAndLeavesNothing) {
  talk();
  EXPECT_CODE(Code::kInvalid, fork(b_, 10));
  EXPECT_CODE(Code::kConflict, fork(a_));
  GenesisRecord genesis;
  genesis.conversation_id = c_.text();
  EXPECT_CODE(Code::kNotFound, store_->fork(b_, 0, genesis, "t"));
  genesis.conversation_id = "no id";
  EXPECT_CODE(Code::kInvalid, store_->fork(a_, 0, genesis, "t"));
  EXPECT_EQ(listed({}), std::vector<std::string>{a_.text()});
  EXPECT_EQ(store_->info(a_)->revision, 9u);
  ASSERT_OK(fork(b_));
  EXPECT_CODE(Code::kConflict, fork(b_, 3));
  EXPECT_EQ(store_->info(b_)->revision, 10u);
}

TEST_P(StoreForks, ParentInUseMayBeForked) {
  talk();
  const auto held = store_->lease(a_);
  ASSERT_OK(held);
  EXPECT_OK(fork(b_));
  EXPECT_OK(store_->lease(b_));
}

TEST_P(StoreForks, ForkOfAConversationThatGrowsIsAMomentOfIt) {
  start(a_);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    // Bounded: a writer without a pause would make every fork longer than the one before.
    for (std::uint64_t at = 2; !stop && at < 1'500; at += 3)
      EXPECT_OK(store_->append(a_, at, {{user_message("x"), user_message("y"), user_message("z")}}));
  });
  for (std::uint8_t i = 0; i < 20; ++i) {
    const Ulid to = id_of(static_cast<std::uint8_t>(100 + i));
    EXPECT_OK(fork(to));
    EXPECT_OK(store_->verify(to));
    // Never half a commit of the parent.
    EXPECT_EQ((store_->info(to)->revision - 1) % 3, 2u);
  }
  stop = true;
  writer.join();
  EXPECT_OK(store_->verify(a_));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreForks, testing::ValuesIn(kStores), name_of_store);

}  // namespace
}  // namespace agentd
