// SPDX-License-Identifier: Apache-2.0
// A run whose answer takes the history's place: `run -r compact`.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::set_action;
using testing::TestCall;

class CompactionRun : public AgentTest {
 protected:
  void open_with(int rounds) {
    options_.auto_compact = false;
    open();
    fill(rounds);
    model_.requests.clear();
    events_.told.clear();
  }
  RunRequest request() const {
    RunRequest out;
    out.text = "Summarise, says the recipe.";
    out.recipe = "compact-brief";
    out.compaction_run = true;
    out.compaction_instructions = "focus on the tests";
    out.words = "focus on the tests";
    return out;
  }
  Result<RunReport, RunError> compact() { return session_->run(request(), cancel_); }
  std::vector<std::string> view() const {
    const Conversation stored = stored_view();
    std::vector<std::string> out;
    for (const agentd_message& row : stored.rows()) out.push_back(to_message(row).text());
    return out;
  }
  BoundaryRecord boundary() const {
    BoundaryRecord out;
    for (const StoredRecord& record : log())
      if (record.record.type == RecordType::kBoundary) out = *read_boundary(record.record);
    return out;
  }
};

TEST_F(CompactionRun, IsOneRequestWhoseAnswerIsTheWholeView) {
  open_with(4);
  model_.say("the summary", Usage{3'000, 20, 0, 0, 0, 0});
  const auto report = compact();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(model_.requests.size(), 1u);
  EXPECT_EQ(model_.requests[0].messages.size(), 8u);
  EXPECT_EQ(model_.requests[0].closing_text, "Summarise, says the recipe.\n\nfocus on the tests");
  EXPECT_TRUE(model_.requests[0].tools.empty());
  EXPECT_EQ(model_.requests[0].model, "m-1");
  EXPECT_EQ(report->outcome, RunOutcome::kCompacted);
  ASSERT_TRUE(report->compaction);
  EXPECT_EQ(report->compaction->messages_before, 8u);
  EXPECT_EQ(report->compaction->messages_after, 1u);
  ASSERT_EQ(view().size(), 1u);
  EXPECT_TRUE(view()[0].ends_with("the summary"));
  EXPECT_EQ(events_.outcomes(), "applied");
  // What the summary cost says nothing about the view that it made.
  EXPECT_LT(session_->gauge().used, 200u);
  EXPECT_EQ(store_.info(id())->usage.input, 3'000u);
}

TEST_F(CompactionRun, BoundaryIsTheSameAsThatOfACommand) {
  open_with(4);
  model_.say("the summary");
  ASSERT_TRUE(compact());
  const BoundaryRecord made = boundary();
  EXPECT_EQ(made.trigger + "/" + made.reason + "/" + made.phase + "/" + made.strategy + "/" + made.method,
            "manual/manual/standalone/full/summary");
  EXPECT_EQ(made.instructions, "focus on the tests");
  EXPECT_TRUE(made.kept.empty());
  EXPECT_NE(made.summary_seq, 0u);
}

TEST_F(CompactionRun, GoesOnAsTheSameConversation) {
  open_with(4);
  const std::string before = session_->conversation_id();
  model_.say("the summary").say("next");
  ASSERT_TRUE(compact());
  EXPECT_EQ(text_of(run("go on")), "next");
  EXPECT_EQ(session_->conversation_id(), before);
  EXPECT_EQ(model_.requests[1].messages.size(), 2u);
}

TEST_F(CompactionRun, HookIsAskedBeforeTheRequestAndItsVetoIsTheEnd) {
  std::string told;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "veto", [&](const TestCall& call) {
    const auto& before = call.payload<agentd_before_compaction>();
    told = std::string(view_of(before.custom_instructions));
    EXPECT_EQ(before.trigger, AGENTD_TRIGGER_MANUAL);
    EXPECT_EQ(before.phase, AGENTD_PHASE_STANDALONE);
    return call.answer(action(AGENTD_ACT_BLOCK, "not now"));
  });
  open_with(4);
  const auto was = view();
  const auto report = compact();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kBlocked);
  EXPECT_NE(report.error().message.find("veto: not now"), std::string::npos);
  EXPECT_EQ(told, "focus on the tests");
  EXPECT_TRUE(model_.requests.empty());
  EXPECT_EQ(view(), was);
  EXPECT_EQ(events_.outcomes(), "vetoed");
}

TEST_F(CompactionRun, HooksAddTheirInstructionsBehindTheUsers) {
  on(AGENTD_EVENT_BEFORE_COMPACTION, "more", [](const TestCall& call) {
    return call.answer(set_action(AGENTD_KEY_CUSTOM_INSTRUCTIONS, "and name the files"));
  });
  open_with(2);
  model_.say("the summary");
  ASSERT_TRUE(compact());
  EXPECT_NE(model_.requests[0].closing_text.find("and name the files"), std::string::npos);
  EXPECT_EQ(boundary().instructions, "focus on the tests\nand name the files");
}

TEST_F(CompactionRun, SummaryOfAHookNeedsNoRequest) {
  on(AGENTD_EVENT_BEFORE_COMPACTION, "own",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SUMMARY, "by the hook")); });
  open_with(4);
  const auto report = compact();
  ASSERT_TRUE(report);
  EXPECT_TRUE(model_.requests.empty());
  EXPECT_EQ(boundary().method, "hook");
  EXPECT_TRUE(view()[0].ends_with("by the hook"));
}

