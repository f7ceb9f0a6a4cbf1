// SPDX-License-Identifier: Apache-2.0
// What a compaction does when the plain way is shut: each rung, the floor, the breaker, somebody else.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::FakeModel;
using testing::set_action;
using testing::TestCall;

class Ladder : public AgentTest {
 protected:
  void SetUp() override {
    tools_.offer("bash");
    tools_.handler = [this](const ToolCall&) {
      ToolOutcome out;
      out.content = output_;
      return Result<ToolOutcome>(out);
    };
  }
  // One run of `calls` turns with a tool call each, and an answer.
  void work(int calls, std::size_t bytes) {
    output_ = std::string(bytes, 'o');
    for (int i = 0; i < calls; ++i) model_.ask_tools({{"bash", "{}"}});
    model_.say("done");
    ASSERT_TRUE(run("work"));
  }
  BoundaryRecord last_boundary() const {
    BoundaryRecord out;
    for (const StoredRecord& record : log())
      if (record.record.type == RecordType::kBoundary) out = *read_boundary(record.record);
    return out;
  }
  std::size_t boundaries() const {
    std::size_t out = 0;
    for (const StoredRecord& record : log()) out += record.record.type == RecordType::kBoundary ? 1u : 0u;
    return out;
  }
  std::size_t asked_turns() const { return asked("turn"); }
  std::size_t asked(std::string_view purpose) const {
    return static_cast<std::size_t>(
        std::count_if(model_.requests.begin(), model_.requests.end(),
                      [&](const FakeModel::Seen& seen) { return seen.purpose == purpose; }));
  }
  std::string warnings() const {
    std::string out;
    for (const auto& told : events_.of(RunEvent::Type::kWarning)) out += told.text + "\n";
    return out;
  }
  Result<CompactionReport, RunError> compact(CompactOptions options = {}) {
    return session_->compact(options, false, cancel_);
  }
  std::string view_text() const {
    std::string out;
    const Conversation view = stored_view();
    for (const agentd_message& row : view.rows()) out += to_message(row).text();
    return out;
  }
  // Appends a user's message as another process would.
  void append_elsewhere(const std::string& text) {
    const auto stored = store_.append(
        id(), store_.info(id())->revision,
        std::vector<Record>{write_message({Message::of_text(Role::kUser, text), StopReason::kEndTurn, "user", {}})}, {},
        {});
    ASSERT_TRUE(stored) << stored.error().message;
  }
  std::string output_;
};

// ---- pruning

