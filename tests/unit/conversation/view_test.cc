// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/view.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/conversation/info.h"
#include "tests/support/histories.h"

namespace agentd {
namespace {

using testing::fingerprints;
using testing::RandomLog;
using testing::sequences;
using testing::simple_count;
using Seqs = std::vector<std::uint64_t>;

constexpr std::string_view kViewId = "01J9ZQ2V8M4T0C7X5R3N6K1B2D";

// A hand-written log.
class TestLog {
 public:
  std::uint64_t user(std::string text = "u") { return message(Role::kUser, std::move(text)); }
  std::uint64_t assistant(std::string text = "a") { return message(Role::kAssistant, std::move(text)); }
  std::uint64_t summary(std::string text = "s") { return message(Role::kSummary, std::move(text)); }
  std::uint64_t literal(std::string text) {
    Message made = Message::of_text(Role::kUser, std::move(text));
    made.flags = AGENTD_MESSAGE_CONTEXT;
    return push(write_message({made, StopReason::kEndTurn, "hook", "h"}));
  }
  std::uint64_t message(Role role, std::string text) {
    return push(write_message({Message::of_text(role, std::move(text)), StopReason::kEndTurn, {}, {}}));
  }
  std::uint64_t boundary(std::uint64_t base, std::uint64_t summary_seq, std::vector<SeqRange> kept,
                         std::vector<Prune> prunes = {}) {
    BoundaryRecord made;
    made.id = "B";
    made.base_seq = base;
    made.summary_seq = summary_seq;
    made.kept = std::move(kept);
    made.prunes = std::move(prunes);
    return push(write_boundary(made));
  }
  std::uint64_t revert(std::uint64_t to) { return push(write_revert({to})); }
  std::uint64_t push(Record record) {
    StoredRecord stored;
    stored.seq = records.size() + 1;
    stored.time_ms = static_cast<std::int64_t>(stored.seq);
    stored.record = std::move(record);
    records.push_back(std::move(stored));
    return records.size();
  }

  Result<Conversation> loaded(std::uint64_t from = 1) const {
    Conversation out(std::string(kViewId), simple_count());
    AGENTD_TRY_VOID(out.load({records.begin() + static_cast<std::ptrdiff_t>(from - 1), records.end()}));
    return out;
  }
  // One apply() for each commit that ends at one of `ends`.
  Result<Conversation> applied(std::vector<std::uint64_t> ends) const {
    Conversation out(std::string(kViewId), simple_count());
    std::size_t at = 0;
    ends.push_back(records.size());
    for (const std::uint64_t end : ends) {
      if (end <= at) continue;
      AGENTD_TRY_VOID(out.apply(
          {records.begin() + static_cast<std::ptrdiff_t>(at), records.begin() + static_cast<std::ptrdiff_t>(end)}));
      at = end;
    }
    return out;
  }

  std::vector<StoredRecord> records;
};

Seqs seqs_of(const Result<Conversation>& conversation) {
  EXPECT_TRUE(conversation) << (conversation ? "" : conversation.error().message);
  return conversation ? sequences(conversation->rows()) : Seqs{};
}

TEST(View, HoldsTheMessagesInOrder) {
  TestLog log;
  log.push(write_genesis({std::string(kViewId), {}, {}, {}, {}, {}, 0, {}}));
  log.user();
  log.push(write_run_begin({}));
  log.assistant();
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{2, 4}));
  EXPECT_EQ(log.loaded()->revision(), 4u);
}

TEST(View, BoundaryPutsTheSummaryBeforeWhatItKeeps) {
  TestLog log;
  for (int i = 0; i < 6; ++i) log.user();
  const auto summary = log.summary();
  log.boundary(6, summary, {{5, 6}});
  log.user();
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{7, 5, 6, 9}));
  EXPECT_EQ(seqs_of(log.applied({6, 8})), (Seqs{7, 5, 6, 9}));
  EXPECT_EQ(log.loaded()->rows()[0].role, AGENTD_ROLE_SUMMARY);
  EXPECT_EQ(log.loaded()->compactions(), 1u);
}

