// SPDX-License-Identifier: Apache-2.0
// What may be appended, and how it is read back.
#include <atomic>
#include <thread>

#include "core/base/bytes.h"
#include "tests/contract/store/store_contract.h"

namespace agentd {
namespace {

// ---- append and read

TEST_P(StoreContract, AppendReturnsSequencesTimesAndDigests) {
  const auto appended = store_->append(a_, 0, opening(a_));
  ASSERT_OK(appended);
  ASSERT_EQ(appended->size(), 2u);
  EXPECT_EQ((*appended)[0].seq, 1u);
  EXPECT_EQ((*appended)[1].seq, 2u);
  EXPECT_EQ((*appended)[1].time_ms, clock_.wall_ms());
  EXPECT_EQ((*appended)[1].digest, sha256((*appended)[1].record.payload));
}

TEST_P(StoreContract, ReadGivesBackWhatWasAppended) {
  Record record = user_message("second");
  record.run = 3;
  record.turn = 4;
  record.version = 2;
  start(a_);
  clock_.advance(Milliseconds(5));
  ASSERT_OK(store_->append(a_, 2, {{record}}));
  const auto all = read_all(reopened(), a_);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].seq, 3u);
  EXPECT_EQ(all[2].time_ms, clock_.wall_ms());
  EXPECT_EQ(all[2].digest, sha256(record.payload));
  EXPECT_EQ(all[2].record.payload, record.payload);
  EXPECT_EQ(all[2].record.type, record.type);
  EXPECT_EQ(all[2].record.version, 2);
  EXPECT_EQ(all[2].record.flags, record.flags);
  EXPECT_EQ(all[2].record.run, 3u);
  EXPECT_EQ(all[2].record.turn, 4u);
}

TEST_P(StoreContract, ReadsAnyRangeAcrossBatches) {
  start(a_);
  for (std::uint64_t revision = 2; revision < 20; revision += 3)
    ASSERT_OK(store_->append(a_, revision, {{user_message("x"), user_message("y"), user_message("z")}}));
  for (std::uint64_t first = 1; first <= 20; ++first)
    for (std::uint64_t last = first; last <= 20; ++last) {
      const auto range = read_all(*store_, a_, first, last);
      ASSERT_EQ(range.size(), last - first + 1);
      for (std::size_t i = 0; i < range.size(); ++i) ASSERT_EQ(range[i].seq, first + i);
    }
}

TEST_P(StoreContract, ReadsNothingAfterTheHead) {
  start(a_);
  EXPECT_TRUE(read_all(*store_, a_, 3).empty());
  EXPECT_EQ(read_all(*store_, a_, 2, 99).size(), 1u);
}

TEST_P(StoreContract, ReadStopsWhenTheVisitorSaysSo) {
  start(a_);
  int seen = 0;
  ASSERT_OK(store_->read(a_, 1, 0, [&](const StoredRecord&) { return ++seen < 1; }));
  EXPECT_EQ(seen, 1);
}

TEST_P(StoreContract, VisitorMayUseTheStore) {
  start(a_);
  std::uint64_t revision = 2;
  ASSERT_OK(store_->read(a_, 1, 0, [&](const StoredRecord&) {
    EXPECT_OK(store_->append(a_, revision++, {{user_message("more")}}));
    return true;
  }));
  EXPECT_EQ(read_all(*store_, a_).size(), 4u);
}

