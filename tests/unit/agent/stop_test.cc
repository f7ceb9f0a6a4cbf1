// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::set_action;
using testing::TestCall;

class AgentStop : public AgentTest {
 protected:
  static Action replace_all(const TestCall& call, std::string text) {
    Action replace = action(AGENTD_ACT_REPLACE_MESSAGES);
    replace.base_revision = call.raw.envelope->revision;
    ReplacePart part;
    part.literal = Message::of_text(Role::kUser, std::move(text));
    replace.parts = {part};
    return replace;
  }
};

TEST_F(AgentStop, HookSeesTheAnswerInTheView) {
  on(AGENTD_EVENT_AGENT_STOP, "look", [&](const TestCall& call) {
    const auto& stop = call.payload<agentd_agent_stop>();
    EXPECT_EQ(view_of(stop.response), "answer");
    EXPECT_EQ(stop.messages.count, 2u);
    EXPECT_EQ(stop.max_context_window, 10'000u);
    EXPECT_EQ(stop.usage->input, 10u);
    EXPECT_EQ(call.raw.envelope->revision, stored_view().revision());
    return AGENTD_OK;
  });
  open();
  model_.say("answer", Usage{10, 2, 0, 0, 0, 0});
  EXPECT_EQ(run("go")->outcome, RunOutcome::kStop);
}

TEST_F(AgentStop, ContinueAddsAMessageAndTheRunGoesOn) {
  std::vector<std::uint32_t> continuations;
  on(AGENTD_EVENT_AGENT_STOP, "tests", [&](const TestCall& call) {
    const auto& stop = call.payload<agentd_agent_stop>();
    continuations.push_back(stop.continuation);
    EXPECT_EQ(stop.flags, stop.continuation == 0 ? 0u : AGENTD_AGENT_STOP_HOOK_ACTIVE);
    return stop.continuation == 0 ? call.answer(action(AGENTD_ACT_CONTINUE, "run the tests")) : AGENTD_OK;
  });
  open();
  model_.say("one").say("two");
  const auto report = run("go");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->final_text, "two");
  EXPECT_EQ(continuations, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(model_.requests[1].all_text(), "go\none\nrun the tests\n");
}

TEST_F(AgentStop, ContinuesOfSeveralHooksAddUpInOrder) {
  for (const char* const name : {"a", "b"})
    on(AGENTD_EVENT_AGENT_STOP, name, [name](const TestCall& call) {
      const bool first = call.payload<agentd_agent_stop>().continuation == 0;
      return first ? call.answer(action(AGENTD_ACT_CONTINUE, name)) : AGENTD_OK;
    });
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(model_.requests[1].all_text(), "go\none\na\nb\n");
}

TEST_F(AgentStop, EightContinuesInARowAreTheMostAndTheCapIsLoud) {
  on(AGENTD_EVENT_AGENT_STOP, "loop",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_CONTINUE, "more")); });
  open();
  for (int i = 0; i < 20; ++i) model_.say("x");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(model_.requests.size(), 9u);
  ASSERT_EQ(events_.of(RunEvent::Type::kWarning).size(), 1u);
  EXPECT_NE(events_.of(RunEvent::Type::kWarning)[0].text.find("8 times"), std::string::npos);
  EXPECT_TRUE(log_.mentions("8 times"));
}

TEST_F(AgentStop, BlockedContinuationEndsAGoodRunWell) {
  on(AGENTD_EVENT_AGENT_STOP, "loop",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_CONTINUE, "the secret")); });
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [](const TestCall& call) {
    const bool bad = call.payload<agentd_user_message>().source == AGENTD_MESSAGE_SOURCE_HOOK;
    return bad ? call.answer(action(AGENTD_ACT_BLOCK, "no secrets")) : AGENTD_OK;
  });
  open();
  model_.say("one");
  const auto report = run("go");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, RunOutcome::kStop);
  EXPECT_EQ(report->final_text, "one");
  EXPECT_EQ(read_run_end(log().back().record)->outcome, "stop");
  ASSERT_EQ(events_.of(RunEvent::Type::kWarning).size(), 1u);
  EXPECT_EQ(events_.of(RunEvent::Type::kWarning)[0].text,
            "the run does not continue: the message was blocked by guard: no secrets");
  for (const StoredRecord& record : log()) EXPECT_EQ(record.record.payload.find("the secret"), std::string::npos);
}