TEST(View, ReplacementShowsItsLiteralsInTheirPlaces) {
  TestLog log;
  for (int i = 0; i < 4; ++i) log.user();
  const auto a = log.literal("before");
  const auto b = log.literal("after");
  log.boundary(4, 0, {{a, a}, {2, 3}, {b, b}});
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{5, 2, 3, 6}));
  EXPECT_EQ(seqs_of(log.applied({4})), (Seqs{5, 2, 3, 6}));
}

TEST(View, RevertBringsBackWhatWasHiddenAndThenEverythingSince) {
  TestLog log;
  for (int i = 0; i < 4; ++i) log.user();
  const auto summary = log.summary();
  const auto boundary = log.boundary(4, summary, {{4, 4}});
  log.user("since");
  log.revert(boundary);
  log.user("later");
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{1, 2, 3, 4, 7, 9}));
  EXPECT_EQ(log.loaded()->compactions(), 0u);
}

TEST(View, LiteralsOfARevertedReplacementDoNotComeBackWithTheNextMessage) {
  TestLog log;
  for (int i = 0; i < 3; ++i) log.user();
  const auto literal = log.literal("gone with the undo");
  const auto boundary = log.boundary(3, 0, {{literal, literal}});
  log.revert(boundary);
  log.user("next");
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{1, 2, 3, 7}));
}

TEST(View, ChainedBoundariesKeepPartsOfKeptParts) {
  TestLog log;
  for (int i = 0; i < 6; ++i) log.user();
  const auto first = log.summary("one");
  log.boundary(6, first, {{4, 6}});
  log.user();  // 9
  const auto second = log.summary("two");
  log.boundary(9, second, {{6, 6}, {9, 9}});
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{10, 6, 9}));
  EXPECT_EQ(seqs_of(log.applied({6, 8, 9, 11})), (Seqs{10, 6, 9}));
}

TEST(View, RevertOfTheSecondBoundaryBringsBackTheFirstView) {
  TestLog log;
  for (int i = 0; i < 6; ++i) log.user();
  log.boundary(6, log.summary("one"), {{4, 6}});
  log.user();  // 9
  const auto second = log.boundary(9, log.summary("two"), {{9, 9}});
  log.user();  // 12
  log.revert(second);
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{7, 4, 5, 6, 9, 12}));
  EXPECT_EQ(log.loaded()->compactions(), 1u);
}

TEST(View, BothBoundariesCanBeReverted) {
  TestLog log;
  for (int i = 0; i < 3; ++i) log.user();
  const auto first = log.boundary(3, log.summary("one"), {});
  log.user();  // 6
  const auto second = log.boundary(6, log.summary("two"), {});
  log.revert(second);
  log.revert(first);
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{1, 2, 3, 6}));
}

TEST(View, RevertOfAnythingButTheLastBoundaryIsCorrupt) {
  TestLog log;
  log.user();
  log.user();
  log.revert(2);
  const auto loaded = log.loaded();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kCorrupt);
}

TEST(View, LoadFromTheIndexToleratesARevertOfWhatLiesBeforeIt) {
  TestLog log;
  for (int i = 0; i < 4; ++i) log.user();
  const auto first = log.boundary(4, log.summary("one"), {});  // 5, 6
  log.user();                                                  // 7
  log.revert(first);                                           // 8
  const auto summary = log.summary("two");                     // 9
  log.boundary(8, summary, {{7, 7}});
  EXPECT_EQ(seqs_of(log.loaded(7)), (Seqs{9, 7}));
  EXPECT_EQ(seqs_of(log.loaded(1)), (Seqs{9, 7}));
}

TEST(View, RevertInARunningProcessAsksForALoad) {
  TestLog log;
  log.user();
  const auto boundary = log.boundary(1, log.summary(), {});
  log.revert(boundary);
  const auto applied = log.applied({1, 3});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Code::kConflict);
}

TEST(View, PrunesShortenTheTextAndMarkTheBlock) {
  TestLog log;
  log.push(write_tool_result({"c", "bash", std::string(500, 'x'), "ok", {}, 0, 0}));
  log.boundary(1, 0, {{1, 1}}, {{1, 0, 20}});
  const auto loaded = log.loaded();
  const agentd_block& block = blocks_of(loaded->rows()[0])[0];
  EXPECT_TRUE(full_text(block).starts_with(std::string(20, 'x') + "\n[... shortened"));
  EXPECT_NE(block.flags & AGENTD_BLOCK_PRUNED, 0);
  EXPECT_EQ(fingerprints(log.applied({1})->rows()), fingerprints(loaded->rows()));
}

