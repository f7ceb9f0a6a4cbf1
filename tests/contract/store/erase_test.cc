// SPDX-License-Identifier: Apache-2.0
// Erasing: payloads leave the log, and every reader has what takes their place.
#include <atomic>
#include <thread>

#include "core/base/hash.h"
#include "tests/contract/store/store_contract.h"

namespace agentd {
namespace {

constexpr const char* kSecret = "hunter2-is-the-word";

class StoreErases : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    ASSERT_OK(store_->append(a_, 0, opening(a_, "the title")));
    ASSERT_OK(store_->append(a_, 2, {{user_message(kSecret), user_message("after")}}));
    ASSERT_OK(store_->append(a_, 4, {{user_message("the end")}}));
  }
  static Erasure erasure(std::uint64_t seq, const std::string& text = "[erased]") {
    return {seq, user_message(text).payload};
  }
  Result<EraseReport> erase(const Ulid& id, const std::vector<Erasure>& what, std::vector<Record> append = {}) {
    EraseRequest request;
    request.records = what;
    request.append = std::move(append);
    const std::unique_ptr<Lease> lease = *store_->lease(id);
    return store_->erase(id, store_->info(id)->revision, request);
  }
  Result<ConversationInfo> fork(const Ulid& to, std::uint64_t at) {
    GenesisRecord genesis;
    genesis.conversation_id = to.text();
    genesis.project_id = "p";
    genesis.cwd = "/w";
    return store_->fork(a_, at, genesis, "copy");
  }
  std::vector<std::string> texts(const Ulid& id, std::uint64_t last = 0) {
    std::vector<std::string> out;
    for (const StoredRecord& record : read_all(*store_, id, 1, last))
      if (carries_message(record.record.type)) out.push_back(text_of(record));
    return out;
  }
  using Texts = std::vector<std::string>;
};

TEST_P(StoreErases, EveryReaderHasWhatTakesItsPlace) {
  const Digest before = *store_->chain(a_, 5);
  const std::vector<StoredRecord> old = read_all(*store_, a_);
  const auto erased = erase(a_, {erasure(3)});
  ASSERT_OK(erased);
  EXPECT_EQ(erased->records, 1u);
  EXPECT_EQ(erased->revision, 6u);
  EXPECT_EQ(texts(a_), (Texts{"the title", "[erased]", "after", "the end"}));
  EXPECT_EQ(texts(a_, 3), (Texts{"the title", "[erased]"}));
  EXPECT_OK(reopened().verify(a_));
  EXPECT_EQ(texts(a_), (Texts{"the title", "[erased]", "after", "the end"}));
  EXPECT_EQ(*store_->chain(a_, 5), before);
  const std::vector<StoredRecord> now = read_all(*store_, a_);
  ASSERT_EQ(now.size(), 6u);
  EXPECT_EQ(now[2].digest, old[2].digest);
  EXPECT_EQ(now[2].erased_by, 6u);
  EXPECT_EQ(now[1].erased_by, 0u);
  const auto record = read_erase(now[5].record);
  ASSERT_OK(record);
  EXPECT_EQ(record->seq, 3u);
  EXPECT_EQ(record->digest, hex(sha256(user_message(kSecret).payload)));
  EXPECT_NE(now[5].record.flags & Record::kCritical, 0);
  for (const StoredRecord& each : now) EXPECT_EQ(each.record.payload.find(kSecret), std::string::npos) << each.seq;
  // The control.
  EXPECT_NE(old[2].record.payload.find(kSecret), std::string::npos);
}

TEST_P(StoreErases, TheLogGoesOnBehindIt) {
  ASSERT_OK(erase(a_, {erasure(3)}));
  ASSERT_OK(store_->append(a_, 6, {{user_message("more")}}));
  EXPECT_OK(reopened().verify(a_));
  EXPECT_EQ(texts(a_).back(), "more");
  EXPECT_CODE(Code::kConflict, store_->append(a_, 5, {{user_message("late")}}));
}

TEST_P(StoreErases, WhatIsAppendedWithItIsOneCommit) {
  const auto erased = erase(a_, {erasure(3), erasure(4)}, {user_message("in its place")});
  ASSERT_OK(erased);
  EXPECT_EQ(erased->revision, 8u);
  EXPECT_EQ(texts(a_), (Texts{"the title", "[erased]", "[erased]", "the end", "in its place"}));
  EXPECT_EQ(read_all(*store_, a_)[3].erased_by, 7u);
  EXPECT_OK(store_->verify(a_));
}

TEST_P(StoreErases, TheTitleIsMadeAgain) {
  ASSERT_OK(erase(a_, {erasure(2)}));
  const auto info = reopened().info(a_);
  ASSERT_OK(info);
  EXPECT_EQ(info->title, "[erased]");
  EXPECT_EQ(info->messages, 4u);
  EXPECT_EQ(info->revision, 6u);
  EXPECT_EQ(info->project_id, "p");
  EXPECT_EQ(listed({}), (std::vector<std::string>{a_.text()}));
}

