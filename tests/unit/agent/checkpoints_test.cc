// SPDX-License-Identifier: Apache-2.0
// Checkpoints: when a session makes one, what lists say of them, and the three levels at which they are resumed.
#include "core/agent/checkpoints.h"

#include <gtest/gtest.h>

#include <string>

#include "core/agent/checkpoint_texts.h"
#include "core/store/lmdb/lmdb_store.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/histories.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::AgentTest;
using testing::fingerprints;
using testing::TempDir;
using testing::TestCall;

class CheckpointsTest : public AgentTest, public ::testing::WithParamInterface<bool> {
 protected:
  CheckpointsTest() {
    options_.lifecycle = true;
    options_.auto_compact = false;
  }
  void SetUp() override {
    if (!GetParam()) return;
    LmdbOptions options;
    options.directory = directory_.file("store");
    auto store = open_lmdb_store(options, clock_);
    ASSERT_TRUE(store) << store.error().message;
    store_.put_behind(std::move(*store));
  }
  Checkpoints all(CheckpointTexts* texts = nullptr) {
    return Checkpoints({store_, clock_, ids_, estimator_, models_, {}, texts});
  }
  std::vector<std::string> texts_of(const std::string& conversation) const {
    Conversation out(conversation, {});
    std::vector<StoredRecord> records;
    (void)store_.read(*Ulid::parse(conversation), 1, 0, [&](const StoredRecord& each) {
      records.push_back(each);
      return true;
    });
    EXPECT_TRUE(out.load(records));
    std::vector<std::string> texts;
    for (const agentd_message& row : out.rows()) texts.push_back(to_message(row).text());
    return texts;
  }
  Checkpoint only() {
    const auto list = all().list("u/p", 0);
    EXPECT_TRUE(list && list->size() == 1) << (list ? "not one" : list.error().message);
    return list && !list->empty() ? list->front() : Checkpoint{};
  }
  Checkpoints::Resumed resumed(const std::string& id, ResumeLevel level, CheckpointTexts* texts = nullptr) {
    auto found = all().find(id);
    EXPECT_TRUE(found) << found.error().message;
    auto out = all(texts).resume(*found, level, cancel_);
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : Checkpoints::Resumed{};
  }
  int checkpoint_records() const {
    int out = 0;
    for (const StoredRecord& each : log()) out += each.record.type == RecordType::kCheckpoint ? 1 : 0;
    return out;
  }

  TempDir directory_;
};