TEST_P(StoreContract, ReadsALogThatIsLongerThanOneCopy) {
  start(a_);
  const std::string text(30'000, 'x');
  for (std::uint64_t i = 2; i < 42; ++i) ASSERT_OK(store_->append(a_, i, {{user_message(text + std::to_string(i))}}));
  const auto all = read_all(*store_, a_);
  ASSERT_EQ(all.size(), 42u);
  for (std::uint64_t i = 2; i < 42; ++i) EXPECT_EQ(text_of(all[i]), text + std::to_string(i));
  EXPECT_OK(store_->verify(a_));
}

TEST_P(StoreContract, KeepsConversationsApart) {
  start(a_, "one");
  start(c_, "three");
  EXPECT_EQ(text_of(read_all(*store_, a_)[1]), "one");
  EXPECT_EQ(text_of(read_all(*store_, c_)[1]), "three");
  EXPECT_CODE(Code::kNotFound, store_->read(b_, 1, 0, [](const StoredRecord&) { return true; }));
}

TEST_P(StoreContract, StaleRevisionIsAConflictAndWritesNothing) {
  start(a_);
  for (const std::uint64_t wrong : {1u, 3u, 9u}) {
    const std::vector<std::string> blobs{"blob" + std::to_string(wrong)};
    EXPECT_CODE(Code::kConflict, store_->append(a_, wrong, {{user_message("no")}}, blobs));
    EXPECT_CODE(Code::kNotFound, store_->blob(sha256(blobs[0])));
  }
  EXPECT_CODE(Code::kConflict, store_->append(a_, 0, opening(a_)));
  EXPECT_EQ(read_all(reopened(), a_).size(), 2u);
  EXPECT_EQ(store_->info(a_)->revision, 2u);
}

TEST_P(StoreContract, ConflictNamesBothRevisions) {
  start(a_);
  const auto conflict = store_->append(a_, 7, {{user_message("no")}});
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().message, "conversation " + a_.text() + " is at revision 2, not 7: read it again");
}

TEST_P(StoreContract, AppendToAMissingConversationIsAConflict) {
  EXPECT_CODE(Code::kConflict, store_->append(a_, 5, {{user_message("x")}}));
}

TEST_P(StoreContract, FirstRecordIsAGenesisOfThisConversation) {
  EXPECT_CODE(Code::kInvalid, store_->append(a_, 0, {{user_message("x")}}));
  EXPECT_CODE(Code::kInvalid, store_->append(a_, 0, {{genesis(b_)}}));
  start(a_);
  EXPECT_CODE(Code::kInvalid, store_->append(a_, 2, {{genesis(a_)}}));
  EXPECT_CODE(Code::kInvalid, store_->append(b_, 0, {{genesis(b_), genesis(b_)}}));
}

TEST_P(StoreContract, RefusesAnEmptyAppend) { EXPECT_CODE(Code::kInvalid, store_->append(a_, 0, {})); }

TEST_P(StoreContract, ARecordThatDoesNotReadLeavesNothingOfItsAppend) {
  start(a_);
  Record broken = user_message("x");
  broken.type = RecordType::kUsage;
  broken.payload = "{ no json";
  const std::vector<std::string> blobs{"attached"};
  EXPECT_CODE(Code::kInvalid, store_->append(a_, 2, {{user_message("good"), broken}}, blobs));
  EXPECT_EQ(read_all(*store_, a_).size(), 2u);
  EXPECT_EQ(store_->info(a_)->messages, 1u);
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("attached")));
  EXPECT_CODE(Code::kInvalid, store_->append(b_, 0, {{genesis(b_), broken}}));
  EXPECT_CODE(Code::kNotFound, store_->info(b_));
}

TEST_P(StoreContract, UnknownRecordTypesAreKept) {
  start(a_);
  Record unknown;
  unknown.type = static_cast<RecordType>(4711);
  unknown.version = 9;
  unknown.payload = "{\"future\":true}";
  ASSERT_OK(store_->append(a_, 2, {{unknown}}));
  const auto all = read_all(reopened(), a_);
  EXPECT_EQ(static_cast<int>(all.at(2).record.type), 4711);
  EXPECT_EQ(all.at(2).record.payload, unknown.payload);
}