TEST_F(CompactionRun, NoOtherDoorOpensInIt) {
  int stops = 0;
  bool eager = false;
  on(AGENTD_EVENT_AGENT_STOP, "eager", [&](const TestCall& call) {
    if (!eager) return AGENTD_OK;
    ++stops;
    call.emit(action(AGENTD_ACT_CONTINUE, "go on"));
    return call.answer(action(AGENTD_ACT_COMPACT));
  });
  open_with(4);
  eager = true;
  model_.say("the summary");
  const auto report = compact();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(stops, 1);
  EXPECT_EQ(model_.requests.size(), 1u);
  EXPECT_EQ(events_.outcomes(), "applied");
  EXPECT_TRUE(view()[0].ends_with("the summary"));
}

TEST_F(CompactionRun, AutomaticDoorsStayShutInIt) {
  open();
  fill(6);
  model_.requests.clear();
  model_.say("the summary");
  ASSERT_TRUE(compact());
  EXPECT_EQ(model_.requests.size(), 1u);
}

TEST_F(CompactionRun, FailureLeavesTheViewAsItWas) {
  open_with(4);
  const auto was = view();
  model_.fail(ModelErrorKind::kServer, "500");
  const auto failed = compact();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, RunError::Kind::kProvider);
  EXPECT_EQ(events_.outcomes(), "failed");
  model_.say(" \n ");
  const auto blank = compact();
  ASSERT_FALSE(blank);
  EXPECT_NE(blank.error().message.find("empty"), std::string::npos) << blank.error().message;
  EXPECT_EQ(events_.outcomes(), "failed,failed");
  EXPECT_EQ(view(), was);
}

TEST_F(CompactionRun, ConversationThatIsTooLongIsSummarisedInParts) {
  open_with(9);
  model_.fail(ModelErrorKind::kContextLength, "too long");
  model_.say("part one").say("part two").say("the whole");
  const auto report = compact();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(boundary().method, "chunked");
  EXPECT_TRUE(view()[0].ends_with("the whole"));
  EXPECT_EQ(events_.outcomes(), "applied");
}

TEST_F(CompactionRun, HistoryThatTheServerRefusesAsInvalidGoesThereAsText) {
  tools_.offer("bash");
  open_with(1);
  model_.ask_tools({{"bash", "{}"}}).say("done");
  ASSERT_TRUE(run("work"));
  tools_.offered.clear();  // as the recipe has it
  ModelError refused;
  refused.kind = ModelErrorKind::kInvalid;
  refused.message = "tool blocks are not allowed here";
  refused.http_status = 400;
  for (int i = 0; i < 2; ++i) model_.answers.emplace_back(refused);
  model_.say("of its text");
  const auto report = compact();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(view()[0].ends_with("of its text"));
  EXPECT_TRUE(model_.requests.back().tools.empty());
  for (const Message& message : model_.requests.back().messages)
    for (const Block& block : message.blocks) EXPECT_EQ(block.kind, BlockKind::kText);
}

TEST_F(CompactionRun, CallOfAToolThatNobodyOfferedIsNotRun) {
  open_with(2);
  const auto was = view();
  // It comes when the request is out already, as a server's tools do.
  model_.during = [&](const ModelRequest&) { tools_.offer("bash"); };
  model_.ask_tools({{"bash", "{}"}});
  EXPECT_FALSE(compact());
  EXPECT_TRUE(tools_.calls.empty());
  EXPECT_EQ(view(), was);
}

TEST_F(CompactionRun, ContextOfHooksGoesWithTheRequestAndLeavesNothingBehind) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "adds",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "mind the gap")); });
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  const auto was = view();
  model_.fail(ModelErrorKind::kServer, "500");
  EXPECT_FALSE(compact());
  EXPECT_NE(model_.requests.back().closing_text.find("mind the gap"), std::string::npos);
  EXPECT_EQ(view(), was);
}

TEST_F(CompactionRun, HooksThatHearOfItGetWhatWasAskedFor) {
  std::string instructions, model;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "tunes", [](const TestCall& call) {
    return call.answer(set_action(AGENTD_KEY_MODEL, "another-model-with-quite-a-long-name-indeed"));
  });
  on(AGENTD_EVENT_AFTER_COMPACTION, "hears", [&](const TestCall& call) {
    const auto& request = *call.payload<agentd_after_compaction>().request;
    instructions = std::string(view_of(request.custom_instructions));
    model = std::string(view_of(request.model));
    return AGENTD_OK;
  });
  open_with(3);
  model_.say("the summary");
  RunRequest asked = request();
  asked.compaction_instructions = "focus on the deployment of the second cluster";
  ASSERT_TRUE(session_->run(asked, cancel_));
  EXPECT_EQ(model_.requests[0].model, "another-model-with-quite-a-long-name-indeed");
  EXPECT_EQ(boundary().model, "another-model-with-quite-a-long-name-indeed");
  EXPECT_EQ(model, "another-model-with-quite-a-long-name-indeed");
  EXPECT_EQ(instructions, "focus on the deployment of the second cluster");
}

TEST_F(CompactionRun, EmptyConversationIsNothingToDo) {
  open();
  const auto report = compact();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->compaction->outcome, std::uint32_t{AGENTD_RESULT_NOOP});
  EXPECT_TRUE(model_.requests.empty());
}

TEST_F(CompactionRun, CompactorIsBusyMeanwhile) {
  agentd_status status = AGENTD_OK;
  on(AGENTD_EVENT_AGENT_STOP, "asks", [&](const TestCall& call) {
    ServiceCaller caller;
    caller.conversation = call.raw.conversation;
    caller.event = AGENTD_EVENT_AGENT_STOP;
    const auto answer = services().compact(caller, {call.raw.conversation, 0, 0, {nullptr, 0, 0}}, {});
    status = answer ? AGENTD_OK : status_of(answer.error().code);
    return AGENTD_OK;
  });
  open_with(2);
  model_.answers.clear();
  model_.say("the summary");
  ASSERT_TRUE(compact());
  EXPECT_EQ(status, AGENTD_E_BUSY);
}

}  // namespace
}  // namespace agentd
