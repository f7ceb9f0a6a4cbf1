// SPDX-License-Identifier: Apache-2.0
// A summary that cannot be had now, one that was cut, and what a cut without a summary leaves
// behind.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::AgentTest;
using testing::FakeModel;

class Trouble : public AgentTest {
 protected:
  // About 6,080 tokens, of 6,400 that make compaction due and 7,600 that force it.
  void open_filled() {
    open();
    fill(6);
    model_.requests.clear();
    events_.told.clear();
  }
  // A run whose question makes compaction due: 83 % and 88 % of the limit.
  Result<RunReport, RunError> ask_much() { return run(std::string(2'400, 'q')); }
  // A run past the force line.
  Result<RunReport, RunError> ask_too_much() { return run(std::string(6'600, 'q')); }
  void fail_both(ModelErrorKind kind = ModelErrorKind::kOverloaded) {
    model_.fail(kind, "529 overloaded").fail(kind, "529 overloaded");
  }
  std::vector<BoundaryRecord> boundaries() const {
    std::vector<BoundaryRecord> out;
    for (const StoredRecord& record : log())
      if (record.record.type == RecordType::kBoundary) out.push_back(*read_boundary(record.record));
    return out;
  }
  std::vector<FakeModel::Seen> asked(std::string_view purpose) const {
    std::vector<FakeModel::Seen> out;
    for (const FakeModel::Seen& seen : model_.requests)
      if (seen.purpose == purpose) out.push_back(seen);
    return out;
  }
  std::string warnings() const {
    std::string out;
    for (const auto& told : events_.of(RunEvent::Type::kWarning)) out += told.text + "\n";
    return out;
  }
  std::string reason() const {
    const auto told = events_.of(RunEvent::Type::kCompactionOutcome);
    return told.empty() ? "" : told.back().text;
  }
  Result<CompactionReport, RunError> compact() { return session_->compact({}, false, cancel_); }
};

// ---- what passes is waited for

TEST_F(Trouble, ThatPassesLeavesTheViewAsItIsAndTheNextTurnCompacts) {
  open_filled();
  const std::uint32_t rows = stored_view().rows().size();
  fail_both();
  model_.say("answer");
  EXPECT_EQ(text_of(ask_much()), "answer");
  EXPECT_EQ(events_.outcomes(), "failed");
  EXPECT_NE(reason().find("529 overloaded"), std::string::npos) << reason();
  EXPECT_NE(reason().find("a later turn tries again"), std::string::npos) << reason();
  EXPECT_TRUE(boundaries().empty());
  EXPECT_EQ(stored_view().rows().size(), rows + 2);
  EXPECT_NE(model_.requests.back().all_text().find("question 0"), std::string::npos);
  model_.say("a fine summary").say("answer");
  ASSERT_TRUE(run("go on"));
  EXPECT_EQ(events_.outcomes(), "failed,applied");
  EXPECT_EQ(boundaries().back().method, "summary");
}

TEST_F(Trouble, OfEveryKindThatPassesIsWaitedFor) {
  for (const ModelErrorKind kind :
       {ModelErrorKind::kRateLimit, ModelErrorKind::kServer, ModelErrorKind::kNetwork, ModelErrorKind::kInterrupted}) {
    open_filled();
    fail_both(kind);
    model_.say("answer");
    ASSERT_TRUE(ask_much());
    EXPECT_EQ(events_.outcomes(), "failed") << name_of(kind);
  }
}

TEST_F(Trouble, ThatStaysIsCutAtOnce) {
  open_filled();
  model_.fail(ModelErrorKind::kBilling, "no money").say("answer");
  ASSERT_TRUE(ask_much());
  EXPECT_EQ(events_.outcomes(), "degraded");
  EXPECT_EQ(boundaries().back().method, "truncate");
}

TEST_F(Trouble, ThatPassesIsCutWhereTheNextRequestWouldNotFit) {
  open_filled();
  fail_both();
  model_.say("answer");
  ASSERT_TRUE(ask_too_much());
  EXPECT_EQ(events_.outcomes(), "degraded");
  open_filled();
  model_.fail(ModelErrorKind::kContextLength, "too long");
  fail_both();
  model_.say("answer");
  ASSERT_TRUE(run("more"));
  EXPECT_EQ(events_.outcomes(), "degraded");
}

TEST_F(Trouble, ThatLastsIsAskedAboutLessAndLessOftenAlsoByOtherProcesses) {
  open_filled();
  std::string tried;
  model_.during = [this](const ModelRequest& request) {
    if (request.purpose == "summary")
      model_.fail(ModelErrorKind::kOverloaded, "529 overloaded");
    else
      model_.say("x");
  };
  for (int i = 0; i < 9; ++i) {
    model_.requests.clear();
    ASSERT_TRUE(i == 0 ? ask_much() : run("y"));
    tried += asked("summary").empty() ? '.' : '!';
    reopen();
  }
  EXPECT_EQ(tried, "!!.!...!.");
}

TEST_F(Trouble, OfTheCheapModelIsNoneOfTheConversationsOwn) {
  open_filled();
  model_.fail(ModelErrorKind::kOverloaded, "529 overloaded").say("a fine summary").say("answer");
  ASSERT_TRUE(ask_much());
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(boundaries().back().model, "m-1");
  EXPECT_NE(warnings().find("cheap cannot summarise"), std::string::npos) << warnings();
}

TEST_F(Trouble, OfOnePartCostsThatPartAlone) {
  options_.summary_model = "m-too";
  options_.auto_compact = false;
  open();
  fill(9);
  model_.requests.clear();
  model_.say("part one").fail(ModelErrorKind::kOverloaded, "529").fail(ModelErrorKind::kInterrupted, "cut");
  model_.say("part two").say("the whole");
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_APPLIED}) << report->text;
  std::string parts;
  for (const FakeModel::Seen& seen : asked("summary")) parts += seen.all_text().substr(0, 7) + "|";
  EXPECT_EQ(parts, "[Part 1|[Part 2|[Part 2|[Part 2|[Summar|");
}

// ---- a cut is mended

TEST_F(Trouble, WhatWasCutIsInTheNextSummaryAlsoAfterAnotherCut) {
  open_filled();
  model_.during = [this](const ModelRequest& request) {
    if (request.purpose == "summary")
      model_.fail(ModelErrorKind::kBilling, "no money");
    else
      model_.say(std::string(1'200, 'x'));
  };
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(run("later " + std::to_string(i) + std::string(1'200, '.')));
    reopen();
  }
  ASSERT_GE(boundaries().size(), 2u);
  for (const BoundaryRecord& boundary : boundaries()) EXPECT_EQ(boundary.method, "truncate");
  EXPECT_EQ(model_.requests.back().all_text().find("question 1"), std::string::npos);
  reopen();
  model_.requests.clear();
  model_.during = [this](const ModelRequest&) { model_.say("a fine summary"); };
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_APPLIED}) << report->text;
  std::string read;
  for (const FakeModel::Seen& seen : asked("summary")) read += seen.all_text();
  for (int i = 0; i < 6; ++i) EXPECT_NE(read.find("question " + std::to_string(i)), std::string::npos) << i;
  for (int i = 0; i < 8; ++i) EXPECT_NE(read.find("later " + std::to_string(i)), std::string::npos) << i;
  EXPECT_EQ(read.find("were left out here"), std::string::npos);
}

TEST_F(Trouble, WhatWasCutIsInTheNextSummaryOnceAndInItsOrder) {
  open();
  fill(6);
  model_.fail(ModelErrorKind::kContextLength, "too long").fail(ModelErrorKind::kBilling, "no money").say("answer");
  ASSERT_TRUE(run("the newest"));
  ASSERT_EQ(boundaries().back().method, "truncate");
  model_.requests.clear();
  model_.say("a fine summary");
  ASSERT_TRUE(compact());
  ASSERT_EQ(model_.requests.size(), 1u);
  std::string order;
  for (const Message& message : model_.requests[0].messages) {
    const std::string text = message.text();
    EXPECT_EQ(text.find("were left out here"), std::string::npos);
    order += text.starts_with("question ") ? text[9] : text[0];
  }
  EXPECT_EQ(order, "0a1b2c3d4e5fta");
  EXPECT_EQ(stored_view().rows().size(), 1u);
}

// ---- a summary that was cut

TEST_F(Trouble, ASummaryThatWasCutIsAskedForOnceMoreAndShorter) {
  open_filled();
  model_.say_cut("so far so").say("whole and short");
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_APPLIED}) << report->text;
  EXPECT_EQ(report->summary, "whole and short");
  ASSERT_EQ(model_.requests.size(), 2u);
  EXPECT_EQ(model_.requests[0].closing_text.find("Write it anew"), std::string::npos);
  EXPECT_NE(model_.requests[1].closing_text.find("Write it anew, in at most 1250 tokens"), std::string::npos)
      << model_.requests[1].closing_text;
}

TEST_F(Trouble, ASummaryThatWasCutTwiceIsNoneOnRequest) {
  open_filled();
  const std::uint64_t revision = stored_view().rows().size();
  model_.say_cut("so far so").say_cut("so far again");
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_FAILED});
  EXPECT_NE(report->text.find("raise compaction.summary_tokens"), std::string::npos) << report->text;
  EXPECT_EQ(model_.requests.size(), 2u);
  EXPECT_TRUE(boundaries().empty());
  EXPECT_EQ(stored_view().rows().size(), revision);
}

TEST_F(Trouble, ASummaryThatWasCutTwiceIsDegradedAndToldByAnAutomaticDoor) {
  open_filled();
  model_.say_cut("so far so").say_cut("so far again").say("answer");
  EXPECT_EQ(text_of(ask_much()), "answer");
  EXPECT_EQ(events_.outcomes(), "degraded");
  EXPECT_EQ(boundaries().back().method + " " + boundaries().back().result, "summary degraded");
  EXPECT_NE(warnings().find("the summary was cut"), std::string::npos) << warnings();
  EXPECT_NE(model_.requests.back().all_text().find("so far again\n\n[The summary ends here"), std::string::npos);
}

TEST_F(Trouble, ACutPartMakesTheWholeSummaryACutOne) {
  options_.summary_model = "m-too";
  options_.auto_compact = false;
  open();
  fill(9);
  model_.say("part one").say_cut("part tw").say_cut("part t").say("the whole");
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_FAILED}) << report->text;
  EXPECT_TRUE(boundaries().empty());
}

