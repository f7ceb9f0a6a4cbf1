// SPDX-License-Identifier: Apache-2.0
// Every promise of core/store/store.h, for every store.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "core/base/bytes.h"
#include "tests/unit/store/store_support.h"

namespace agentd {
namespace {

using test::genesis;
using test::id_of;
using test::opening;
using test::read_all;
using test::text_of;
using test::user_message;

enum class Kind { kMemory, kLmdb };

class StoreContract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { store_ = make(); }

  std::unique_ptr<Store> make() {
    if (GetParam() == Kind::kMemory) return make_memory_store(clock_);
    LmdbOptions options;
    options.directory = dir_ / "store";
    return test::open_store(options, clock_);
  }
  // The same store after everything in memory is gone; a store in memory stays.
  Store& reopened() {
    if (GetParam() == Kind::kLmdb) {
      store_.reset();
      store_ = make();
    }
    return *store_;
  }
  void start(const Ulid& id, const std::string& title = "hello", const std::string& project = "p") {
    ASSERT_OK(store_->append(id, 0, opening(id, title, project)));
  }
  std::vector<std::string> listed(const ConversationQuery& query) {
    std::vector<std::string> out;
    auto list = store_->list(query);
    EXPECT_OK(list);
    if (list)
      for (const ConversationInfo& info : *list) out.push_back(info.id);
    return out;
  }
  std::uint64_t put(const std::string& key, const std::string& value,
                    const std::string& space = "plugin") {
    const std::vector<KeyOp> ops{{KeyOp::Kind::kPut, key, value, KeyOp::kAny}};
    auto version = store_->commit_keys(space, ops);
    EXPECT_OK(version);
    return version.value_or(0);
  }
  Result<std::uint64_t> commit(const std::vector<KeyOp>& ops) {
    return store_->commit_keys("plugin", ops);
  }

  test::TempDir dir_;
  ManualClock clock_;
  std::unique_ptr<Store> store_;
  const Ulid a_ = id_of(1), b_ = id_of(2), c_ = id_of(3);
};

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
    ASSERT_OK(
        store_->append(a_, revision, {{user_message("x"), user_message("y"), user_message("z")}}));
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
  for (std::uint64_t i = 2; i < 42; ++i)
    ASSERT_OK(store_->append(a_, i, {{user_message(text + std::to_string(i))}}));
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
  EXPECT_EQ(conflict.error().message,
            "conversation " + a_.text() + " is at revision 2, not 7: read it again");
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

TEST_P(StoreContract, RefusesAnEmptyAppend) {
  EXPECT_CODE(Code::kInvalid, store_->append(a_, 0, {}));
}

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
  first.effect = "blocked";
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

// ---- remove

TEST_P(StoreContract, RemoveTakesLogIndexAndChanges) {
  start(a_);
  start(b_);
  ASSERT_OK(store_->remove(a_));
  Store& again = reopened();
  EXPECT_CODE(Code::kNotFound, again.info(a_));
  EXPECT_CODE(Code::kNotFound, again.verify(a_));
  EXPECT_CODE(Code::kNotFound, again.read(a_, 1, 0, [](const StoredRecord&) { return true; }));
  EXPECT_CODE(Code::kNotFound, again.remove(a_));
  EXPECT_EQ(listed({}), std::vector<std::string>{b_.text()});
  EXPECT_EQ(again.changes(0, 10)->changed.size(), 1u);
  EXPECT_OK(again.verify(b_));
}

TEST_P(StoreContract, RemoveKeepsBlobsThatAnotherConversationNames) {
  const std::string shared(100'000, 's');
  Record long_message = user_message(shared);
  const std::vector<std::string> blobs{"prompt", "only a"};
  const std::vector<std::string> prompt{"prompt"};
  ASSERT_OK(store_->append(a_, 0, {{genesis(a_), long_message}}, blobs));
  ASSERT_OK(store_->append(b_, 0, {{genesis(b_), long_message}}, prompt));
  ASSERT_OK(store_->remove(a_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("only a")));
  EXPECT_OK(store_->blob(sha256("prompt")));
  EXPECT_EQ(text_of(read_all(*store_, b_).at(1)), shared);
  ASSERT_OK(store_->remove(b_));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256("prompt")));
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256(long_message.payload)));
}