TEST(View, PruneThatIsKeptUpByTheNextBoundaryReadsTheSame) {
  TestLog log;
  log.push(write_tool_result({"c", "bash", std::string(500, 'x'), "ok", {}, 0, 0}));
  log.boundary(1, 0, {{1, 1}}, {{1, 0, 20}});
  log.user();
  log.boundary(3, 0, {{1, 1}, {3, 3}}, {{1, 0, 20}});
  EXPECT_EQ(fingerprints(log.applied({1, 2, 3})->rows()), fingerprints(log.loaded()->rows()));
}

TEST(View, PruneInTheMiddleOfACharacterReadsTheSameTwice) {
  TestLog log;
  std::string text = "a";
  for (int i = 0; i < 100; ++i) text += "\xE2\x82\xAC";
  log.push(write_tool_result({"c", "bash", text, "ok", {}, 0, 0}));
  log.boundary(1, 0, {{1, 1}}, {{1, 0, 21}});
  log.boundary(2, 0, {{1, 1}}, {{1, 0, 21}});
  EXPECT_EQ(fingerprints(log.applied({1, 2})->rows()), fingerprints(log.loaded()->rows()));
}

TEST(View, PruneThatIsTakenBackAsksForALoad) {
  TestLog log;
  log.push(write_tool_result({"c", "bash", std::string(500, 'x'), "ok", {}, 0, 0}));
  log.boundary(1, 0, {{1, 1}}, {{1, 0, 20}});
  log.boundary(2, 0, {{1, 1}}, {{1, 0, 40}});
  EXPECT_EQ(log.applied({1, 2}).error().code, Code::kConflict);
  EXPECT_EQ(full_text(blocks_of(log.loaded()->rows()[0])[0]).find("\n"), 40u);
}

TEST(View, PrunesOfMessagesThatAreNotThereAreIgnored) {
  TestLog log;
  log.user("short");
  log.boundary(1, 0, {{1, 1}}, {{1, 0, 20}, {1, 7, 1}, {99, 0, 1}});
  EXPECT_EQ(full_text(blocks_of(log.loaded()->rows()[0])[0]), "short");
}

TEST(View, StoredSummaryThatNoBoundaryNamesIsNoPartOfTheView) {
  TestLog log;
  log.user();
  log.summary("only stored");
  log.user();
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{1, 3}));
  EXPECT_EQ(seqs_of(log.applied({1, 2})), (Seqs{1, 3}));
}

Record unknown(std::uint8_t flags) {
  Record record;
  record.type = static_cast<RecordType>(99);
  record.flags = flags;
  record.payload = "{}";
  return record;
}

TEST(View, UnknownOptionalRecordIsSkipped) {
  TestLog log;
  log.user();
  log.push(unknown(0));
  log.user();
  EXPECT_EQ(seqs_of(log.loaded()), (Seqs{1, 3}));
}

TEST(View, UnknownCriticalRecordIsRefusedWithWhatToDo) {
  TestLog log;
  log.user();
  log.push(unknown(Record::kCritical));
  const auto loaded = log.loaded();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kCorrupt);
  EXPECT_NE(loaded.error().message.find("update agentd"), std::string::npos);
}

TEST(View, MessageThatDoesNotReadIsCorrupt) {
  TestLog log;
  Record record = write_message({Message::of_text(Role::kUser, "x"), StopReason::kEndTurn, {}, {}});
  record.payload = "{broken";
  log.push(record);
  ASSERT_FALSE(log.loaded());
  EXPECT_EQ(log.loaded().error().code, Code::kCorrupt);
}

TEST(View, RowsThatWerePinnedStayWhenABoundaryComes) {
  TestLog log;
  log.user("one");
  log.user("two");
  Conversation conversation(std::string(kViewId), simple_count());
  ASSERT_TRUE(conversation.apply(log.records));
  const Rows pinned = conversation.pin();
  const auto before = fingerprints(pinned);
  log.boundary(2, log.summary(), {});
  ASSERT_TRUE(conversation.apply({log.records.begin() + 2, log.records.end()}));
  EXPECT_EQ(conversation.rows().size(), 1u);
  EXPECT_EQ(fingerprints(pinned), before);
}

