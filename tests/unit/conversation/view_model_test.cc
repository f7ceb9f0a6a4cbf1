// SPDX-License-Identifier: Apache-2.0
// The view against a simple model that keeps every list: random messages, boundaries of all kinds, prunes and undos.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/conversation/info.h"
#include "core/conversation/view.h"
#include "tests/support/histories.h"

namespace agentd {
namespace {

using testing::fingerprints;
using testing::RandomLog;
using testing::simple_count;

constexpr std::string_view kId = "01J9ZQ2V8M4T0C7X5R3N6K1B2D";

// The view in its simplest form: a list of sequences, and where texts are cut.
struct Model {
  using Cuts = std::map<std::uint64_t, std::uint64_t>;  // sequence -> remaining bytes
  struct Hidden {
    std::uint64_t boundary = 0;
    std::vector<std::uint64_t> list;
    Cuts cuts;
  };
  std::vector<std::uint64_t> list;
  Cuts cuts;
  std::vector<Hidden> hidden;

  void message(std::uint64_t seq) { list.push_back(seq); }
  void boundary(std::uint64_t seq, std::vector<std::uint64_t> before, std::vector<std::uint64_t> after, Cuts now) {
    hidden.push_back({seq, std::move(before), cuts});
    list = std::move(after);
    cuts = std::move(now);
  }
  void undo() {
    std::vector<std::uint64_t> back = hidden.back().list;
    for (const std::uint64_t seq : list)
      if (seq > hidden.back().boundary) back.push_back(seq);
    cuts = hidden.back().cuts;
    list = std::move(back);
    hidden.pop_back();
  }
};

class Walk {
 public:
  explicit Walk(std::uint32_t seed) : log(seed) {}

  void step() {
    const std::uint32_t dice = log.below(12);
    if (dice == 0) return compact();
    if (dice <= 2 && !model.hidden.empty()) return undo();
    if (dice == 3) {
      log.push(write_message({Message::of_text(Role::kSummary, "only stored"), StopReason::kEndTurn, {}, {}}));
      return;
    }
    const std::uint64_t before = log.revision();
    log.step();
    for (std::uint64_t seq = before + 1; seq <= log.revision(); ++seq)
      if (carries_message(log.records()[seq - 1].record.type)) {
        model.message(seq);
        said.push_back(seq);
      }
  }

  RandomLog log;
  Model model;
  std::vector<std::uint64_t> said;  // every message that is not a literal of a replacement

 private:
  // With or without a summary and literals, some rows of the view in their order, some texts cut.
  void compact() {
    const std::vector<std::uint64_t> before = model.list;
    BoundaryRecord made;
    made.id = "B" + std::to_string(log.revision());
    made.base_seq = log.revision();
    std::vector<std::uint64_t> after;
    if (log.below(2) == 0) {
      made.summary_seq =
          log.push(write_message({Message::of_text(Role::kSummary, log.text()), StopReason::kEndTurn, {}, {}}));
      after.push_back(made.summary_seq);
    }
    if (log.below(4) == 0) {
      log.context();
      made.kept.push_back({log.revision(), log.revision()});
      after.push_back(log.revision());
    }
    const bool prune_only = log.below(3) == 0;
    Model::Cuts cuts = model.cuts;
    for (const std::uint64_t seq : before) {
      if (!prune_only && log.below(3) == 0) continue;
      made.kept.push_back({seq, seq});
      after.push_back(seq);
      if (log.below(5) == 0) cuts[seq] = log.below(30);
    }
    for (const auto& [seq, bytes] : cuts) made.prunes.push_back({seq, 0, bytes});
    const std::uint64_t at = log.push(write_boundary(made));
    model.boundary(at, before, after, cuts);
  }

  void undo() {
    ViewState view;
    for (const StoredRecord& record : log.records()) ASSERT_TRUE(view.apply(record));
    RevertRecord revert = view.revert_of_last();
    ASSERT_EQ(revert.to_seq, model.hidden.back().boundary);
    if (log.below(4) == 0) revert = {revert.to_seq, 0, 0};
    log.push(write_revert(revert));
    model.undo();
  }
};

void expect_rows(const Conversation& conversation, const Walk& walk) {
  const Rows& rows = conversation.rows();
  ASSERT_EQ(testing::sequences(rows), walk.model.list);
  for (const agentd_message& row : rows) {
    auto message = read_message(walk.log.records()[row.seq - 1].record);
    ASSERT_TRUE(message);
    const auto cut = walk.model.cuts.find(row.seq);
    const std::string& whole = message->message.blocks[0].text;
    const std::string_view shown = full_text(blocks_of(row)[0]);
    if (cut == walk.model.cuts.end() || whole.size() <= cut->second)
      ASSERT_EQ(shown, whole);
    else
      ASSERT_TRUE(shown.starts_with(whole.substr(0, cut->second) + "\n[...")) << shown;
  }
  EXPECT_EQ(conversation.compactions(), walk.model.hidden.size());
}

TEST(ViewModel, ViewIsThatOfTheModelAfterEveryStep) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk walk(seed);
    for (int i = 0; i < 60; ++i) {
      walk.step();
      if (::testing::Test::HasFatalFailure()) return;
      Conversation whole(std::string(kId), simple_count());
      ASSERT_TRUE(whole.load(walk.log.records()));
      expect_rows(whole, walk);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ViewModel, IndexFindsTheViewWithoutTheWholeLog) {
  std::uint64_t skipped_after_undo = 0;
  for (std::uint32_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk walk(seed);
    for (int i = 0; i < 80; ++i) walk.step();
    ConversationInfo info;
    for (const StoredRecord& record : walk.log.records()) ASSERT_TRUE(fold(info, record));
    Conversation part(std::string(kId), simple_count());
    const auto loaded = part.load(walk.log.from(info.view_first_seq));
    ASSERT_TRUE(loaded) << loaded.error().message;
    part.restore_totals(info.usage, info.runs, static_cast<std::uint32_t>(info.compactions));
    expect_rows(part, walk);
    if (::testing::Test::HasFatalFailure()) return;
    EXPECT_EQ(info.compactions, walk.model.hidden.size());
    const bool undone = walk.log.records().back().record.type == RecordType::kRevert;
    if (undone && info.boundary_seq != 0) {
      EXPECT_EQ(info.boundary_seq, walk.model.hidden.back().boundary);
      skipped_after_undo += info.view_first_seq - 1;
    }
  }
  EXPECT_GT(skipped_after_undo, 0u);  // an undo keeps the index's starting point
}

TEST(ViewModel, UndoingEverythingGivesBackAllMessagesOfTheLog) {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk walk(seed);
    for (int i = 0; i < 60; ++i) walk.step();
    while (!walk.model.hidden.empty()) {
      walk.log.push(write_revert({walk.model.hidden.back().boundary}));
      walk.model.undo();
    }
    Conversation whole(std::string(kId), simple_count());
    ASSERT_TRUE(whole.load(walk.log.records()));
    expect_rows(whole, walk);
    EXPECT_TRUE(walk.model.cuts.empty());
    EXPECT_TRUE(std::is_sorted(walk.model.list.begin(), walk.model.list.end()));
    EXPECT_EQ(walk.model.list, walk.said);
  }
}

}  // namespace
}  // namespace agentd
