// SPDX-License-Identifier: Apache-2.0
// Undo: what a compaction hid comes back byte for byte, with both stores.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/store/lmdb/lmdb_store.h"
#include "tests/support/agent_fixture.h"
#include "tests/support/histories.h"
#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::fingerprints;
using testing::TempDir;
using testing::TestCall;

using View = std::vector<std::string>;

class Undoing : public AgentTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    options_.auto_compact = false;
    if (!GetParam()) return;
    LmdbOptions options;
    options.directory = directory_.file("store");
    auto store = open_lmdb_store(options, clock_);
    ASSERT_TRUE(store) << store.error().message;
    store_.put_behind(std::move(*store));
  }

  View view() const { return fingerprints(stored_view().rows()); }
  // A run with a short question and answer.
  void talk(const std::string& words) {
    model_.say("answer to " + words);
    EXPECT_TRUE(run(words));
  }
  void compact(std::uint32_t strategy = AGENTD_STRATEGY_FULL, std::uint64_t keep_tokens = 0) {
    model_.say("summary " + std::to_string(++summaries_));
    CompactOptions options;
    options.strategy = strategy;
    options.keep_tokens = keep_tokens;
    const auto report = session_->compact(options, false, cancel_);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_TRUE(report->changed()) << report->text;
  }
  Result<UndoReport, RunError> undo(bool force = false) { return session_->undo(force, cancel_); }
  void undone() {
    const auto report = undo();
    ASSERT_TRUE(report) << report.error().message;
  }
  std::string refusal(bool force = false) {
    const auto report = undo(force);
    EXPECT_FALSE(report);
    if (report) return {};
    EXPECT_EQ(report.error().kind, RunError::Kind::kFailure);
    return report.error().message;
  }
  // The texts of the view, each cut to `bytes`.
  std::string texts(std::size_t bytes = std::string::npos) const {
    const Conversation now = stored_view();
    std::string out;
    for (const agentd_message& row : now.rows()) out += to_message(row).text().substr(0, bytes) + "|";
    return out;
  }
  // What the next request sends before its own question.
  std::vector<Message> sent() {
    talk("what do you see?");
    std::vector<Message> out = model_.requests.back().messages;
    out.pop_back();
    return out;
  }
  static std::vector<Message> messages_of(const Conversation& conversation) {
    std::vector<Message> out;
    for (const agentd_message& row : conversation.rows()) out.push_back(to_message(row));
    return out;
  }
  ConversationInfo info() const { return *store_.info(id()); }

  TempDir directory_;
  int asked_ = 0;  // hooks hear of the session's end after the test's body
  int summaries_ = 0;
};