TEST_F(Trouble, ThinkingThatLeavesNoRoomForASummaryIsACutOne) {
  open_filled();
  model_.say_cut("").say("whole and short");
  EXPECT_EQ(compact()->outcome, std::uint32_t{AGENTD_RESULT_APPLIED});
  model_.say("more").say_cut("").say_cut(" ");
  ASSERT_TRUE(run("go on"));
  const auto report = compact();
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_FAILED});
  EXPECT_NE(report->text.find("before its first word"), std::string::npos) << report->text;
}

TEST_F(Trouble, ASummaryForAHookIsNeverACutOne) {
  open_filled();
  ServiceCaller caller;
  caller.conversation = 0;
  Rows rows([this](const agentd_message& row) { return estimator_.count_row(row); });
  rows.append(Message::of_text(Role::kUser, std::string(4'000, 'q')), 0, 0);
  model_.say_cut("so far").say_cut("so");
  const auto answer = services().compact(caller, {0, 0, 0, rows.list()}, {});
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message.find("was cut"), std::string::npos) << answer.error().message;
}

TEST_F(Trouble, HowLongASummaryMayBeIsTheUsersChoice) {
  options_.summary_tokens = 300;
  open_filled();
  model_.say("summary");
  ASSERT_TRUE(compact());
  EXPECT_EQ(model_.requests[0].max_output_tokens, 300u);
}

}  // namespace
}  // namespace agentd