TEST_P(StoreContract, RemoveIsBusyWhileTheLeaseIsHeld) {
  start(a_);
  {
    const auto lease = store_->lease(a_);
    ASSERT_OK(lease);
    EXPECT_CODE(Code::kBusy, store_->remove(a_));
    EXPECT_OK(store_->info(a_));
  }
  EXPECT_OK(store_->remove(a_));
}

TEST_P(StoreContract, RemovedConversationCanBeMadeAgain) {
  start(a_, "first life");
  ASSERT_OK(store_->remove(a_));
  start(a_, "second life");
  EXPECT_EQ(read_all(*store_, a_).size(), 2u);
  EXPECT_EQ(store_->info(a_)->title, "second life");
}

// ---- leases

TEST_P(StoreContract, LeaseIsExclusivePerConversation) {
  auto first = store_->lease(a_);
  ASSERT_OK(first);
  const auto second = store_->lease(a_);
  EXPECT_CODE(Code::kBusy, second);
  EXPECT_NE(second.error().message.find("conversation " + a_.text() + " is in use by"),
            std::string::npos);
  EXPECT_OK(store_->lease(b_));
  first->reset();
  EXPECT_OK(store_->lease(a_));
}

TEST_P(StoreContract, LeaseMayOutliveItsStore) {
  auto lease = store_->lease(a_);
  ASSERT_OK(lease);
  store_.reset();
  lease->reset();
  store_ = make();
  EXPECT_OK(store_->lease(a_));
}

// ---- the index

TEST_P(StoreContract, InfoFollowsTheLog) {
  start(a_, "a title", "project");
  clock_.advance(Milliseconds(1000));
  UsageRecord usage;
  usage.usage.input = 10;
  usage.usage.output = 5;
  ASSERT_OK(store_->append(a_, 2, {{user_message("more"), write_usage(usage)}}));
  ASSERT_OK(store_->append(a_, 4, {{write_usage(usage)}}));
  const auto info = reopened().info(a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->id, a_.text());
  EXPECT_EQ(info->title, "a title");
  EXPECT_EQ(info->project_id, "project");
  EXPECT_EQ(info->cwd, "/w");
  EXPECT_EQ(info->revision, 5u);
  EXPECT_EQ(info->messages, 2u);
  EXPECT_EQ(info->usage.input, 20u);
  EXPECT_EQ(info->created_ms + 1000, info->updated_ms);
}

TEST_P(StoreContract, InfoOfAMissingConversationIsNotFound) {
  const auto info = store_->info(a_);
  EXPECT_CODE(Code::kNotFound, info);
  EXPECT_EQ(info.error().message, "there is no conversation " + a_.text());
}

TEST_P(StoreContract, ListsTheNewestUpdateFirst) {
  for (const Ulid& id : {a_, b_, c_}) {
    clock_.advance(Milliseconds(1));
    start(id);
  }
  clock_.advance(Milliseconds(1));
  ASSERT_OK(store_->append(a_, 2, {{user_message("again")}}));
  EXPECT_EQ(listed({}), (std::vector<std::string>{a_.text(), c_.text(), b_.text()}));
}

TEST_P(StoreContract, ListFiltersByProjectTextAndTime) {
  start(a_, "Fix the Parser", "one");
  clock_.advance(Milliseconds(100));
  const std::int64_t middle = clock_.wall_ms();
  start(b_, "write docs", "two");
  clock_.advance(Milliseconds(100));
  start(c_, "parse tables", "two");
  ConversationQuery query;
  query.project_id = "two";
  EXPECT_EQ(listed(query), (std::vector<std::string>{c_.text(), b_.text()}));
  query.text = "PARSE";
  EXPECT_EQ(listed(query), std::vector<std::string>{c_.text()});
  query.project_id.clear();
  EXPECT_EQ(listed(query), (std::vector<std::string>{c_.text(), a_.text()}));
  query.text = a_.text().substr(20);
  EXPECT_EQ(listed(query), std::vector<std::string>{a_.text()});
  query.text.clear();
  query.since_ms = middle;
  EXPECT_EQ(listed(query), (std::vector<std::string>{c_.text(), b_.text()}));
  query.until_ms = middle;
  EXPECT_EQ(listed(query), std::vector<std::string>{b_.text()});
  query.project_id = "nobody's";
  EXPECT_TRUE(listed(query).empty());
}