TEST_F(AgentStop, OneBlockedContinuationDoesNotStopTheOthers) {
  for (const char* const text : {"bad", "good"})
    on(AGENTD_EVENT_AGENT_STOP, text, [text](const TestCall& call) {
      const bool first = call.payload<agentd_agent_stop>().continuation == 0;
      return first ? call.answer(action(AGENTD_ACT_CONTINUE, text)) : AGENTD_OK;
    });
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [](const TestCall& call) {
    const bool bad = view_of(call.payload<agentd_user_message>().text) == "bad";
    return bad ? call.answer(action(AGENTD_ACT_BLOCK, "no")) : AGENTD_OK;
  });
  open();
  model_.say("one").say("two");
  EXPECT_EQ(text_of(run("go")), "two");
  EXPECT_EQ(model_.requests[1].all_text(), "go\none\ngood\n");
}

TEST_F(AgentStop, BlockedContinuationAfterACompactionIsStillCompacted) {
  on(AGENTD_EVENT_AGENT_STOP, "compact", [](const TestCall& call) {
    call.emit(action(AGENTD_ACT_COMPACT));
    return call.answer(action(AGENTD_ACT_CONTINUE, "go on"));
  });
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [](const TestCall& call) {
    const bool own = call.payload<agentd_user_message>().source == AGENTD_MESSAGE_SOURCE_HOOK;
    return own ? call.answer(action(AGENTD_ACT_BLOCK, "no")) : AGENTD_OK;
  });
  open();
  model_.say("one").say("a summary");
  EXPECT_EQ(run("go")->outcome, RunOutcome::kCompacted);
}