TEST_P(StoreContract, OneWinnerAmongThreadsThatRace) {
  start(a_);
  std::atomic<int> won{0}, conflicts{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t revision = 2; revision < 27; ++revision) {
        const auto done = store_->append(a_, revision, {{user_message("by " + std::to_string(t))}});
        if (done) ++won;
        if (!done && done.error().code == Code::kConflict) ++conflicts;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(read_all(*store_, a_).size(), 2u + static_cast<unsigned>(won));
  EXPECT_EQ(won + conflicts, 100);
  EXPECT_OK(store_->verify(a_));
}

// ---- durability

TEST_P(StoreContract, WhatWasAcknowledgedIsThereAfterReopening) {
  start(a_, "title");
  const std::vector<std::string> blobs{"system prompt"};
  ASSERT_OK(store_->append(a_, 2, {{user_message("two")}}, blobs));
  const std::uint64_t version = put("k", "v");
  Store& again = reopened();
  EXPECT_EQ(read_all(again, a_).size(), 3u);
  EXPECT_EQ(again.info(a_)->title, "title");
  EXPECT_EQ(again.blob(sha256("system prompt")).value_or(""), "system prompt");
  EXPECT_EQ(again.get_key("plugin", "k")->value, "v");
  EXPECT_EQ(again.get_key("plugin", "k")->version, version);
  EXPECT_EQ(again.changes(0, 10)->changed.size(), 1u);
  EXPECT_OK(again.verify(a_));
  EXPECT_OK(again.append(a_, 3, {{user_message("three")}}));
}

// ---- blobs

TEST_P(StoreContract, LongPayloadsMoveToBlobsUnseen) {
  start(a_);
  const Record at_limit = [] {
    Record record = user_message("");
    record.type = RecordType::kAssistantMessage;
    record.payload = "{\"blocks\":[],\"x\":\"" + std::string(64 * 1024 - 20, 'x') + "\"}";
    return record;
  }();
  ASSERT_EQ(at_limit.payload.size(), 64u * 1024);
  Record over = at_limit;
  over.payload.insert(20, "x");
  ASSERT_OK(store_->append(a_, 2, {{at_limit, over, user_message("small")}}));
  const auto all = read_all(reopened(), a_);
  EXPECT_EQ(all.at(2).record.payload, at_limit.payload);
  EXPECT_EQ(all.at(3).record.payload, over.payload);
  EXPECT_EQ(all.at(3).record.flags, over.flags);
  EXPECT_EQ(text_of(all.at(4)), "small");
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256(at_limit.payload)));
  EXPECT_EQ(store_->blob(sha256(over.payload)).value_or(""), over.payload);
  EXPECT_OK(store_->verify(a_));
}

TEST_P(StoreContract, CallersCannotClaimThatAPayloadIsABlob) {
  start(a_);
  Record record = user_message("text");
  record.flags |= Record::kBlob;
  const auto appended = store_->append(a_, 2, {{record}});
  ASSERT_OK(appended);
  EXPECT_EQ((*appended)[0].record.flags & Record::kBlob, 0);
  EXPECT_EQ(text_of(read_all(*store_, a_).at(2)), "text");
}

TEST_P(StoreContract, EmptyAndRepeatedBlobsAreFine) {
  const std::vector<std::string> blobs{"", "same", "same"};
  ASSERT_OK(store_->append(a_, 0, opening(a_), blobs));
  EXPECT_EQ(store_->blob(sha256("")).value_or("?"), "");
  EXPECT_EQ(store_->blob(sha256("same")).value_or("?"), "same");
  ASSERT_OK(store_->remove(a_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("same")));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("")));
}

TEST_P(StoreContract, MissingBlobIsNotFound) {
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("nobody stored this")));
}

// ---- chain and numbers

TEST_P(StoreContract, VerifyAcceptsALongChain) {
  start(a_);
  for (std::uint64_t i = 2; i < 60; ++i) ASSERT_OK(store_->append(a_, i, {{user_message("m")}}));
  EXPECT_OK(reopened().verify(a_));
}

TEST_P(StoreContract, StatsCountConversations) {
  EXPECT_EQ(store_->stats()->conversations, 0u);
  start(a_);
  start(b_);
  const auto stats = store_->stats();
  ASSERT_OK(stats);
  EXPECT_EQ(stats->conversations, 2u);
  EXPECT_GT(stats->bytes, 0u);
  EXPECT_EQ(stats->format, 1u);
  EXPECT_EQ(stats->path.empty(), GetParam() == Kind::kMemory);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::ValuesIn(kStores), name_of_store);

}  // namespace
}  // namespace agentd