TEST(Conversation, OpenCallsAreThoseWithoutAResult) {
  TestLog log;
  Message asks = Message::of_text(Role::kAssistant, "");
  asks.blocks = {Block::tool_use("c1", "bash", "{}"), Block::tool_use("c2", "read_file", "{}")};
  log.push(write_message({asks, StopReason::kToolUse, {}, {}}));
  log.push(write_tool_result({"c1", "bash", "ok", "ok", {}, 0, 0}));
  const auto open = log.loaded()->open_calls();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].first, "c2");
  EXPECT_EQ(open[0].second, "read_file");
}

// In older logs an id belonged to one call only.
TEST(Conversation, AResultAnswersEveryCallOfItsIdBeforeItAndNoneBehindIt) {
  TestLog log;
  Message twice = Message::of_text(Role::kAssistant, "");
  twice.blocks = {Block::tool_use("c1", "bash", "{}"), Block::tool_use("c2", "bash", "{}"),
                  Block::tool_use("c1", "read_file", "{}")};
  log.push(write_message({twice, StopReason::kToolUse, {}, {}}));
  log.push(write_tool_result({"c1", "bash", "ok", "ok", {}, 0, 0}));
  log.push(write_tool_result({"c2", "bash", "ok", "ok", {}, 0, 0}));
  EXPECT_TRUE(log.loaded()->open_calls().empty());
  log.push(write_message({twice, StopReason::kToolUse, {}, {}}));
  const auto open = log.loaded()->open_calls();
  ASSERT_EQ(open.size(), 3u);
  EXPECT_EQ(open[0].first + open[1].first + open[2].first, "c1c2c1");
}

TEST(Conversation, ProvidersReportIsForgottenWhenTheViewChanges) {
  TestLog log;
  log.user();
  const auto answer = log.assistant();
  log.push(write_usage({{100, 20, 0, 0, 0, 0}, answer, "turn"}));
  EXPECT_EQ(log.loaded()->reported_seq(), answer);
  EXPECT_EQ(log.loaded()->last_report().input, 100u);
  log.boundary(3, log.summary(), {});
  log.push(write_usage({{7, 1, 0, 0, 0, 0}, 0, "summary"}));
  EXPECT_EQ(log.loaded()->reported_seq(), 0u);
  EXPECT_EQ(log.loaded()->usage().input, 107u);
}

TEST(Conversation, TotalsOfTheWholeLogCanBeRestored) {
  TestLog log;
  log.user();
  log.boundary(1, log.summary(), {});
  auto part = log.loaded(2);
  part->restore_totals({1000, 10, 0, 0, 0, 0}, 7, 5);
  EXPECT_EQ(part->usage().input, 1000u);
  EXPECT_EQ(part->runs(), 7u);
  EXPECT_EQ(part->compactions(), 5u);
}

// ---- properties

// Appends a boundary such as a compaction or a replacement leaves: kept rows as ranges, literals between.
void add_boundary(RandomLog& log, const Conversation& now) {
  const Rows& rows = now.rows();
  BoundaryRecord made;
  made.id = "B" + std::to_string(log.revision());
  made.base_seq = log.revision();
  const bool summarised = log.below(2) == 0;
  if (summarised)
    made.summary_seq =
        log.push(write_message({Message::of_text(Role::kSummary, log.text()), StopReason::kEndTurn, {}, {}}));
  const std::uint32_t keep = log.below(rows.size() + 1);
  for (std::uint32_t i = rows.size() - keep; i < rows.size(); ++i) {
    if (log.below(8) == 0) {
      const std::uint64_t seq = log.revision() + 1;
      log.context();
      made.kept.push_back({seq, seq});
    }
    if (log.below(5) != 0) made.kept.push_back({rows[i].seq, rows[i].seq});
  }
  log.push(write_boundary(made));
}