TEST_F(AgentStop, ReplaceLeavesABoundaryAndTheNextRequestSeesOnlyTheNewView) {
  std::string order;
  on(AGENTD_EVENT_BEFORE_COMPACTION, "b", [&](const TestCall&) { return order += "before ", AGENTD_OK; });
  on(AGENTD_EVENT_AFTER_COMPACTION, "a", [&](const TestCall& call) {
    const auto& after = call.payload<agentd_after_compaction>();
    EXPECT_EQ(after.method, AGENTD_METHOD_REPLACE);
    EXPECT_EQ(after.request->reason, AGENTD_REASON_HOOK);
    return order += "after ", AGENTD_OK;
  });
  on(AGENTD_EVENT_SESSION_START, "s", [&](const TestCall& call) {
    if (call.payload<agentd_session_start>().source == AGENTD_SOURCE_COMPACT) order += "start ";
    return AGENTD_OK;
  });
  on(AGENTD_EVENT_AGENT_STOP, "compact",
     [](const TestCall& call) { return call.answer(replace_all(call, "the summary")); });
  open();
  model_.say(std::string(4'000, 'x')).say("next");
  const auto report = run("go");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, RunOutcome::kCompacted);
  EXPECT_EQ(order, "after start ");
  EXPECT_EQ(events_.outcomes(), "applied");
  reopen();
  ASSERT_TRUE(run("on"));
  EXPECT_EQ(model_.requests[1].all_text(), "the summary\non\n");
}

TEST_F(AgentStop, ReplacementFromAnOlderRevisionIsRefused) {
  on(AGENTD_EVENT_AGENT_STOP, "stale", [](const TestCall& call) {
    Action replace = replace_all(call, "the summary");
    --replace.base_revision;
    return call.answer(replace);
  });
  open();
  model_.say(std::string(4'000, 'x'));
  EXPECT_EQ(run("go")->outcome, RunOutcome::kStop);
  EXPECT_EQ(events_.outcomes(), "failed");
  EXPECT_NE(events_.of(RunEvent::Type::kCompactionOutcome)[0].text.find("revision"), std::string::npos);
  EXPECT_EQ(stored_view().rows().size(), 2u);
}

TEST_F(AgentStop, ReplacementThatFreesNothingIsRefused) {
  on(AGENTD_EVENT_AGENT_STOP, "big",
     [](const TestCall& call) { return call.answer(replace_all(call, std::string(9'000, 'y'))); });
  open();
  model_.say("short");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(events_.outcomes(), "failed");
  EXPECT_EQ(stored_view().rows().size(), 2u);
}

TEST_F(AgentStop, ContextGivenWithAReplacementIsInTheNewView) {
  on(AGENTD_EVENT_AGENT_STOP, "both", [](const TestCall& call) {
    call.emit(action(AGENTD_ACT_INJECT_CONTEXT, "do not forget"));
    return call.answer(replace_all(call, "the summary"));
  });
  open();
  model_.say(std::string(4'000, 'x')).say("next");
  ASSERT_TRUE(run("go"));
  ASSERT_TRUE(run("on"));
  EXPECT_EQ(model_.requests[1].all_text(), "the summary\ndo not forget\non\n");
}

TEST_F(AgentStop, CompactEndsTheRunOnASummary) {
  on(AGENTD_EVENT_AGENT_STOP, "compact", [](const TestCall& call) {
    Action compact = action(AGENTD_ACT_COMPACT, "keep the paths");
    compact.model = "m-small";
    return call.answer(compact);
  });
  open();
  model_.say("one").say("a summary");
  EXPECT_EQ(run("go")->outcome, RunOutcome::kCompacted);
  ASSERT_EQ(model_.requests.size(), 2u);
  EXPECT_EQ(model_.requests[1].model, "m-small");
  EXPECT_EQ(model_.requests[1].purpose, "summary");
  EXPECT_TRUE(model_.requests[1].tools.empty());
  EXPECT_NE(model_.requests[1].closing_text.find("keep the paths"), std::string::npos);
  ASSERT_EQ(stored_view().rows().size(), 1u);
  EXPECT_EQ(stored_view().rows()[0].role, AGENTD_ROLE_SUMMARY);
}

TEST_F(AgentStop, CompactWithMessagesGoesOnOnTheNewView) {
  on(AGENTD_EVENT_AGENT_STOP, "compact", [](const TestCall& call) {
    if (call.payload<agentd_agent_stop>().continuation != 0) return AGENTD_OK;
    call.emit(action(AGENTD_ACT_COMPACT));
    return call.answer(action(AGENTD_ACT_CONTINUE, "go on"));
  });
  open();
  model_.say("one").say("a summary").say("two");
  EXPECT_EQ(text_of(run("go")), "two");
  EXPECT_NE(model_.requests[2].all_text().find("a summary"), std::string::npos);
  EXPECT_TRUE(model_.requests[2].all_text().ends_with("go on\n"));
  EXPECT_EQ(model_.requests[2].all_text().find("one"), std::string::npos);
}

TEST_F(AgentStop, ThenContinueGoesOnWithoutAMessageOfTheHook) {
  on(AGENTD_EVENT_AGENT_STOP, "compact", [](const TestCall& call) {
    if (call.payload<agentd_agent_stop>().continuation != 0) return AGENTD_OK;
    call.emit(set_action(AGENTD_KEY_THEN, {}, 1));
    return call.answer(action(AGENTD_ACT_COMPACT));
  });
  open();
  model_.say("one").say("a summary").say("two");
  EXPECT_EQ(text_of(run("go")), "two");
}

TEST_F(AgentStop, FailedCompactionLeavesTheViewAndIsNotCalledCompacted) {
  on(AGENTD_EVENT_AGENT_STOP, "compact", [](const TestCall& call) { return call.answer(action(AGENTD_ACT_COMPACT)); });
  open();
  model_.say("one").fail(ModelErrorKind::kServer, "broken");
  const auto report = run("go");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, RunOutcome::kStop);
  EXPECT_EQ(events_.outcomes(), "failed");
  EXPECT_EQ(stored_view().rows().size(), 2u);
}

TEST_F(AgentStop, SummaryIsStoredAndTheViewStays) {
  on(AGENTD_EVENT_AGENT_STOP, "sum",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SUMMARY, "so far")); });
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  EXPECT_NE(kinds().find("summary"), std::string::npos);
  EXPECT_EQ(stored_view().rows().size(), 2u);
  EXPECT_EQ(events_.outcomes(), "");
}

TEST_F(AgentStop, EmptySummaryIsMadeByTheHost) {
  on(AGENTD_EVENT_AGENT_STOP, "sum", [](const TestCall& call) { return call.answer(action(AGENTD_ACT_SUMMARY)); });
  open();
  model_.say("one").say("made by the model");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(model_.requests[1].purpose, "summary");
  bool stored = false;
  for (const StoredRecord& record : log())
    stored = stored || (record.record.type == RecordType::kSummary &&
                        record.record.payload.find("made by the model") != std::string::npos);
  EXPECT_TRUE(stored);
}

TEST_F(AgentStop, CallbackRunsARecipeAndItsTextIsTheNextMessage) {
  on(AGENTD_EVENT_AGENT_STOP, "review", [](const TestCall& call) {
    if (call.payload<agentd_agent_stop>().continuation != 0) return AGENTD_OK;
    Action callback = action(AGENTD_ACT_CALLBACK, "compact");
    return call.answer(callback);
  });
  open();
  model_.say("one").say("fix the typo", Usage{5, 1, 0, 0, 0, 0}).say("two");
  EXPECT_EQ(text_of(run("go")), "two");
  EXPECT_EQ(model_.requests[1].purpose, "thread");
  EXPECT_TRUE(model_.requests[2].all_text().ends_with("fix the typo\n"));
  EXPECT_EQ(store_.info(id())->usage.input, 5u);
}

TEST_F(AgentStop, CallbackToAMissingRecipeIsAWarning) {
  on(AGENTD_EVENT_AGENT_STOP, "review",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_CALLBACK, "nope")); });
  open();
  model_.say("one");
  EXPECT_EQ(text_of(run("go")), "one");
  ASSERT_EQ(events_.of(RunEvent::Type::kWarning).size(), 1u);
  EXPECT_NE(events_.of(RunEvent::Type::kWarning)[0].text.find("nope"), std::string::npos);
}

TEST_F(AgentStop, SecondExclusiveAnswerIsAConflictThatIsTold) {
  on(AGENTD_EVENT_AGENT_STOP, "a", [](const TestCall& call) { return call.answer(replace_all(call, "A")); });
  on(AGENTD_EVENT_AGENT_STOP, "b", [](const TestCall& call) { return call.answer(action(AGENTD_ACT_COMPACT)); });
  open();
  model_.say(std::string(4'000, 'x'));
  ASSERT_TRUE(run("go"));
  const auto told = events_.of(RunEvent::Type::kHookConflict);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].name, "b");
  EXPECT_EQ(told[0].text, "a");
  EXPECT_TRUE(log_.mentions("lost to a"));
}

TEST_F(AgentStop, TitleCanBeSet) {
  on(AGENTD_EVENT_AGENT_STOP, "name",
     [](const TestCall& call) { return call.answer(set_action(AGENTD_KEY_TITLE, "named")); });
  open();
  model_.say("one");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(store_.info(id())->title, "named");
}

}  // namespace
}  // namespace agentd