TEST_F(Ladder, OldToolResultsAreShortenedBeforeAnythingIsSummarised) {
  open();
  work(8, 2'800);  // 5,700 tokens of results; 11 rows back is the fourth call
  ASSERT_EQ(boundaries(), 0u);
  model_.say("answer");
  EXPECT_EQ(text_of(run(std::string(2'800, 'q'))), "answer");
  EXPECT_EQ(asked("summary"), 0u);
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_EQ(last_boundary().method, "prune");
  EXPECT_EQ(last_boundary().summary_seq, 0u);
  EXPECT_FALSE(last_boundary().prunes.empty());
  // The request has the shortened texts, the log the whole ones.
  const auto& seen = model_.requests.back();
  const auto results = std::count_if(seen.messages.begin(), seen.messages.end(), [](const Message& message) {
    return message.blocks[0].kind == BlockKind::kToolResult && message.blocks[0].text.size() < 300;
  });
  EXPECT_EQ(static_cast<std::size_t>(results), last_boundary().prunes.size());
  std::size_t whole = 0;
  for (const StoredRecord& record : log())
    if (record.record.type == RecordType::kToolResult)
      whole += read_tool_result(record.record)->text.size() == 2'800 ? 1u : 0u;
  EXPECT_EQ(whole, 8u);
  EXPECT_LT(session_->gauge().used, 6'000u);
}

TEST_F(Ladder, RequestOfTheUserOrAHookIsASummaryAtOnce) {
  open();
  work(8, 2'800);
  model_.say("summary");
  EXPECT_EQ(compact()->method, "summary");
  EXPECT_EQ(asked("summary"), 1u);
}

TEST_F(Ladder, SummaryIsMadeOfTheOriginalsAndNotOfWhatPruningLeft) {
  open();
  output_ = std::string(2'700, 'o') + " the planted fact";
  for (int i = 0; i < 8; ++i) model_.ask_tools({{"bash", "{}"}});
  model_.say("done").say("answer");
  ASSERT_TRUE(run("work"));
  ASSERT_TRUE(run(std::string(3'400, 'q')));
  ASSERT_EQ(last_boundary().method, "prune");
  model_.say("summary");
  ASSERT_TRUE(compact());
  std::size_t facts = 0;
  for (const Message& message : model_.requests.back().messages)
    for (const Block& block : message.blocks) facts += block.text.ends_with("the planted fact") ? 1u : 0u;
  EXPECT_EQ(facts, 8u);
}

TEST_F(Ladder, PruningThatIsNotEnoughIsNotDone) {
  open();
  fill(6);
  work(1, 100);
  model_.say("summary").say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  EXPECT_EQ(last_boundary().method, "summary");
  EXPECT_TRUE(last_boundary().prunes.empty());
}

// ---- as the server takes it

TEST_F(Ladder, AHistoryThatTheServerRefusesAsInvalidGoesThereAsText) {
  open();
  work(2, 500);
  ModelError refused;
  refused.kind = ModelErrorKind::kInvalid;
  refused.message = "tool blocks are not allowed here";
  refused.http_status = 400;
  model_.answers.emplace_back(refused);
  model_.say("of its text");
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_APPLIED}) << report->text;
  EXPECT_EQ(report->summary, "of its text");
  ASSERT_EQ(asked("summary"), 2u);
  const auto& as_text = model_.requests.back();
  ASSERT_EQ(as_text.messages.size(), 1u);
  EXPECT_TRUE(as_text.tools.empty());
  for (const Block& block : as_text.messages[0].blocks) EXPECT_EQ(block.kind, BlockKind::kText);
}

// What the provider has cached of the conversation serves the summary too.
TEST_F(Ladder, ASummaryByTheConversationsOwnModelBeginsAsItsRequestsDo) {
  options_.summary_model = options_.model;
  open();
  work(2, 500);
  const auto turn = model_.requests.back();
  model_.say("summary");
  ASSERT_TRUE(compact());
  const auto& summary = model_.requests.back();
  EXPECT_EQ(summary.purpose, "summary");
  EXPECT_EQ(summary.system, turn.system);
  EXPECT_EQ(summary.tools, turn.tools);
  ASSERT_GE(summary.messages.size(), turn.messages.size());
  for (std::size_t i = 0; i < turn.messages.size(); ++i) EXPECT_EQ(summary.messages[i], turn.messages[i]);
}

// ---- parts

TEST_F(Ladder, HistoryThatDoesNotFitTheSummariserGoesThereInParts) {
  options_.summary_model = "m-too";  // a window of 10,000
  options_.auto_compact = false;
  open();
  fill(9);
  model_.say("part one").say("part two").say("the whole");
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_APPLIED}) << report->text;
  EXPECT_EQ(report->method, "chunked");
  EXPECT_EQ(report->summary, "the whole");
  ASSERT_EQ(asked("summary"), 3u);
  const auto& requests = model_.requests;
  const std::size_t first = requests.size() - 3;
  EXPECT_NE(requests[first].closing_text.find("part 1 of 2"), std::string::npos);
  EXPECT_NE(requests[first].all_text().find("question 0"), std::string::npos);
  EXPECT_NE(requests[first + 1].all_text().find("question 8"), std::string::npos);
  EXPECT_NE(requests[first + 2].all_text().find("part one"), std::string::npos);
  EXPECT_NE(requests[first + 2].all_text().find("part two"), std::string::npos);
  EXPECT_TRUE(requests[first].tools.empty());
  // Longer than a moment: it is told where it is.
  const auto states = events_.of(RunEvent::Type::kStatus);
  EXPECT_EQ(states.back().detail, "part 2 of 2");
}

TEST_F(Ladder, SummariserThatSaysTooLongGetsParts) {
  open();
  fill(5);
  model_.fail(ModelErrorKind::kContextLength, "too long").say("one").say("two").say("three").say("whole");
  const auto report = compact();
  EXPECT_EQ(report->method, "chunked") << report->text;
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_APPLIED});
}

TEST_F(Ladder, SummariserThatAlwaysSaysTooLongIsGivenUp) {
  open();
  fill(5);
  for (int i = 0; i < 20; ++i) model_.fail(ModelErrorKind::kContextLength, "too long");
  const auto report = compact();
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_FAILED});
  EXPECT_NE(report->text.find("has no room"), std::string::npos) << report->text;
  EXPECT_LT(asked("summary"), 16u);  // by the cheap model and by the conversation's own
}

TEST_F(Ladder, PartThatFailsFailsAManualCompactionAndCutsAnAutomaticOne) {
  options_.summary_model = "m-too";
  options_.auto_compact = false;
  open();
  fill(9);
  const std::string before = view_text();
  model_.say("part one").fail(ModelErrorKind::kBilling, "no money");
  EXPECT_EQ(compact()->outcome, std::uint32_t{AGENTD_RESULT_FAILED});
  EXPECT_EQ(view_text(), before);
  model_.fail(ModelErrorKind::kContextLength, "the turn is too long");
  model_.fail(ModelErrorKind::kBilling, "no money").say("answer");
  EXPECT_EQ(text_of(run("go")), "answer");
  EXPECT_EQ(events_.outcomes(), "failed,degraded");
}

TEST_F(Ladder, CostOfAllPartsIsCharged) {
  options_.summary_model = "m-too";
  options_.auto_compact = false;
  open();
  fill(9);
  const Usage each{100, 10, 0, 0, 0, 0};
  model_.say("part one", each).say("part two", each).say("the whole", each);
  ASSERT_TRUE(compact());
  EXPECT_EQ(store_.info(id())->usage.input, 300u);
}

TEST_F(Ladder, RefusalIsNoSummary) {
  open();
  fill(5);
  ModelResponse refusal;
  refusal.message = Message::of_text(Role::kAssistant, "I cannot do that");
  refusal.stop_reason = StopReason::kRefusal;
  model_.answers.emplace_back(refusal);
  const auto report = compact();
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_FAILED});
  EXPECT_NE(report->text.find("declined"), std::string::npos);
  EXPECT_EQ(boundaries(), 0u);
}

// ---- the floor

TEST_F(Ladder, FloorThatIsTooHighRefusesNamesItsPartsAndAsksNobodyAgain) {
  options_.system_prompt = std::string(26'000, 's');  // 6,500 of 6,400 tokens
  open();
  model_.say("one").say("two").say("three");
  ASSERT_TRUE(run("a"));
  ASSERT_TRUE(run("b"));
  ASSERT_TRUE(run("c"));
  EXPECT_EQ(asked("summary"), 0u);
  EXPECT_EQ(boundaries(), 0u);
  const auto outcomes = events_.of(RunEvent::Type::kCompactionOutcome);
  ASSERT_EQ(outcomes.size(), 1u);  // once, not at every turn
  EXPECT_EQ(outcomes[0].detail, "failed");
  EXPECT_NE(outcomes[0].text.find("the system prompt 6,5"), std::string::npos) << outcomes[0].text;
}

TEST_F(Ladder, FloorThatIsTooHighStaysSoPastTheForceLine) {
  options_.system_prompt = std::string(31'000, 's');
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("a"));
  ASSERT_TRUE(run("b"));
  EXPECT_EQ(events_.outcomes(), "failed");
  reopen();
  model_.say("three");
  ASSERT_TRUE(run("c"));
  EXPECT_EQ(events_.outcomes(), "failed");  // another process knows it, too
}

TEST_F(Ladder, FloorThatIsNoLongerTooHighIsCompactedAgain) {
  tools_.offered[0].description = std::string(27'600, 't');  // 6,900 tokens
  open();
  model_.say("one");
  ASSERT_TRUE(run(std::string(2'000, 'q')));
  EXPECT_EQ(events_.outcomes(), "failed");
  tools_.offered.clear();
  reopen();
  fill(5);
  model_.say("summary").say("answer");
  ASSERT_TRUE(run(std::string(3'800, 'q')));  // 6,500 tokens: fewer than there were then
  EXPECT_EQ(events_.outcomes(), "failed,applied");
}

TEST_F(Ladder, QuestionThatWasTooLongIsSummarisedWhenItIsOld) {
  open();
  model_.say("ok").say("one");
  ASSERT_TRUE(run("the plan is X"));
  ASSERT_TRUE(run(std::string(28'000, 'q')));
  EXPECT_EQ(events_.outcomes(), "failed");
  EXPECT_EQ(asked("summary"), 0u);
  reopen();
  model_.say("summary").say("two");
  ASSERT_TRUE(run("and now?"));
  EXPECT_EQ(events_.outcomes(), "failed,applied");
}

TEST_F(Ladder, HighFloorKeepsLessOfTheTail) {
  options_.system_prompt = std::string(14'000, 's');  // 3,500: of 6,000 there are 2,500 left
  open();
  fill(3);
  model_.say("summary").say("answer");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_LE(session_->gauge().used, 6'000u);
}

TEST_F(Ladder, ToolResultsThatFillTheWindowAloneAreShortened) {
  open();
  output_ = std::string(40'000, 'o');
  model_.ask_tools({{"bash", "{}"}, {"bash", "{}"}, {"bash", "{}"}}).say("done");
  EXPECT_EQ(text_of(run("look")), "done");
  EXPECT_EQ(events_.outcomes(), "degraded");
  EXPECT_LE(session_->gauge().used, 8'000u);
  EXPECT_TRUE(check_pairs(stored_view().rows().list(), true));
  // The question is what the model is to answer: it is there, whole.
  EXPECT_EQ(model_.requests.back().messages[0].text(), "look");
}

TEST_F(Ladder, SummaryWithATailThatDoesNotFitShortensTheTail) {
  open();
  fill(4);
  output_ = std::string(40'000, 'o');
  model_.ask_tools({{"bash", "{}"}}).say("summary").say("done");
  EXPECT_EQ(text_of(run("look")), "done");
  EXPECT_EQ(events_.outcomes(), "degraded");
  EXPECT_EQ(last_boundary().method, "summary");
  EXPECT_LE(session_->gauge().used, 8'000u);
  EXPECT_NE(events_.of(RunEvent::Type::kCompactionOutcome)[0].text.find("shortened"), std::string::npos);
}

// ---- the breaker

class Breaker : public Ladder {
 protected:
  // A hook whose summary is nearly as long as what it stands for.
  void SetUp() override {
    Ladder::SetUp();
    on(AGENTD_EVENT_BEFORE_COMPACTION, "wordy", [this](const TestCall& call) {
      ++asked_;
      summary_bytes_ += growth_;
      return call.answer(action(AGENTD_ACT_SUMMARY, std::string(summary_bytes_, 's')));
    });
  }
  std::size_t summary_bytes_ = 8'000;
  std::size_t growth_ = 3'200;
  int asked_ = 0;
};

TEST_F(Breaker, TwoCompactionsThatFreeNothingPauseTheThirdAndNameWhatFillsTheWindow) {
  open();
  fill(6);
  for (int i = 0; i < 3; ++i) {
    model_.say("x");
    ASSERT_TRUE(run(std::string(1'800, 'q')));
  }
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(events_.outcomes(), "applied,applied");
  EXPECT_EQ(last_boundary().useless, 2u);
  EXPECT_NE(warnings().find("automatic compaction pauses"), std::string::npos) << warnings();
  EXPECT_NE(warnings().find("(the last summary) 3,"), std::string::npos) << warnings();
}

TEST_F(Breaker, AnotherProcessKnowsThatItIsPaused) {
  open();
  fill(6);
  for (int i = 0; i < 2; ++i) {
    model_.say("x");
    ASSERT_TRUE(run(std::string(1'800, 'q')));
  }
  ASSERT_EQ(asked_, 2);
  reopen();
  model_.say("x");
  ASSERT_TRUE(run(std::string(800, 'q')));
  EXPECT_EQ(asked_, 2);
}

TEST_F(Breaker, WindowThatIsNearlyFullEndsThePauseAndAUsefulCompactionTheCount) {
  open();
  fill(6);
  for (int i = 0; i < 2; ++i) {
    model_.say("x");
    ASSERT_TRUE(run(std::string(1'800, 'q')));
  }
  summary_bytes_ = 400;
  growth_ = 0;
  model_.say("x");
  ASSERT_TRUE(run(std::string(6'600, 'q')));
  EXPECT_EQ(asked_, 3);
  EXPECT_EQ(last_boundary().useless, 0u);
}

// ---- vetoes

TEST_F(Ladder, VetoOfAHookWithFinalAuthorityHoldsHoweverFullTheWindowIs) {
  int asked = 0;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "lawyer", [&](const TestCall& call) {
    ++asked;
    return call.answer(action(AGENTD_ACT_BLOCK, "keep it all"));
  });
  options_.final_hooks = {"lawyer"};
  open();
  fill(6);
  for (int i = 0; i < 5; ++i) {
    model_.say("x");
    ASSERT_TRUE(run(std::string(i == 0 ? 6'600 : 4, 'q')));
  }
  EXPECT_EQ(asked, 5);
  EXPECT_EQ(boundaries(), 0u);
}

TEST_F(Ladder, VetoesAreCountedAcrossProcesses) {
  std::vector<std::uint32_t> told;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "veto", [&](const TestCall& call) {
    told.push_back(call.payload<agentd_before_compaction>().vetoes);
    return call.answer(action(AGENTD_ACT_BLOCK, "never"));
  });
  open();
  fill(6);
  for (int i = 0; i < 2; ++i) {
    model_.say("x");
    ASSERT_TRUE(run(std::string(i == 0 ? 6'600 : 10, 'q')));
    reopen();
  }
  model_.say("summary").say("x");
  ASSERT_TRUE(run("more"));
  EXPECT_EQ(told, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(boundaries(), 1u);
  EXPECT_NE(warnings().find("is ignored"), std::string::npos);
}

TEST_F(Ladder, OverflowThatIsRefusedTwiceIsTheErrorAfterOneMoreRequest) {
  int asked = 0;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "veto", [&](const TestCall& call) {
    ++asked;
    return call.answer(action(AGENTD_ACT_BLOCK, "not now"));
  });
  open();
  fill(5);
  model_.requests.clear();
  for (int i = 0; i < 9; ++i) model_.fail(ModelErrorKind::kContextLength, "prompt is too long");
  const auto report = run("more");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kProvider);
  EXPECT_NE(report.error().message.find("prompt is too long"), std::string::npos);
  EXPECT_NE(report.error().message.find("veto: not now"), std::string::npos) << report.error().message;
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(this->asked_turns(), 2u);
}

TEST_F(Ladder, OverflowThatIsRefusedOnceAndThenAllowedGoesOn) {
  int asked = 0;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "wavers",
     [&](const TestCall& call) { return ++asked == 1 ? call.answer(action(AGENTD_ACT_BLOCK, "not now")) : AGENTD_OK; });
  open();
  fill(5);
  model_.fail(ModelErrorKind::kContextLength, "too long").fail(ModelErrorKind::kContextLength, "too long");
  model_.say("summary").say("answer");
  EXPECT_EQ(text_of(run("more")), "answer");
  EXPECT_EQ(events_.outcomes(), "vetoed,applied");
}

// The table may be wrong about a model: what the provider refused is believed more.
TEST_F(Ladder, OverflowFarBelowTheLimitKeepsLessThanWasRefused) {
  open();
  fill(3);
  const std::uint64_t refused = session_->gauge().used;
  ASSERT_LT(refused, 4'000u);
  model_.fail(ModelErrorKind::kContextLength, "too long").say("summary").say("answer");
  EXPECT_EQ(text_of(run("more")), "answer");
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_LT(last_boundary().post_tokens, refused / 2);
}

// ---- what is not worth it

TEST_F(Ladder, QuestionThatFitsNowhereIsRefusedAndNothingElseIsThrownAway) {
  open();
  model_.say("ok");
  ASSERT_TRUE(run("the plan is X"));
  model_.say("answer");
  ASSERT_TRUE(run(std::string(60'000, 'q')));
  EXPECT_EQ(asked("summary"), 0u);
  EXPECT_EQ(boundaries(), 0u);
  EXPECT_EQ(events_.outcomes(), "failed");
  EXPECT_NE(model_.requests.back().all_text().find("the plan is X"), std::string::npos);
}

TEST_F(Ladder, TwoRequestsOfTheUserInASmallConversationDoNotPauseTheAutomaticDoors) {
  open();
  for (int i = 0; i < 2; ++i) {
    model_.say("a");
    ASSERT_TRUE(run("b"));
    model_.say("as long as what it stands for, if not longer");
    ASSERT_TRUE(compact());
  }
  EXPECT_EQ(last_boundary().useless, 0u);
  EXPECT_EQ(warnings(), "");
}

TEST_F(Ladder, CutThatLeavesOutNothingIsAFailure) {
  open();
  model_.fail(ModelErrorKind::kContextLength, "too long");
  EXPECT_FALSE(run("first"));
  EXPECT_EQ(boundaries(), 0u);
  model_.fail(ModelErrorKind::kContextLength, "too long").fail(ModelErrorKind::kServer, "500");
  EXPECT_FALSE(run("second"));
  EXPECT_EQ(boundaries(), 0u);
  EXPECT_EQ(events_.outcomes().find("degraded"), std::string::npos) << events_.outcomes();
}

TEST_F(Ladder, SummaryThatWouldNotFitIsRefusedByARequestAndCutByADoor) {
  on(AGENTD_EVENT_BEFORE_COMPACTION, "wordy",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SUMMARY, std::string(60'000, 's'))); });
  open();
  fill(6);
  EXPECT_EQ(compact()->outcome, std::uint32_t{AGENTD_RESULT_FAILED});
  EXPECT_EQ(boundaries(), 0u);
  model_.say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  EXPECT_EQ(last_boundary().method, "truncate");
  EXPECT_LE(session_->gauge().used, 8'000u);
}

TEST_F(Ladder, CheapModelThatCannotBeUsedIsReplacedByTheConversationsOwn) {
  open();
  fill(5);
  model_.requests.clear();
  model_.fail(ModelErrorKind::kInvalid, "model: cheap does not exist").say("summary");
  const auto report = compact();
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_APPLIED}) << report->text;
  EXPECT_EQ(model_.requests[0].model + " " + model_.requests[1].model, "cheap m-1");
  EXPECT_EQ(last_boundary().model, "m-1");
  EXPECT_NE(warnings().find("cheap cannot summarise"), std::string::npos);
}

// The name is too long for a small string: what hooks read must not be the place where the old one was.
TEST_F(Ladder, HooksAfterACompactionHearOfTheModelThatSummarised) {
  options_.model = "m-" + std::string(60, 'o');
  std::string told;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "wishes", [](const TestCall& call) {
    return call.answer(set_action(AGENTD_KEY_CUSTOM_INSTRUCTIONS, "keep the names of all the files"));
  });
  on(AGENTD_EVENT_AFTER_COMPACTION, "reads", [&](const TestCall& call) {
    const agentd_before_compaction& request = *call.payload<agentd_after_compaction>().request;
    told = std::string(view_of(request.model)) + ": " + std::string(view_of(request.custom_instructions));
    return AGENTD_OK;
  });
  open();
  fill(5);
  model_.fail(ModelErrorKind::kInvalid, "model: cheap does not exist").say("summary");
  ASSERT_TRUE(compact());
  EXPECT_EQ(last_boundary().model, options_.model);
  EXPECT_EQ(told, options_.model + ": keep the names of all the files");
}

TEST_F(Ladder, FailedCutKeepsTheLastSummary) {
  open();
  fill(3);
  model_.say("the plan is X");
  ASSERT_TRUE(compact());
  fill(6);
  model_.fail(ModelErrorKind::kBilling, "no money").say("answer");
  ASSERT_TRUE(run(std::string(2'400, 'q')));
  ASSERT_EQ(last_boundary().method, "truncate");
  EXPECT_NE(model_.requests.back().all_text().find("the plan is X"), std::string::npos);
}

TEST_F(Ladder, PruneThatReachesItsTargetIsNotUseless) {
  open();
  work(8, 2'800);
  model_.say("answer");
  ASSERT_TRUE(run(std::string(2'800, 'q')));
  ASSERT_EQ(last_boundary().method, "prune");
  EXPECT_EQ(last_boundary().useless, 0u);
}

TEST_F(Ladder, ServiceSummarisesTheOriginalsToo) {
  on(AGENTD_EVENT_AGENT_STOP, "asks", [this](const TestCall& call) {
    if (boundaries() == 0) return AGENTD_OK;
    ServiceCaller caller;
    caller.conversation = call.raw.conversation;
    (void)services().compact(caller, {call.raw.conversation, 0, 0, {nullptr, 0, 0}}, {});
    return AGENTD_OK;
  });
  open();
  output_ = std::string(2'700, 'o') + " the planted fact";
  for (int i = 0; i < 8; ++i) model_.ask_tools({{"bash", "{}"}});
  model_.say("done").say("answer").say("summary");
  ASSERT_TRUE(run("work"));
  ASSERT_TRUE(run(std::string(3'400, 'q')));
  ASSERT_EQ(last_boundary().method, "prune");
  ASSERT_EQ(model_.requests.back().purpose, "summary");
  std::size_t facts = 0;
  for (const Message& message : model_.requests.back().messages)
    for (const Block& block : message.blocks) facts += block.text.ends_with("the planted fact") ? 1u : 0u;
  EXPECT_EQ(facts, 8u);
}

// ---- somebody else

TEST_F(Ladder, WhatIsAppendedMeanwhileStaysInTheView) {
  open();
  fill(4);
  int left = 3;
  model_.during = [&](const ModelRequest& request) {
    if (request.purpose == "summary")
      for (; left > 0; --left) append_elsewhere("from elsewhere " + std::to_string(left));
  };
  model_.say("summary");
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_APPLIED}) << report->text;
  const Conversation view = stored_view();
  ASSERT_EQ(view.rows().size(), 4u);
  EXPECT_EQ(view.rows()[0].role, AGENTD_ROLE_SUMMARY);
  for (int i = 1; i <= 3; ++i) EXPECT_NE(view_text().find("from elsewhere " + std::to_string(i)), std::string::npos);
  EXPECT_EQ(session_->gauge().used, report->post_tokens);
  model_.during = nullptr;
  model_.say("on");
  ASSERT_TRUE(run("go on"));
  EXPECT_NE(model_.requests.back().all_text().find("from elsewhere 2"), std::string::npos);
}

TEST_F(Ladder, CompactionOfSomebodyElseMeanwhileIsRespected) {
  open();
  fill(4);
  model_.during = [&](const ModelRequest&) {
    BoundaryRecord theirs;
    theirs.id = "theirs";
    theirs.base_seq = store_.info(id())->revision;
    theirs.kept = {{2, theirs.base_seq}};
    ASSERT_TRUE(store_.append(id(), theirs.base_seq, std::vector<Record>{write_boundary(theirs)}, {}, {}));
  };
  model_.say("summary");
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, std::uint32_t{AGENTD_RESULT_FAILED});
  EXPECT_EQ(events_.outcomes(), "failed");
  EXPECT_EQ(last_boundary().id, "theirs");
}

}  // namespace
}  // namespace agentd