TEST_P(StoreErases, AnErasureOfAnErasureHolds) {
  ASSERT_OK(erase(a_, {erasure(3, "half of it"), erasure(4)}));
  // The record that said so holds the half, too: both go.
  const std::vector<StoredRecord> log = read_all(*store_, a_);
  auto first = read_erase(log[5].record);
  ASSERT_OK(first);
  first->payload = user_message("[erased]").payload;
  ASSERT_OK(erase(a_, {erasure(3), {6, write_erase(*first).payload}}));
  EXPECT_EQ(texts(a_), (Texts{"the title", "[erased]", "[erased]", "the end"}));
  for (const StoredRecord& each : read_all(reopened(), a_))
    EXPECT_EQ(each.record.payload.find("half of it"), std::string::npos) << each.seq;
  EXPECT_OK(store_->verify(a_));
}

TEST_P(StoreErases, AForkHasItWhereverItBegins) {
  ASSERT_OK(erase(a_, {erasure(3), erasure(4)}));
  // Before the erase records, between them, and behind.
  for (std::uint64_t at = 3; at <= 7; ++at) {
    SCOPED_TRACE(at);
    const Ulid to = id_of(static_cast<std::uint8_t>(100 + at));
    const auto made = fork(to, at);
    ASSERT_OK(made);
    EXPECT_TRUE(is_fresh_fork(*made));
    EXPECT_OK(store_->verify(to));
    Texts expected{"the title", "[erased]"};
    if (at >= 4) expected.emplace_back("[erased]");
    if (at >= 5) expected.emplace_back("the end");
    EXPECT_EQ(texts(to), expected);
    EXPECT_EQ(store_->info(to)->title, "copy");
    ASSERT_OK(store_->append(to, made->revision, {{user_message("on")}}));
    EXPECT_FALSE(is_fresh_fork(*store_->info(to)));
  }
  // They need the parent no longer.
  ASSERT_OK(store_->remove(a_));
  EXPECT_OK(reopened().verify(id_of(103)));
  EXPECT_EQ(texts(id_of(103), 3), (Texts{"the title", "[erased]"}));
}

TEST_P(StoreErases, AForkOfAForkBringsItAlong) {
  ASSERT_OK(erase(a_, {erasure(3)}));
  ASSERT_OK(fork(b_, 4));
  GenesisRecord genesis;
  genesis.conversation_id = c_.text();
  const auto made = store_->fork(b_, 3, genesis, "copy of the copy");
  ASSERT_OK(made);
  EXPECT_EQ(texts(c_), (Texts{"the title", "[erased]"}));
  EXPECT_OK(reopened().verify(c_));
}

TEST_P(StoreErases, AForkMadeBeforeKeepsItsOwn) {
  ASSERT_OK(fork(b_, 4));
  ASSERT_OK(erase(a_, {erasure(3)}));
  EXPECT_EQ(texts(b_)[1], kSecret);
  ASSERT_OK(erase(b_, {erasure(3)}));
  EXPECT_EQ(texts(b_)[1], "[erased]");
  EXPECT_OK(store_->verify(b_));
}

// Half of the forks begin before the erasure and end after it.
TEST_P(StoreErases, AForkThatIsBeingMadeDoesNotCarryItAway) {
  std::atomic<bool> over = false;
  std::vector<Ulid> made;
  std::thread forks([&] {
    for (std::uint8_t i = 100; !over && i < 250; ++i)
      if (fork(id_of(i), 4)) made.push_back(id_of(i));
  });
  const auto erased = erase(a_, {erasure(3)});
  const std::size_t revision = erased ? erased->revision : 0;
  over = true;
  forks.join();
  EXPECT_EQ(revision, 6u);
  ASSERT_OK(fork(b_, 4));
  EXPECT_EQ(texts(b_)[1], "[erased]");
  for (const Ulid& id : made) EXPECT_OK(store_->verify(id));
}