// Steps, boundaries and, with `reverts`, undos; `boundaries` are those in effect.
void grow(RandomLog& log, bool reverts) {
  std::vector<std::uint64_t> counting;
  for (int i = 0; i < 60; ++i) {
    const std::uint32_t dice = log.below(20);
    if (dice == 0) {
      Conversation now(std::string(kViewId), simple_count());
      ASSERT_TRUE(now.load(log.records()));
      add_boundary(log, now);
      counting.push_back(log.revision());
    } else if (dice == 1 && reverts && !counting.empty()) {
      ViewState now;
      for (const StoredRecord& record : log.records()) ASSERT_TRUE(now.apply(record));
      ASSERT_EQ(now.revert_of_last().to_seq, counting.back());
      // Older records do not say what they restore.
      log.push(write_revert(log.below(3) == 0 ? RevertRecord{counting.back()} : now.revert_of_last()));
      counting.pop_back();
    } else if (dice == 2) {
      log.push(write_message({Message::of_text(Role::kSummary, "stored"), StopReason::kEndTurn, {}, {}}));
    } else {
      log.step();
    }
  }
}

TEST(ConversationProperty, LoadAndApplyGiveTheSameRows) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLog log(seed);
    grow(log, false);
    Conversation loaded(std::string(kViewId), simple_count());
    ASSERT_TRUE(loaded.load(log.records()));
    Conversation applied(std::string(kViewId), simple_count());
    std::vector<StoredRecord> batch;
    for (const StoredRecord& record : log.records()) {
      batch.push_back(record);
      // A boundary is committed with its summary and literals; other commits end anywhere.
      const bool ends = record.record.type == RecordType::kBoundary || record.record.type == RecordType::kUsage;
      if (!ends) continue;
      ASSERT_TRUE(applied.apply(batch));
      batch.clear();
    }
    ASSERT_TRUE(applied.apply(batch));
    ASSERT_EQ(fingerprints(applied.rows()), fingerprints(loaded.rows()));
    EXPECT_EQ(applied.rows().tokens(), loaded.rows().tokens());
    EXPECT_EQ(applied.revision(), loaded.revision());
    EXPECT_EQ(applied.usage(), loaded.usage());
    EXPECT_EQ(applied.compactions(), loaded.compactions());
    EXPECT_EQ(applied.reported_seq(), loaded.reported_seq());
  }
}

TEST(ConversationProperty, PartOfTheLogFromTheIndexGivesTheSameRows) {
  std::uint64_t skipped = 0;
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLog log(seed);
    grow(log, true);
    ConversationInfo info;
    for (const StoredRecord& record : log.records()) ASSERT_TRUE(fold(info, record));
    Conversation whole(std::string(kViewId), simple_count());
    ASSERT_TRUE(whole.load(log.records()));
    Conversation part(std::string(kViewId), simple_count());
    const auto loaded = part.load(log.from(info.view_first_seq));
    ASSERT_TRUE(loaded) << loaded.error().message;
    part.restore_totals(info.usage, info.runs, static_cast<std::uint32_t>(info.compactions));
    ASSERT_EQ(fingerprints(part.rows()), fingerprints(whole.rows()));
    EXPECT_EQ(part.usage(), whole.usage());
    EXPECT_EQ(part.compactions(), whole.compactions());
    EXPECT_EQ(part.reported_seq(), whole.reported_seq());
    skipped += info.view_first_seq > 1 ? info.view_first_seq - 1 : 0;
  }
  EXPECT_GT(skipped, 1000u);  // the index really saves reading
}

TEST(ConversationProperty, RevertGivesBackTheRowsOfBeforeTheBoundary) {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLog log(seed);
    grow(log, true);
    Conversation before(std::string(kViewId), simple_count());
    ASSERT_TRUE(before.load(log.records()));
    add_boundary(log, before);
    const std::uint64_t boundary = log.revision();
    for (std::uint32_t i = log.below(3); i > 0; --i) log.context();
    const std::uint64_t since = log.revision() - boundary;
    log.push(write_revert({boundary}));
    log.context();
    Conversation after(std::string(kViewId), simple_count());
    ASSERT_TRUE(after.load(log.records()));
    const auto was = fingerprints(before.rows());
    auto is = fingerprints(after.rows());
    ASSERT_EQ(is.size(), was.size() + since + 1);
    is.resize(was.size());
    EXPECT_EQ(is, was);
  }
}

}  // namespace
}  // namespace agentd
