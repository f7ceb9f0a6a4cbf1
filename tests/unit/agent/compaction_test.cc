// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/agent_fixture.h"
#include "tests/support/histories.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::fingerprints;
using testing::set_action;
using testing::TestCall;

class Compacting : public AgentTest {
 protected:
  // About 7,000 tokens of history: over the threshold of 6,400, under the force of 7,600.
  void open_full(int rounds = 6) {
    open();
    fill(rounds);
    model_.requests.clear();
    events_.told.clear();
  }
  std::string warnings() const {
    std::string out;
    for (const auto& told : events_.of(RunEvent::Type::kWarning)) out += told.text + "\n";
    return out;
  }
  BoundaryRecord last_boundary() const {
    BoundaryRecord out;
    for (const StoredRecord& record : log())
      if (record.record.type == RecordType::kBoundary) out = *read_boundary(record.record);
    return out;
  }
  Result<CompactionReport, RunError> compact(CompactOptions options = {}, bool dry = false) {
    return session_->compact(options, dry, cancel_);
  }
};

TEST_F(Compacting, ThresholdCompactsBeforeTheRequestAndKeepsTheTail) {
  open_full();
  const Conversation before = stored_view();
  model_.say("a fine summary").say("answer");
  EXPECT_EQ(text_of(run(std::string(2'400, 'q'))), "answer");
  EXPECT_EQ(events_.outcomes(), "applied");
  ASSERT_EQ(model_.requests.size(), 2u);
  EXPECT_EQ(model_.requests[0].purpose, "summary");
  EXPECT_EQ(model_.requests[0].model, "cheap");
  EXPECT_EQ(model_.requests[1].purpose, "turn");
  const auto& seen = model_.requests[1];
  EXPECT_EQ(seen.messages[0].role, Role::kSummary);
  EXPECT_NE(seen.messages[0].text().find("a fine summary"), std::string::npos);
  // The tail is the end of the old view, byte for byte, and no summarised message comes along.
  const auto was = fingerprints(before.rows());
  const Conversation now = stored_view();
  const BoundaryRecord boundary = last_boundary();
  ASSERT_EQ(boundary.kept.size(), 1u);
  std::vector<std::string> kept;
  for (std::uint32_t i = 0; i < now.rows().size(); ++i)
    if (now.rows()[i].seq <= before.revision()) kept.push_back(testing::fingerprint(now.rows()[i]));
  ASSERT_FALSE(kept.empty());
  EXPECT_TRUE(std::equal(kept.begin(), kept.end(), was.end() - static_cast<std::ptrdiff_t>(kept.size())));
  for (const std::uint64_t seq : seen.seqs) EXPECT_TRUE(seq == boundary.summary_seq || seq >= boundary.kept[0].first);
  EXPECT_EQ(seen.messages.back().text(), std::string(2'400, 'q'));
  EXPECT_EQ(boundary.phase + boundary.reason + boundary.method, "pre_requestthresholdsummary");
}

TEST_F(Compacting, WindowThatFillsDuringARunIsCompactedBetweenTurns) {
  tools_.offer("bash");
  tools_.handler = [](const ToolCall&) {
    ToolOutcome out;
    out.content = std::string(10'000, 'o');
    return Result<ToolOutcome>(out);
  };
  open();
  model_.ask_tools({{"bash", "{}"}}).ask_tools({{"bash", "{}"}}).ask_tools({{"bash", "{}"}});
  model_.say("the summary").say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(last_boundary().phase, "mid_turn");
  EXPECT_TRUE(check_pairs(stored_view().rows().list(), true));
}

TEST_F(Compacting, BelowTheThresholdNothingHappens) {
  open();
  fill(3);
  EXPECT_EQ(events_.outcomes(), "");
}

TEST_F(Compacting, OffSwitchesTheAutomaticDoorAndNotTheManualOne) {
  options_.auto_compact = false;
  open();
  fill(7);
  EXPECT_EQ(events_.outcomes(), "");
  EXPECT_GT(session_->gauge().used, 6'400u);
  model_.say("summary");
  EXPECT_EQ(compact()->outcome, std::uint32_t{AGENTD_RESULT_APPLIED});
}

TEST_F(Compacting, UsageOfASummaryIsChargedButDoesNotEnterTheGauge) {
  open_full();
  model_.say("summary", Usage{5'000, 50, 0, 0, 0, 0}).say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  EXPECT_EQ(store_.info(id())->usage.input, 5'000u);
  EXPECT_LT(session_->gauge().used, 6'400u);
  EXPECT_FALSE(session_->gauge().reported);
}

TEST_F(Compacting, EventsComeInTheDocumentedOrder) {
  std::string order;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "b", [&](const TestCall& call) {
    const auto& before = call.payload<agentd_before_compaction>();
    EXPECT_EQ(before.trigger, AGENTD_TRIGGER_AUTO);
    EXPECT_GE(before.tokens, 6'400u);
    EXPECT_GT(before.messages.count, 0u);
    order += "before(" + std::to_string(model_.requests.size()) + ") ";
    return AGENTD_OK;
  });
  on(AGENTD_EVENT_AFTER_COMPACTION, "a", [&](const TestCall& call) {
    const auto& after = call.payload<agentd_after_compaction>();
    EXPECT_EQ(after.result, AGENTD_RESULT_APPLIED);
    EXPECT_EQ(view_of(after.summary), "summary");
    EXPECT_LT(after.post_tokens, after.pre_tokens);
    EXPECT_EQ(after.usage_before->input, 0u);
    EXPECT_EQ(after.usage_spent->input, 77u);
    EXPECT_EQ(stored_view().compactions(), 1u);  // durable before it is told
    order += "after ";
    return AGENTD_OK;
  });
  on(AGENTD_EVENT_SESSION_START, "s", [&](const TestCall& call) {
    const bool compacted = call.payload<agentd_session_start>().source == AGENTD_SOURCE_COMPACT;
    if (compacted) order += "start ";
    return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, compacted ? "fresh context" : "old context"));
  });
  open_full();
  order.clear();
  model_.say("summary", Usage{77, 5, 0, 0, 0, 0}).say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  EXPECT_EQ(order, "before(0) after start ");
  EXPECT_EQ(model_.requests.back().system, "be good\n\nfresh context");
}

TEST_F(Compacting, ContextFromAfterCompactionIsInTheNextRequest) {
  on(AGENTD_EVENT_AFTER_COMPACTION, "a",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "mind the gap")); });
  open_full();
  model_.say("summary").say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  EXPECT_NE(model_.requests.back().all_text().find("mind the gap"), std::string::npos);
}

TEST_F(Compacting, VetoIsRespectedAndAskedAgainOnlyAfterGrowth) {
  int asked = 0;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "veto", [&](const TestCall& call) {
    ++asked;
    return call.answer(action(AGENTD_ACT_BLOCK, "not now"));
  });
  open();
  fill(6);
  ASSERT_EQ(asked, 0);
  model_.say("a").say("b");
  ASSERT_TRUE(run(std::string(2'000, 'q')));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(events_.outcomes(), "vetoed");
  EXPECT_EQ(events_.of(RunEvent::Type::kCompactionOutcome)[0].text, "veto: not now");
  EXPECT_TRUE(events_.of(RunEvent::Type::kStatus).empty());  // a veto shows no start
  ASSERT_TRUE(run("tiny"));
  EXPECT_EQ(asked, 1);
  model_.say("c");
  ASSERT_TRUE(run(std::string(1'000, 'q')));
  EXPECT_EQ(asked, 2);
}

TEST_F(Compacting, TwoVetoesHoldAtTheForceLineAndTheThirdDoesNot) {
  std::vector<std::uint32_t> vetoes;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "veto", [&](const TestCall& call) {
    vetoes.push_back(call.payload<agentd_before_compaction>().vetoes);
    return call.answer(action(AGENTD_ACT_BLOCK, "never"));
  });
  open();
  fill(6);
  model_.say("a").say("b").say("summary").say("c");
  ASSERT_TRUE(run(std::string(6'600, 'q')));
  ASSERT_TRUE(run("more"));
  EXPECT_EQ(events_.outcomes(), "vetoed,vetoed");
  ASSERT_TRUE(run("more"));
  EXPECT_EQ(events_.outcomes(), "vetoed,vetoed,applied");
  EXPECT_EQ(vetoes, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST_F(Compacting, HookSummaryIsAppliedVerbatimWithoutAModelCall) {
  on(AGENTD_EVENT_BEFORE_COMPACTION, "own",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SUMMARY, "by the hook")); });
  open_full();
  model_.say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  ASSERT_EQ(model_.requests.size(), 1u);
  EXPECT_TRUE(model_.requests[0].messages[0].text().ends_with("\n\nby the hook"));
  EXPECT_EQ(last_boundary().method, "hook");
  EXPECT_EQ(last_boundary().author, "own");
}

TEST_F(Compacting, HookReplacementTakesThePlaceOfTheSummary) {
  on(AGENTD_EVENT_BEFORE_COMPACTION, "own", [](const TestCall& call) {
    Action replace = action(AGENTD_ACT_REPLACE_MESSAGES);
    replace.base_revision = call.raw.envelope->revision;
    ReplacePart part;
    part.literal = Message::of_text(Role::kUser, "all new");
    replace.parts = {part};
    return call.answer(replace);
  });
  open_full();
  model_.say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  EXPECT_EQ(events_.outcomes(), "applied");
  ASSERT_EQ(model_.requests.size(), 1u);
  EXPECT_EQ(model_.requests[0].all_text(), "all new\n");
  EXPECT_EQ(last_boundary().method, "replace");
}

TEST_F(Compacting, HooksSetModelInstructionsAndHowMuchIsKept) {
  on(AGENTD_EVENT_BEFORE_COMPACTION, "tune", [](const TestCall& call) {
    call.emit(set_action(AGENTD_KEY_MODEL, "a-model-with-a-rather-long-name-that-is-allocated"));
    call.emit(set_action(AGENTD_KEY_CUSTOM_INSTRUCTIONS, "mention the tests"));
    return call.answer(set_action(AGENTD_KEY_KEEP_TOKENS, {}, 10));
  });
  std::string told_model;
  on(AGENTD_EVENT_AFTER_COMPACTION, "after", [&](const TestCall& call) {
    told_model = std::string(view_of(call.payload<agentd_after_compaction>().request->model));
    return AGENTD_OK;
  });
  open_full();
  CompactOptions options;
  options.instructions = "be brief";
  options.model = "the-first-model-with-a-name-that-is-allocated-too";
  options.strategy = AGENTD_STRATEGY_TAIL;
  model_.say("summary");
  ASSERT_TRUE(compact(options));
  const std::string& prompt = model_.requests[0].closing_text;
  EXPECT_LT(prompt.find("be brief"), prompt.find("mention the tests"));
  EXPECT_NE(prompt.find("mention the tests"), std::string::npos);
  EXPECT_EQ(model_.requests[0].model, "a-model-with-a-rather-long-name-that-is-allocated");
  EXPECT_EQ(told_model, "a-model-with-a-rather-long-name-that-is-allocated");
}

TEST_F(Compacting, BlankSummaryIsTruncatedByAnAutomaticDoor) {
  open_full();
  model_.say("  \n ").say("answer");
  EXPECT_EQ(text_of(run(std::string(2'400, 'q'))), "answer");
  EXPECT_EQ(events_.outcomes(), "degraded");
  EXPECT_EQ(last_boundary().method, "truncate");
  EXPECT_NE(events_.of(RunEvent::Type::kCompactionOutcome)[0].text.find("summary is empty"), std::string::npos);
  const auto& seen = model_.requests.back().messages;
  EXPECT_NE(seen[0].text().find("left out"), std::string::npos);
  EXPECT_TRUE(seen[1].text().starts_with("question 0"));
}

TEST_F(Compacting, ModelThatFailsIsTruncatedByAnAutomaticDoor) {
  open_full();
  model_.fail(ModelErrorKind::kBilling, "no money").say("answer");
  EXPECT_EQ(text_of(run(std::string(2'400, 'q'))), "answer");
  EXPECT_EQ(events_.outcomes(), "degraded");
}

TEST_F(Compacting, ManualCompactionThatFailsLeavesTheViewAsItWas) {
  open_full();
  const auto before = fingerprints(stored_view().rows());
  for (const char* const summary : {"", " \n\t"}) {
    model_.say(summary);
    const auto report = compact();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_FAILED});
    EXPECT_NE(report->text.find("empty"), std::string::npos);
  }
  EXPECT_EQ(events_.outcomes(), "failed,failed");
  EXPECT_EQ(fingerprints(stored_view().rows()), before);
}

TEST_F(Compacting, ManualCompactionSummarisesEverything) {
  open_full();
  model_.say("summary");
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_APPLIED});
  EXPECT_EQ(report->messages_before, 12u);
  EXPECT_EQ(report->messages_after, 1u);
  EXPECT_EQ(last_boundary().trigger, "manual");
  EXPECT_LT(report->post_tokens, report->pre_tokens);
}

TEST_F(Compacting, DryRunChangesNothingAndAsksNobody) {
  open_full();
  const std::uint64_t revision = stored_view().revision();
  const auto report = compact({}, true);
  ASSERT_TRUE(report);
  EXPECT_NE(report->text.find("would summarise 12 of 12 messages"), std::string::npos);
  EXPECT_TRUE(model_.requests.empty());
  EXPECT_EQ(stored_view().revision(), revision);
}

TEST_F(Compacting, VetoOfAManualCompactionGivesTheReason) {
  on(AGENTD_EVENT_BEFORE_COMPACTION, "veto",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_BLOCK, "not now")); });
  open_full();
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_VETOED});
  EXPECT_EQ(report->text, "veto: not now");
}

TEST_F(Compacting, CancelledSummaryIsNoTruncation) {
  open_full();
  model_.fail(ModelErrorKind::kCancelled, "cancelled").fail(ModelErrorKind::kCancelled, "cancelled");
  EXPECT_FALSE(run(std::string(2'400, 'q')));
  EXPECT_EQ(events_.outcomes(), "failed");
}

TEST_F(Compacting, OverflowCompactsAndRetriesOnce) {
  open_full(5);
  model_.fail(ModelErrorKind::kContextLength, "too long").say("summary").say("answer");
  EXPECT_EQ(text_of(run("more")), "answer");
  EXPECT_EQ(last_boundary().phase, "overflow");
  ASSERT_EQ(model_.requests.size(), 3u);
  EXPECT_LT(model_.requests[2].messages.size(), model_.requests[0].messages.size());
}

TEST_F(Compacting, SecondOverflowIsTheError) {
  open_full(5);
  model_.fail(ModelErrorKind::kContextLength, "too long").say("summary");
  model_.fail(ModelErrorKind::kContextLength, "still too long").say("never");
  const auto report = run("more");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "still too long");
  EXPECT_EQ(events_.outcomes(), "applied");
}

TEST_F(Compacting, OverflowOfWhatCannotBeCompactedIsOneSentence) {
  open();
  model_.fail(ModelErrorKind::kContextLength, "fake answers 413: too long; compact the conversation");
  const auto report = run("more");
  ASSERT_FALSE(report);
  const std::string begin = "fake answers 413: too long, and the conversation could not be compacted: ";
  EXPECT_TRUE(report.error().message.starts_with(begin)) << report.error().message;
  EXPECT_EQ(report.error().message.find("compact the conversation"), std::string::npos) << report.error().message;
}

TEST_F(Compacting, VetoOfAnOverflowIsTheError) {
  on(AGENTD_EVENT_BEFORE_COMPACTION, "veto",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_BLOCK, "not now")); });
  open_full(5);
  model_.fail(ModelErrorKind::kContextLength, "too long");
  EXPECT_FALSE(run("more"));
  EXPECT_EQ(events_.outcomes(), "vetoed");
}

TEST_F(Compacting, BoundaryThatCannotBeWrittenChangesNothing) {
  open_full();
  const auto before = fingerprints(stored_view().rows());
  bool refused = false;
  store_.refuses = [&](std::span<const Record> records) {
    const bool boundary = std::any_of(records.begin(), records.end(),
                                      [](const Record& record) { return record.type == RecordType::kBoundary; });
    const bool refuse = boundary && !refused;
    refused = refused || boundary;
    return refuse;
  };
  model_.say("summary");
  const auto report = compact();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kStore);
  EXPECT_EQ(events_.outcomes(), "failed");
  EXPECT_EQ(fingerprints(stored_view().rows()), before);
  EXPECT_EQ(kinds().find("boundary"), std::string::npos);
}

TEST_F(Compacting, ThresholdIsToldOncePerCrossing) {
  std::vector<std::uint32_t> percents;
  on(AGENTD_EVENT_CONTEXT_THRESHOLD, "t", [&](const TestCall& call) {
    percents.push_back(call.payload<agentd_context_threshold>().percent);
    EXPECT_EQ(call.payload<agentd_context_threshold>().threshold, 70u);
    return AGENTD_OK;
  });
  open();
  fill(6);
  EXPECT_EQ(percents.size(), 0u);
  model_.say("x").say("y");
  ASSERT_TRUE(run(std::string(400, 'q')));
  ASSERT_TRUE(run("z"));
  EXPECT_EQ(percents.size(), 1u);
  model_.say("summary").say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(percents.size(), 1u);
  model_.say("x");
  ASSERT_TRUE(run(std::string(8'000, 'q')));
  EXPECT_EQ(percents.size(), 2u);
}

TEST_F(Compacting, ThresholdIsToldOncePerCrossingAlsoByOtherProcesses) {
  int told = 0;
  on(AGENTD_EVENT_CONTEXT_THRESHOLD, "t", [&](const TestCall&) {
    ++told;
    return AGENTD_OK;
  });
  open();
  fill(6);
  EXPECT_EQ(told, 0);
  for (int i = 0; i < 4; ++i) {
    reopen();
    model_.say("x");
    ASSERT_TRUE(run("z"));
  }
  EXPECT_EQ(told, 1);
  reopen();
  model_.say("summary");
  ASSERT_TRUE(compact());
  reopen();
  fill(3);
  EXPECT_EQ(told, 1);
  fill(3);
  reopen();
  model_.say("x");
  ASSERT_TRUE(run("z"));
  EXPECT_EQ(told, 2);
}

TEST_F(Compacting, ThresholdThatNobodyHeardOfIsToldToTheHookThatComesLater) {
  open();
  fill(6);
  model_.say("x");
  ASSERT_TRUE(run("z"));
  int told = 0;
  on(AGENTD_EVENT_CONTEXT_THRESHOLD, "t", [&](const TestCall&) {
    ++told;
    return AGENTD_OK;
  });
  reopen();
  model_.say("x");
  ASSERT_TRUE(run("z"));
  EXPECT_EQ(told, 1);
}

TEST_F(Compacting, ContextFromTheThresholdIsInTheRequestThatFollows) {
  on(AGENTD_EVENT_CONTEXT_THRESHOLD, "t",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "be brief now")); });
  open();
  fill(5);
  model_.say("x");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  EXPECT_NE(model_.requests.back().all_text().find("be brief now"), std::string::npos);
}

TEST_F(Compacting, SecondCompactionSummarisesTheFirstSummary) {
  open_full();
  model_.say("summary one");
  ASSERT_TRUE(compact());
  model_.say("more");
  ASSERT_TRUE(run("go"));
  model_.say("summary two");
  ASSERT_TRUE(compact());
  EXPECT_NE(model_.requests.back().all_text().find("summary one"), std::string::npos);
  ASSERT_EQ(stored_view().rows().size(), 1u);
  EXPECT_NE(full_text(blocks_of(stored_view().rows()[0])[0]).find("summary two"), std::string::npos);
  EXPECT_EQ(store_.info(id())->compactions, 2u);
}

}  // namespace
}  // namespace agentd