TEST_P(StoreContract, ListPagesWithoutGapsOrRepeats) {
  for (std::uint8_t i = 1; i <= 25; ++i) start(id_of(i), "t", i % 2 == 0 ? "even" : "odd");
  ConversationQuery query;
  query.limit = 3;
  query.project_id = "odd";
  std::vector<std::string> all;
  for (std::vector<std::string> page = listed(query); !page.empty(); page = listed(query)) {
    EXPECT_LE(page.size(), 3u);
    all.insert(all.end(), page.begin(), page.end());
    query.after = page.back();
  }
  ASSERT_EQ(all.size(), 13u);
  for (std::uint8_t i = 0; i < 13; ++i)
    EXPECT_EQ(all[i], id_of(static_cast<std::uint8_t>(25 - 2 * i)).text());
}

TEST_P(StoreContract, ListAfterSomethingThatIsNoneIsAnError) {
  ConversationQuery query;
  query.after = "not an id";
  EXPECT_CODE(Code::kInvalid, store_->list(query));
  query.after = a_.text();
  EXPECT_CODE(Code::kNotFound, store_->list(query));
}

TEST_P(StoreContract, ListOfAnEmptyStoreIsEmpty) { EXPECT_TRUE(listed({}).empty()); }

// ---- changes

TEST_P(StoreContract, ChangesTellEachConversationOnceOldestFirst) {
  start(a_);
  start(b_);
  ASSERT_OK(store_->append(a_, 2, {{user_message("x")}}));
  const auto changes = store_->changes(0, 10);
  ASSERT_OK(changes);
  ASSERT_EQ(changes->changed.size(), 2u);
  EXPECT_EQ(changes->changed[0].id, b_.text());
  EXPECT_EQ(changes->changed[1].id, a_.text());
  EXPECT_EQ(changes->changed[1].revision, 3u);
  const auto none = store_->changes(changes->next, 10);
  ASSERT_OK(none);
  EXPECT_TRUE(none->changed.empty());
  EXPECT_EQ(none->next, changes->next);
}

TEST_P(StoreContract, ChangesGoOnWhereTheCursorStands) {
  for (std::uint8_t i = 1; i <= 7; ++i) start(id_of(i));
  std::vector<std::string> seen;
  std::uint64_t cursor = 0;
  for (;;) {
    const auto page = store_->changes(cursor, 3);
    ASSERT_OK(page);
    if (page->changed.empty()) break;
    EXPECT_LE(page->changed.size(), 3u);
    for (const ConversationInfo& info : page->changed) seen.push_back(info.id);
    cursor = page->next;
  }
  ASSERT_EQ(seen.size(), 7u);
  ASSERT_OK(store_->append(id_of(4), 2, {{user_message("x")}}));
  const auto more = store_->changes(cursor, 3);
  ASSERT_EQ(more->changed.size(), 1u);
  EXPECT_EQ(more->changed[0].id, id_of(4).text());
}

TEST_P(StoreContract, ACursorNeverComesBackAfterARemoval) {
  start(a_);
  start(b_);
  const std::uint64_t cursor = store_->changes(0, 10)->next;
  ASSERT_OK(store_->remove(b_));
  Store& again = reopened();
  ASSERT_OK(again.append(c_, 0, opening(c_)));
  const auto more = again.changes(cursor, 10);
  ASSERT_OK(more);
  ASSERT_EQ(more->changed.size(), 1u);
  EXPECT_EQ(more->changed[0].id, c_.text());
}

TEST_P(StoreContract, ChangesAfterTheLastCursorOfAllAreNone) {
  start(a_);
  EXPECT_TRUE(store_->changes(UINT64_MAX, 10)->changed.empty());
}