TEST_P(Undoing, TenCompactionsInARowAreUndoneOneByOneByteForByte) {
  open();
  for (int i = 0; i < 12; ++i) talk("question " + std::to_string(i) + std::string(200, '.'));
  std::vector<View> views;
  const std::vector<Message> first = messages_of(stored_view());
  for (std::uint64_t i = 0; i < 10; ++i) {
    views.push_back(view());
    compact(AGENTD_STRATEGY_TAIL, 1'300 - i * 120);
    ASSERT_NE(view(), views.back());
  }
  EXPECT_EQ(info().compactions, 10u);
  while (!views.empty()) {
    const auto report = undo();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(view(), views.back());
    EXPECT_EQ(report->messages_after, views.back().size());
    views.pop_back();
    EXPECT_EQ(report->compactions, views.size());
    EXPECT_EQ(info().compactions, views.size());
  }
  EXPECT_EQ(refusal(), "no compaction to undo in conversation " + session_->conversation_id());
  EXPECT_EQ(sent(), first);
  EXPECT_TRUE(store_.verify(id()));
}

TEST_P(Undoing, WhatWasSaidSinceStandsBehindWhatComesBack) {
  open();
  talk("before");
  const std::size_t before = view().size();
  const View was = view();
  compact();
  talk("between");
  compact();
  talk("after");
  undone();
  undone();
  const View is = view();
  ASSERT_EQ(is.size(), before + 4);
  EXPECT_TRUE(std::equal(was.begin(), was.end(), is.begin()));
  std::string texts;
  const Conversation stored = stored_view();
  for (const agentd_message& row : stored.rows()) texts += to_message(row).text() + "|";
  EXPECT_EQ(texts, "before|answer to before|between|answer to between|after|answer to after|");
  const std::vector<Message> expected = messages_of(stored_view());
  EXPECT_EQ(sent(), expected);
}

TEST_P(Undoing, RunningSessionSeesWhatAFreshProcessWould) {
  open();
  for (const char* words : {"one", "two", "three"}) talk(words);
  compact(AGENTD_STRATEGY_TAIL, 30);
  talk("four");
  undone();
  const std::vector<Message> expected = messages_of(stored_view());
  EXPECT_EQ(sent(), expected);
  reopen();
  EXPECT_EQ(messages_of(stored_view()).size(), expected.size() + 2);
}

TEST_P(Undoing, GoesOnAfterAnUndoAndCompactsAgainAndUndoesThat) {
  open();
  talk("one");
  compact();
  undone();
  talk("two");
  const View whole = view();
  compact();
  EXPECT_EQ(view().size(), 1u);
  undone();
  EXPECT_EQ(view(), whole);
  EXPECT_NE(refusal(), "");
  compact();
  EXPECT_EQ(info().compactions, 1u);
}

TEST_P(Undoing, UndoesInAnotherProcessWhatAnEarlierOneCompacted) {
  open();
  talk("one");
  const View first = view();
  compact();
  talk("two");
  const View second = view();
  compact();
  reopen();
  undone();
  EXPECT_EQ(view(), second);
  reopen();
  undone();
  reopen();
  const View is = view();
  ASSERT_EQ(is.size(), first.size() + 2);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), is.begin()));
  EXPECT_EQ(sent().size(), is.size());
}

TEST_P(Undoing, UndoesATruncation) {
  options_.auto_compact = true;
  open();
  fill(6);
  const View was = view();
  model_.fail(ModelErrorKind::kBilling, "500").say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  ASSERT_EQ(events_.outcomes(), "degraded");
  ASSERT_NE(view(), was);
  undone();
  const View is = view();
  ASSERT_EQ(is.size(), was.size() + 2);
  EXPECT_TRUE(std::equal(was.begin(), was.end(), is.begin()));
}