TEST_P(StoreErases, ALargePayloadLeavesItsBlob) {
  const std::string large(100'000, 'x');
  ASSERT_OK(store_->append(a_, 5, {{user_message(large)}}));
  const Digest digest = sha256(user_message(large).payload);
  ASSERT_OK(store_->blob(digest));
  ASSERT_OK(fork(b_, 0));
  ASSERT_OK(erase(a_, {erasure(6, std::string(90'000, 'y'))}));
  EXPECT_EQ(texts(a_).back(), std::string(90'000, 'y'));
  // The fork has it still.
  ASSERT_OK(store_->blob(digest));
  ASSERT_OK(erase(b_, {erasure(6)}));
  EXPECT_CODE(Code::kNotFound, store_->blob(digest));
  EXPECT_OK(reopened().verify(a_));
  EXPECT_OK(store_->verify(b_));
}

TEST_P(StoreErases, AttachedTextsGoByTheirDigests) {
  const std::vector<std::string> blobs{"a prompt with it", "a prompt without"};
  ASSERT_OK(store_->append(a_, 5, {{user_message("x")}}, blobs));
  EraseRequest request;
  request.attached = {sha256(blobs[0])};
  const auto erased = store_->erase(a_, 6, request);
  ASSERT_OK(erased);
  EXPECT_EQ(erased->texts, 1u);
  EXPECT_EQ(erased->revision, 6u);
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256(blobs[0])));
  EXPECT_OK(store_->blob(sha256(blobs[1])));
  EXPECT_OK(reopened().verify(a_));
}

TEST_P(StoreErases, ReceiptsLoseWhatTheySaid) {
  const auto receipt = [](const std::string& payload, const std::string& answer) {
    HookReceipt out;
    out.event = "before_tool_call";
    out.hook = "h";
    out.payload = std::make_shared<const std::string>(payload);
    out.payload_digest = sha256(payload);
    out.answer = answer;
    out.note = "a note";
    return out;
  };
  const std::string with = std::string("{\"text\":\"") + kSecret + "\"}", without = "{\"text\":\"x\"}";
  ASSERT_OK(store_->append_receipts(a_, {{receipt(with, "[1]"), receipt(without, "[2]")}}));
  EraseRequest request;
  request.records = {erasure(3)};
  request.receipt = [](const HookReceipt&, std::string_view payload) {
    return payload.find(kSecret) != std::string_view::npos;
  };
  const auto erased = store_->erase(a_, 5, request);
  ASSERT_OK(erased);
  EXPECT_EQ(erased->receipts, 1u);
  EXPECT_CODE(Code::kNotFound, store_->blob(sha256(with)));
  EXPECT_OK(store_->blob(sha256(without)));
  std::vector<std::string> answers;
  EXPECT_OK(reopened().receipts(a_, [&](const HookReceipt& each) {
    answers.push_back(each.answer + each.note + (each.payload_kept ? " kept" : ""));
    return true;
  }));
  EXPECT_EQ(answers, (std::vector<std::string>{"[]", "[2]a note kept"}));
}

TEST_P(StoreErases, FollowersAreToldToMakeItAgain) {
  const auto before = store_->changes(0, 100);
  ASSERT_OK(before);
  ASSERT_OK(erase(a_, {erasure(3)}));
  const auto after = store_->changes(before->next, 100);
  ASSERT_OK(after);
  EXPECT_EQ(after->removed, (std::vector<Ulid>{a_}));
  ASSERT_EQ(after->changed.size(), 1u);
  EXPECT_EQ(after->changed[0].revision, 6u);
  // One at a time, the removal comes first.
  const auto first = store_->changes(before->next, 1);
  ASSERT_OK(first);
  EXPECT_EQ(first->removed.size(), 1u);
  EXPECT_TRUE(first->changed.empty());
}

TEST_P(StoreErases, WhatCannotBeErasedChangesNothing) {
  EXPECT_CODE(Code::kInvalid, erase(a_, {{1, "{}"}}));
  EXPECT_CODE(Code::kInvalid, erase(a_, {erasure(9)}));
  EXPECT_CODE(Code::kInvalid, erase(a_, {erasure(3), erasure(3)}));
  EXPECT_CODE(Code::kInvalid, erase(a_, {{3, "no JSON"}}));
  EXPECT_CODE(Code::kConflict, store_->erase(a_, 4, {}));
  EXPECT_CODE(Code::kNotFound, store_->erase(b_, 1, {}));
  EXPECT_EQ(store_->info(a_)->revision, 5u);
  EXPECT_EQ(texts(a_)[1], kSecret);
  EXPECT_OK(reopened().verify(a_));
}

TEST_P(StoreErases, ARemovedConversationTakesItsReplacementsAlong) {
  ASSERT_OK(store_->append(a_, 5, {{user_message(std::string(100'000, 'x'))}}));
  ASSERT_OK(erase(a_, {erasure(6, std::string(90'000, 'y'))}));
  const Digest replacement = read_all(*store_, a_).at(6).digest;
  ASSERT_OK(store_->blob(replacement));
  ASSERT_OK(store_->remove(a_));
  EXPECT_CODE(Code::kNotFound, store_->blob(replacement));
}

TEST_P(StoreErases, SpacesOfKeysAreListed) {
  EXPECT_EQ(*store_->key_spaces(), std::vector<std::string>{});
  put("k", "v", "zeta");
  put("k", "v", "alpha");
  put("l", "v", "alpha");
  put("k", "v", "alpha.beta");
  std::vector<std::string> spaces = *store_->key_spaces();
  std::erase_if(spaces, [](const std::string& name) { return name.starts_with("agentd."); });
  EXPECT_EQ(spaces, (std::vector<std::string>{"alpha", "alpha.beta", "zeta"}));
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreErases, testing::ValuesIn(kStores), name_of_store);

}  // namespace
}  // namespace agentd