INSTANTIATE_TEST_SUITE_P(, CheckpointsTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Lmdb" : "Memory"; });

// ---- by the session

TEST_P(CheckpointsTest, OneIsStoredPerUpwardCrossingBeforeHooksHearOfIt) {
  std::vector<std::string> told;
  on(AGENTD_EVENT_CONTEXT_THRESHOLD, "t", [&](const TestCall& call) {
    told.emplace_back(view_of(call.payload<agentd_context_threshold>().checkpoint_id));
    const auto found = all().find(told.back());
    EXPECT_TRUE(found) << "the hook cannot find it: " << (found ? "" : found.error().message);
    return AGENTD_OK;
  });
  open();
  fill(5);
  EXPECT_EQ(checkpoint_records(), 0) << "below the threshold";
  fill(3);
  reopen();
  model_.say("x");
  ASSERT_TRUE(run("z"));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(checkpoint_records(), 1);
  const Checkpoint found = only();
  EXPECT_EQ(found.record.id, told.front());
  EXPECT_EQ(found.record.why, "threshold");
  EXPECT_GE(found.record.percent, 70u);
  EXPECT_EQ(store_.info(id())->checkpoint.id, told.front());
}

TEST_P(CheckpointsTest, WithoutHooksTheNextProcessDoesNotMakeItAgain) {
  open();
  fill(7);
  EXPECT_EQ(checkpoint_records(), 1);
  reopen();
  fill(1);
  EXPECT_EQ(checkpoint_records(), 1);
}

TEST_P(CheckpointsTest, WithoutLifecycleNoneIsMade) {
  options_.lifecycle = false;
  open();
  fill(8);
  EXPECT_EQ(checkpoint_records(), 0);
}

TEST_P(CheckpointsTest, AClearMakesOneWhoseIdIsInTheEvent) {
  std::string before, after = "not asked";
  on(AGENTD_EVENT_BEFORE_CLEAR, "b", [&](const TestCall& call) {
    before = view_of(call.payload<agentd_clear>().checkpoint_id);
    return AGENTD_OK;
  });
  on(AGENTD_EVENT_AFTER_CLEAR, "a", [&](const TestCall& call) {
    after = view_of(call.payload<agentd_clear>().checkpoint_id);
    return AGENTD_OK;
  });
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  const std::string old = session_->conversation_id();
  auto fresh = agent_->clear(*session_, {});
  ASSERT_TRUE(fresh) << fresh.error().message;
  session_ = std::move(*fresh);
  EXPECT_EQ(before, only().record.id);
  EXPECT_EQ(only().record.why, "clear");
  EXPECT_EQ(only().record.conversation_id, old);
  EXPECT_EQ(after, "");
}

TEST_P(CheckpointsTest, AClearOfAnEmptyConversationOrWithTheSettingOffMakesNone) {
  open();
  auto fresh = agent_->clear(*session_, {});
  ASSERT_TRUE(fresh);
  session_ = std::move(*fresh);
  EXPECT_TRUE(all().list("u/p", 0)->empty());
  session_.reset();
  agent_.reset();
  options_.checkpoint_on_clear = false;
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  fresh = agent_->clear(*session_, {});
  ASSERT_TRUE(fresh);
  session_ = std::move(*fresh);
  EXPECT_TRUE(all().list("u/p", 0)->empty());
}

TEST_P(CheckpointsTest, ByHandItHasItsName) {
  open();
  EXPECT_EQ(session_->checkpoint("too early").error().kind, RunError::Kind::kUsage);
  model_.say("one");
  ASSERT_TRUE(run("first"));
  const auto saved = session_->checkpoint("before the tests");
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(only().record.id, *saved);
  EXPECT_EQ(only().record.name, "before the tests");
  EXPECT_EQ(only().record.why, "manual");
}

// ---- lists

TEST_P(CheckpointsTest, TheNewestIsOfferedUntilItIsOldOrGone) {
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  ASSERT_TRUE(session_->checkpoint("a"));
  const Ulid first = id();
  session_.reset();
  open();
  ASSERT_TRUE(run("second"));
  const auto newest = session_->checkpoint("b");
  ASSERT_TRUE(newest);
  const Ulid second = id();
  session_.reset();
  EXPECT_EQ((*all().newest("u/p"))->record.id, *newest);
  EXPECT_FALSE(*all().newest("another project"));
  EXPECT_EQ(all().list("u/p", 0)->size(), 2u);
  EXPECT_EQ(all().list("u/p", 1)->front().record.name, "b");
  ASSERT_TRUE(store_.remove(second));
  EXPECT_EQ((*all().offer("u/p"))->record.name, "a");
  EXPECT_EQ(all().find(*newest).error().code, Code::kNotFound);
  clock_.advance(std::chrono::hours(24 * (Checkpoints::kOfferDays + 1)));
  EXPECT_FALSE(*all().offer("u/p"));
  EXPECT_TRUE(*all().newest("u/p"));
  ASSERT_TRUE(store_.remove(first));
  EXPECT_FALSE(*all().newest("u/p"));
}

TEST_P(CheckpointsTest, RowsGoWithTheirConversation) {
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  ASSERT_TRUE(session_->checkpoint("a"));
  const Ulid first = id();
  session_.reset();
  open();
  ASSERT_TRUE(run("second"));
  ASSERT_TRUE(session_->checkpoint("b"));
  ASSERT_TRUE(session_->checkpoint("c"));
  const Ulid second = id();
  session_.reset();
  const auto rows = [&] {
    std::string out;
    const auto found = store_.scan_keys("agentd.checkpoints", {}, {}, 100);
    for (const StoredKey& row : *found) out += row.value;
    return out;
  };
  ASSERT_NE(rows().find("\"c\""), std::string::npos);
  ASSERT_TRUE(store_.remove(second));
  ASSERT_TRUE(forget_checkpoints(store_, second.text()));
  EXPECT_EQ(rows().find(second.text()), std::string::npos) << rows();
  EXPECT_EQ(rows().find("\"c\""), std::string::npos) << rows();
  EXPECT_EQ((*all().newest("u/p"))->record.name, "a");
  EXPECT_EQ(all().list("u/p", 0)->size(), 1u);
  ASSERT_TRUE(store_.remove(first));
  ASSERT_TRUE(forget_checkpoints(store_, first.text()));
  EXPECT_TRUE(store_.scan_keys("agentd.checkpoints", {}, {}, 100)->empty());
  EXPECT_FALSE(*all().newest("u/p"));
}

TEST_P(CheckpointsTest, AreFoundByTheBeginningOfTheirId) {
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  const auto saved = session_->checkpoint("a");
  ASSERT_TRUE(saved);
  EXPECT_EQ(all().find(saved->substr(0, 24))->record.id, *saved);
  EXPECT_EQ(all().find("01").error().code, Code::kNotFound);
  EXPECT_EQ(all().find("7ZZZZZZZ").error().code, Code::kNotFound);
}

TEST_P(CheckpointsTest, SavingFromOutsideNeedsTheConversationIdle) {
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  auto held = store_.lease(id());
  ASSERT_TRUE(held);
  EXPECT_EQ(all().save({id(), "x"}).error().code, Code::kBusy);
  (*held).reset();
  const auto saved = all().save({id(), "x"});
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_EQ(only().record.id, saved->record.id);
}

// ---- resuming

TEST_P(CheckpointsTest, FullIsTheViewAtThatPlaceWhateverCameLater) {
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  const auto saved = session_->checkpoint("a");
  ASSERT_TRUE(saved);
  ASSERT_TRUE(run("second"));
  const auto done = resumed(*saved, ResumeLevel::kFull);
  EXPECT_EQ(done.level, ResumeLevel::kFull);
  EXPECT_EQ(texts_of(done.conversation.id), (std::vector<std::string>{"first", "one"}));
  EXPECT_EQ(texts_of(session_->conversation_id()).size(), 4u) << "the old one is as it was";
  // It has the record of its parent's checkpoint, and none of its own.
  EXPECT_EQ(done.conversation.checkpoint.id, "");
  EXPECT_EQ(all().list("u/p", 0)->size(), 1u);
}

TEST_P(CheckpointsTest, EachLevelIsSmallerThanTheOneBefore) {
  open();
  fill(5);
  const auto saved = session_->checkpoint("a");
  ASSERT_TRUE(saved);
  const auto full = resumed(*saved, ResumeLevel::kFull);
  const auto context = resumed(*saved, ResumeLevel::kContext);
  const auto summary = resumed(*saved, ResumeLevel::kSummary);
  EXPECT_EQ(context.level, ResumeLevel::kContext) << context.note;
  EXPECT_EQ(summary.level, ResumeLevel::kSummary) << summary.note;
  EXPECT_LT(summary.tokens, context.tokens);
  EXPECT_LT(context.tokens, full.tokens);
  EXPECT_EQ(texts_of(summary.conversation.id).size(), 1u);
  // The newest messages are as they were.
  const auto before = texts_of(session_->conversation_id());
  const auto after = texts_of(context.conversation.id);
  ASSERT_GT(after.size(), 1u);
  EXPECT_EQ(after.back(), before.back());
  EXPECT_LT(after.size(), before.size());
}

TEST_P(CheckpointsTest, ALevelThatIsNotSmallerIsToldToBeTheLargerOne) {
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  const auto saved = session_->checkpoint("a");
  ASSERT_TRUE(saved);
  for (const ResumeLevel level : {ResumeLevel::kContext, ResumeLevel::kSummary}) {
    const auto done = resumed(*saved, level);
    EXPECT_EQ(done.asked, level);
    EXPECT_EQ(done.level, ResumeLevel::kFull);
    EXPECT_NE(done.note.find("would not be smaller than full"), std::string::npos) << done.note;
    EXPECT_EQ(texts_of(done.conversation.id), (std::vector<std::string>{"first", "one"}));
  }
}

TEST_P(CheckpointsTest, TheModelWritesATextOnceAndItIsKept) {
  open();
  fill(5);
  const auto saved = session_->checkpoint("a");
  ASSERT_TRUE(saved);
  const std::size_t asked = model_.requests.size();
  const auto texts = model_checkpoint_texts(*services_, options_);
  model_.say("THE SUMMARY");
  const auto first = resumed(*saved, ResumeLevel::kSummary, texts.get());
  const auto second = resumed(*saved, ResumeLevel::kSummary, texts.get());
  EXPECT_EQ(model_.requests.size(), asked + 1);
  EXPECT_EQ(model_.requests.back().model, "cheap");
  for (const auto& done : {first, second}) {
    EXPECT_EQ(done.level, ResumeLevel::kSummary);
    EXPECT_NE(texts_of(done.conversation.id).front().find("THE SUMMARY"), std::string::npos);
  }
  EXPECT_EQ(all().find(*saved)->record.texts.size(), 1u);
  // The newest place is still the same.
  EXPECT_EQ(store_.info(id())->checkpoint.id, *saved);
}

TEST_P(CheckpointsTest, NoOtherVendorIsAsked) {
  open();
  fill(5);
  const auto saved = session_->checkpoint("a");
  ASSERT_TRUE(saved);
  const std::size_t asked = model_.requests.size();
  ModelSettings other = options_;
  other.provider = "another";
  const auto texts = model_checkpoint_texts(*services_, other);
  const auto done = resumed(*saved, ResumeLevel::kSummary, texts.get());
  EXPECT_EQ(model_.requests.size(), asked);
  EXPECT_NE(done.note.find("an extract"), std::string::npos) << done.note;
  EXPECT_TRUE(all().find(*saved)->record.texts.empty()) << "an extract is not kept";
}

TEST_P(CheckpointsTest, WithoutAModelAnExtractHasTheUsersWords) {
  open();
  fill(5);
  const auto saved = session_->checkpoint("a");
  ASSERT_TRUE(saved);
  const auto done = resumed(*saved, ResumeLevel::kSummary);
  const std::string text = texts_of(done.conversation.id).front();
  for (int i = 0; i < 5; ++i) EXPECT_NE(text.find("- question " + std::to_string(i)), std::string::npos) << text;
}

TEST_P(CheckpointsTest, AnUndoInTheNewConversationShowsAllAgain) {
  open();
  fill(5);
  const auto saved = session_->checkpoint("a");
  ASSERT_TRUE(saved);
  const auto before = texts_of(session_->conversation_id());
  const auto done = resumed(*saved, ResumeLevel::kSummary);
  open(*Ulid::parse(done.conversation.id));
  const auto undone = session_->undo(false, cancel_);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(texts_of(done.conversation.id), before);
}

TEST_P(CheckpointsTest, OneOfASessionElsewhereHasItsTextAlone) {
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  session_.reset();
  const auto list = store_.list({});
  Checkpoints::SaveRequest request;
  request.conversation = *Ulid::parse(list->front().id);
  request.why = kForeignCheckpoint;
  request.text = "at 80 %";
  const auto saved = all().save(request);
  ASSERT_TRUE(saved) << saved.error().message;
  const auto found = all().find(saved->record.id);
  ASSERT_TRUE(found);
  const auto refused = all().resume(*found, ResumeLevel::kFull, cancel_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  const auto done = all().resume(*found, ResumeLevel::kSummary, cancel_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_NE(texts_of(done->conversation.id).front().find("at 80 %"), std::string::npos);
}

}  // namespace
}  // namespace agentd