// ---- keys

TEST_P(StoreContract, KeysAreReadBackWithTheirVersion) {
  const std::string value("zero \0 byte", 11);
  const std::uint64_t version = put("k", value);
  EXPECT_GT(version, 0u);
  const auto key = reopened().get_key("plugin", "k");
  ASSERT_OK(key);
  EXPECT_EQ(key->key, "k");
  EXPECT_EQ(key->value, value);
  EXPECT_EQ(key->version, version);
  EXPECT_CODE(Code::kNotFound, store_->get_key("plugin", "other"));
}

TEST_P(StoreContract, SpacesDoNotSeeEachOther) {
  put("k", "1", "plug");
  put("k", "2", "plugin");
  put("in", "3", "plug");
  EXPECT_EQ(store_->get_key("plug", "k")->value, "1");
  EXPECT_EQ(store_->get_key("plugin", "k")->value, "2");
  EXPECT_EQ(store_->scan_keys("plugin", "", "", 10)->size(), 1u);
  EXPECT_EQ(store_->scan_keys("plug", "", "", 10)->size(), 2u);
  EXPECT_TRUE(store_->scan_keys("plu", "", "", 10)->empty());
}

TEST_P(StoreContract, VersionsGrowAndNeverComeBack) {
  const std::uint64_t first = put("k", "1");
  const std::uint64_t second = put("k", "2");
  EXPECT_GT(second, first);
  ASSERT_OK(commit({{KeyOp::Kind::kErase, "k", "", KeyOp::kAny}}));
  EXPECT_CODE(Code::kNotFound, store_->get_key("plugin", "k"));
  reopened();
  EXPECT_GT(put("k", "3"), second);
}

TEST_P(StoreContract, PutWithExpectationComparesAndSwaps) {
  ASSERT_OK(commit({{KeyOp::Kind::kPut, "k", "1", KeyOp::kAbsent}}));
  EXPECT_CODE(Code::kConflict, commit({{KeyOp::Kind::kPut, "k", "x", KeyOp::kAbsent}}));
  const std::uint64_t version = store_->get_key("plugin", "k")->version;
  EXPECT_CODE(Code::kConflict, commit({{KeyOp::Kind::kPut, "k", "x", version + 1}}));
  EXPECT_EQ(store_->get_key("plugin", "k")->value, "1");
  ASSERT_OK(commit({{KeyOp::Kind::kPut, "k", "2", version}}));
  EXPECT_CODE(Code::kConflict, commit({{KeyOp::Kind::kErase, "k", "", version}}));
  EXPECT_EQ(store_->get_key("plugin", "k")->value, "2");
}

TEST_P(StoreContract, ConflictNamesKeyAndVersions) {
  put("k", "1");
  const auto conflict = commit({{KeyOp::Kind::kPut, "k", "x", KeyOp::kAbsent}});
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().message, "key k of plugin is at version 1, not absent");
}

TEST_P(StoreContract, CommitOfKeysIsAllOrNone) {
  put("old", "1");
  const auto failed = commit({{KeyOp::Kind::kPut, "new", "x", KeyOp::kAny},
                              {KeyOp::Kind::kErase, "old", "", KeyOp::kAny},
                              {KeyOp::Kind::kCheck, "guard", "", 7}});
  EXPECT_CODE(Code::kConflict, failed);
  EXPECT_CODE(Code::kNotFound, store_->get_key("plugin", "new"));
  EXPECT_OK(store_->get_key("plugin", "old"));
}

TEST_P(StoreContract, ChecksGuardACommitWithoutChangingTheirKey) {
  const std::uint64_t version = put("guard", "g");
  const auto done = commit({{KeyOp::Kind::kCheck, "guard", "", version},
                            {KeyOp::Kind::kCheck, "missing", "", KeyOp::kAbsent},
                            {KeyOp::Kind::kPut, "k", "v", KeyOp::kAny}});
  ASSERT_OK(done);
  EXPECT_EQ(store_->get_key("plugin", "guard")->version, version);
  EXPECT_EQ(store_->get_key("plugin", "k")->version, *done);
  EXPECT_CODE(Code::kNotFound, store_->get_key("plugin", "missing"));
}