TEST_P(Undoing, UndoesAReplacementOfAHook) {
  on(AGENTD_EVENT_AGENT_STOP, "replace", [](const TestCall& call) {
    Action replace = action(AGENTD_ACT_REPLACE_MESSAGES);
    replace.base_revision = call.raw.envelope->revision;
    ReplacePart part;
    part.literal = Message::of_text(Role::kUser, "all in short");
    replace.parts = {part};
    return call.answer(replace);
  });
  open();
  model_.say(std::string(4'000, 'x'));
  ASSERT_TRUE(run("go"));
  ASSERT_EQ(view().size(), 1u);
  undone();
  std::string texts;
  const Conversation stored = stored_view();
  for (const agentd_message& row : stored.rows()) texts += to_message(row).text().substr(0, 4) + "|";
  EXPECT_EQ(texts, "go|xxxx|");
}

// Boundaries as a pruning and a chunked summary leave them, written by hand.
TEST_P(Undoing, UndoesPrunesAndWhatFollowsThem) {
  tools_.offer("bash");
  tools_.handler = [](const ToolCall&) {
    ToolOutcome out;
    out.content = std::string(3'000, 'o');
    return Result<ToolOutcome>(out);
  };
  open();
  model_.ask_tools({{"bash", "{}"}, {"bash", "{}"}}).say("done");
  ASSERT_TRUE(run("go"));
  const View whole = view();
  const Conversation now = stored_view();
  BoundaryRecord prune;
  prune.id = "01J9ZQ2V8M4T0C7X5R3N6K1B2D";
  prune.method = "prune";
  prune.base_seq = now.revision();
  prune.kept = now.state().ranges();
  for (const agentd_message& row : now.rows())
    if (row.blocks.count == 1 && blocks_of(row)[0].kind == AGENTD_BLOCK_TOOL_RESULT)
      prune.prunes.push_back({row.seq, 0, 200});
  ASSERT_EQ(prune.prunes.size(), 2u);
  const Ulid same = id();
  session_->end("exit");
  ASSERT_TRUE(store_.append(same, now.revision(), {{write_boundary(prune)}}));
  open(same);
  const View pruned = view();
  ASSERT_NE(pruned, whole);
  compact();
  undone();
  EXPECT_EQ(view(), pruned);
  undone();
  EXPECT_EQ(view(), whole);
  const std::vector<Message> expected = messages_of(stored_view());
  EXPECT_EQ(sent(), expected);
}

TEST_P(Undoing, RefusesWhatIsOverTheWindowUnlessItIsForced) {
  open();
  fill(7);
  compact();
  fill(3);
  const View now = view();
  const std::uint64_t revision = info().revision;
  const std::string why = refusal();
  EXPECT_NE(why.find("8,000"), std::string::npos) << why;
  EXPECT_NE(why.find("about 10,"), std::string::npos) << why;
  EXPECT_NE(why.find("--force"), std::string::npos) << why;
  EXPECT_EQ(view(), now);
  EXPECT_EQ(info().revision, revision);
  EXPECT_TRUE(events_.of(RunEvent::Type::kCompactionUndone).empty());
  const auto forced = undo(true);
  ASSERT_TRUE(forced) << forced.error().message;
  EXPECT_GT(forced->post_tokens, 8'000u);
  EXPECT_EQ(view().size(), 20u);
  EXPECT_EQ(session_->gauge().used, forced->post_tokens);
}

TEST_P(Undoing, NothingToUndoIsAFailureThatChangesNothing) {
  open();
  EXPECT_NE(refusal(true).find("no compaction to undo"), std::string::npos);
  talk("one");
  const std::uint64_t revision = info().revision;
  EXPECT_NE(refusal(true).find("no compaction to undo"), std::string::npos);
  EXPECT_EQ(info().revision, revision);
}

TEST_P(Undoing, AsksNeitherHooksNorTheModelAndTellsTheStream) {
#define AGENTD_TEST_HOOK(NAME, name, number, payload) \
  on(number, #name, [&](const TestCall&) { return ++asked_, AGENTD_OK; });
  AGENTD_EVENT_LIST(AGENTD_TEST_HOOK)
#undef AGENTD_TEST_HOOK
  open();
  talk("one");
  compact();
  const std::size_t requests = model_.requests.size();
  asked_ = 0;
  events_.told.clear();
  const auto report = undo();
  ASSERT_TRUE(report);
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(model_.requests.size(), requests);
  ASSERT_EQ(events_.told.size(), 1u);
  EXPECT_EQ(events_.told[0].type, RunEvent::Type::kCompactionUndone);
  EXPECT_EQ(events_.told[0].text, report->boundary_id);
  EXPECT_NE(report->boundary_id, "");
}

TEST_P(Undoing, SomebodyWhoAppendsMeanwhileIsInTheViewThatComesBack) {
  open();
  talk("one");
  compact();
  int raced = 0;
  store_.refuses = [&](std::span<const Record> records) {
    if (records.back().type != RecordType::kRevert || raced == 3) return false;
    ++raced;
    const Record record =
        write_message({Message::of_text(Role::kUser, "from the side"), StopReason::kEndTurn, "client", {}});
    EXPECT_TRUE(store_.append(id(), info().revision, {{record}}, {}, {}));
    return false;
  };
  undone();
  store_.refuses = {};
  EXPECT_EQ(raced, 3);
  EXPECT_EQ(view().size(), 2u + 3u);
  EXPECT_EQ(sent().size(), 5u);
  EXPECT_TRUE(store_.verify(id()));
}

TEST_P(Undoing, StoreThatFailsLeavesTheCompactionInPlace) {
  open();
  talk("one");
  compact();
  const View now = view();
  store_.refuses = [](std::span<const Record>) { return true; };
  const auto report = undo();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kStore);
  store_.refuses = {};
  EXPECT_EQ(view(), now);
  talk("two");
  EXPECT_EQ(view().size(), now.size() + 2);
  EXPECT_EQ(info().compactions, 1u);
  undone();
}

TEST_P(Undoing, CancelledUndoChangesNothing) {
  open();
  talk("one");
  compact();
  cancel_.cancel(AGENTD_CANCEL_USER);
  const auto report = undo();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kCancelled);
  EXPECT_EQ(info().compactions, 1u);
}

TEST_P(Undoing, IndexKnowsWhereTheViewThatComesBackBegins) {
  open();
  for (int i = 0; i < 5; ++i) talk("question " + std::to_string(i));
  compact();
  const ConversationInfo after_first = info();
  talk("more");
  compact();
  undone();
  EXPECT_EQ(info().boundary_seq, after_first.boundary_seq);
  EXPECT_EQ(info().view_first_seq, after_first.view_first_seq);
  EXPECT_GT(info().view_first_seq, 10u);
  reopen();
  const std::vector<Message> expected = messages_of(stored_view());
  EXPECT_EQ(sent(), expected);
  undone();
  EXPECT_EQ(info().boundary_seq, 0u);
  EXPECT_EQ(info().view_first_seq, 1u);
}

INSTANTIATE_TEST_SUITE_P(Stores, Undoing, ::testing::Values(false, true),
                         [](const ::testing::TestParamInfo<bool>& each) { return each.param ? "Lmdb" : "Memory"; });

// ---- forks

TEST_P(Undoing, FirstSessionOnAForkStartsAsAForkAndLaterOnesResume) {
  std::string sources;
  on(AGENTD_EVENT_SESSION_START, "s", [&](const TestCall& call) {
    sources += std::to_string(call.payload<agentd_session_start>().source) + " ";
    return AGENTD_OK;
  });
  open();
  talk("one");
  GenesisRecord genesis;
  const Ulid fork = ids_.next();
  genesis.conversation_id = fork.text();
  ASSERT_TRUE(store_.fork(id(), 0, genesis, "copy"));
  sources.clear();
  open(fork);
  EXPECT_EQ(sent().size(), 2u);
  open(fork);
  EXPECT_EQ(sources, std::to_string(AGENTD_SOURCE_FORK) + " " + std::to_string(AGENTD_SOURCE_RESUME) + " ");
}

TEST_P(Undoing, ForkAtABoundaryHasTheViewOfBeforeAndCanUndoEarlierOnes) {
  open();
  for (const char* words : {"one", "two", "three"}) talk(words);
  const View first = view();
  compact(AGENTD_STRATEGY_TAIL, 30);
  talk("four");
  const View second = view();
  const std::uint64_t at = info().revision;
  compact();
  GenesisRecord genesis;
  const Ulid fork = ids_.next();
  genesis.conversation_id = fork.text();
  ASSERT_TRUE(store_.fork(id(), at, genesis, "copy"));
  open(fork);
  EXPECT_EQ(view(), second);
  undone();
  const View is = view();
  ASSERT_EQ(is.size(), first.size() + 2);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), is.begin()));
  EXPECT_TRUE(store_.verify(fork));
}

TEST_P(Undoing, CallsThatAreOpenWhereAForkWasMadeAreRecovered) {
  tools_.offer("bash");
  open();
  model_.ask_tools({{"bash", "{}"}}).say("done");
  ASSERT_TRUE(run("go"));
  std::uint64_t intent = 0;
  for (const StoredRecord& record : log())
    if (record.record.type == RecordType::kToolIntent) intent = record.seq;
  ASSERT_NE(intent, 0u);
  GenesisRecord genesis;
  const Ulid fork = ids_.next();
  genesis.conversation_id = fork.text();
  ASSERT_TRUE(store_.fork(id(), intent, genesis, "copy"));
  open(fork);
  talk("and now");
  EXPECT_NE(model_.requests.back().all_text().find("its outcome is unknown"), std::string::npos);
  EXPECT_TRUE(store_.verify(fork));
}

}  // namespace
}  // namespace agentd