TEST_P(StoreContract, ExpectationsAreAgainstTheStateBeforeAndTheLastChangeCounts) {
  ASSERT_OK(commit({{KeyOp::Kind::kPut, "k", "1", KeyOp::kAbsent},
                    {KeyOp::Kind::kPut, "k", "2", KeyOp::kAbsent}}));
  EXPECT_EQ(store_->get_key("plugin", "k")->value, "2");
}

TEST_P(StoreContract, ErasingWhatIsAbsentIsNoChange) {
  const std::uint64_t version = put("k", "1");
  const auto done = commit({{KeyOp::Kind::kErase, "other", "", KeyOp::kAny}});
  ASSERT_OK(done);
  EXPECT_EQ(*done, version);
}

TEST_P(StoreContract, ScansAPrefixInByteOrder) {
  for (const char* key : {"b/2", "a/9", "b/10", "c", "b", "b/1", "b\xff"}) put(key, key);
  const auto keys = [&](std::string_view after, std::uint32_t limit) {
    std::vector<std::string> out;
    const auto found = store_->scan_keys("plugin", "b/", after, limit);
    EXPECT_OK(found);
    for (const StoredKey& key : *found) out.push_back(key.key);
    return out;
  };
  EXPECT_EQ(keys("", 10), (std::vector<std::string>{"b/1", "b/10", "b/2"}));
  EXPECT_EQ(keys("", 2), (std::vector<std::string>{"b/1", "b/10"}));
  EXPECT_EQ(keys("b/10", 10), std::vector<std::string>{"b/2"});
  EXPECT_EQ(keys("b/11", 10), std::vector<std::string>{"b/2"});
  EXPECT_EQ(keys("a", 10).size(), 3u);
  EXPECT_TRUE(keys("b/2", 10).empty());
  EXPECT_TRUE(keys("z", 10).empty());
}

TEST_P(StoreContract, AScanIsOneSnapshotWhileOthersCommit) {
  const auto both = [](const std::string& value) {
    return std::vector<KeyOp>{{KeyOp::Kind::kPut, "x", value, KeyOp::kAny},
                              {KeyOp::Kind::kPut, "y", value, KeyOp::kAny}};
  };
  ASSERT_OK(commit(both("0")));
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 1; i <= 100; ++i) EXPECT_OK(commit(both(std::to_string(i))));
    done = true;
  });
  while (!done) {
    const auto keys = store_->scan_keys("plugin", "", "", 10);
    ASSERT_OK(keys);
    ASSERT_EQ(keys->size(), 2u);
    EXPECT_EQ((*keys)[0].value, (*keys)[1].value);
  }
  writer.join();
}

TEST_P(StoreContract, RefusesNamesThatNoKeyCanHave) {
  EXPECT_CODE(Code::kInvalid, store_->get_key("", "k"));
  EXPECT_CODE(Code::kInvalid, store_->get_key(std::string_view("a\0b", 3), "k"));
  EXPECT_CODE(Code::kInvalid, commit({{KeyOp::Kind::kPut, "", "v", KeyOp::kAny}}));
  EXPECT_CODE(Code::kInvalid,
              commit({{KeyOp::Kind::kPut, std::string(505, 'k'), "v", KeyOp::kAny}}));
  EXPECT_OK(commit({{KeyOp::Kind::kPut, std::string(504, 'k'), "v", KeyOp::kAny}}));
  EXPECT_EQ(store_->scan_keys("plugin", std::string(504, 'k'), "", 10)->size(), 1u);
  EXPECT_TRUE(store_->scan_keys("plugin", std::string(600, 'k'), "", 10)->empty());
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

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract, testing::Values(Kind::kMemory, Kind::kLmdb),
                         [](const testing::TestParamInfo<Kind>& each) {
                           return std::string(each.param == Kind::kMemory ? "Memory" : "Lmdb");
                         });

}  // namespace
}  // namespace agentd
