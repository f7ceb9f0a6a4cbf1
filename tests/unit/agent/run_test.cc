// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/support/agent_fixture.h"

namespace agentd {
namespace {

using testing::action;
using testing::AgentTest;
using testing::set_action;
using testing::TestCall;

class Run : public AgentTest {};

TEST_F(Run, TextTurnIsTwoCommits) {
  open();
  model_.say("hello");
  EXPECT_EQ(text_of(run("hi")), "hello");
  EXPECT_EQ(store_.appends, 2);
  EXPECT_EQ(kinds(), "genesis run_begin settings user_message assistant_message run_end");
}

TEST_F(Run, UserMessageIsDurableBeforeTheModelIsAsked) {
  open();
  model_.say("hello");
  std::string seen;
  model_.during = [&](const ModelRequest&) { seen = kinds(); };
  ASSERT_TRUE(run("hi"));
  EXPECT_EQ(seen, "genesis run_begin settings user_message");
}

TEST_F(Run, RequestHoldsSystemPromptInstructionsAndHistory) {
  options_.instructions = "never push";
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  ASSERT_TRUE(run("second"));
  ASSERT_EQ(model_.requests.size(), 2u);
  EXPECT_EQ(model_.requests[1].system, "be good\n\nnever push");
  EXPECT_EQ(model_.requests[1].all_text(), "first\none\nsecond\n");
}

TEST_F(Run, ConversationGoesOnInAnotherProcess) {
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  reopen();
  ASSERT_TRUE(run("second"));
  EXPECT_EQ(model_.requests[1].all_text(), "first\none\nsecond\n");
  EXPECT_EQ(log().back().record.run, 2u);
}

TEST_F(Run, ConversationIsBusyWhileARunGoesOn) {
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  const auto other = agent_->open(id(), {});
  ASSERT_TRUE(other) << other.error().message;
  model_.during = [&](const ModelRequest&) {
    for (const auto& tried : {agent_->open(id(), {}).error(), (*other)->run("meanwhile", {}).error(),
                              (*other)->compact({}, false, {}).error(), (*other)->undo(false, {}).error()}) {
      EXPECT_EQ(tried.kind, RunError::Kind::kBusy);
      EXPECT_NE(tried.message.find("in use"), std::string::npos) << tried.message;
    }
  };
  ASSERT_TRUE(run("second"));
  EXPECT_EQ(model_.requests.back().all_text(), "first\none\nsecond\n");
}

TEST_F(Run, AnIdleSessionHoldsNeitherTheLeaseNorASlot) {
  on(AGENTD_EVENT_SESSION_START, "starts", [](const TestCall&) { return AGENTD_OK; });
  on(AGENTD_EVENT_TURN_START, "turns", [](const TestCall&) { return AGENTD_OK; });
  open();
  EXPECT_TRUE(store_.lease(id()));
  EXPECT_EQ(slots_.in_use(), 0u);
  model_.say("one");
  model_.during = [&](const ModelRequest&) {
    EXPECT_FALSE(store_.lease(id()));
    EXPECT_GT(slots_.in_use(), 0u);
  };
  ASSERT_TRUE(run("first"));
  EXPECT_TRUE(store_.lease(id()));
  EXPECT_EQ(slots_.in_use(), 0u);
}

TEST_F(Run, BeginsWithWhatAnotherSessionHasAdded) {
  open();
  model_.say("one").say("two").say("a summary").say("three");
  ASSERT_TRUE(run("first"));
  {
    const auto other = agent_->open(id(), {});
    ASSERT_TRUE(other) << other.error().message;
    ASSERT_TRUE((*other)->run("second", {}));
  }
  events_.told.clear();
  const auto compacted = session_->compact({}, false, {});
  ASSERT_TRUE(compacted) << compacted.error().message;
  EXPECT_EQ(model_.requests.back().messages.at(3).text(), "two");
  EXPECT_EQ(events_.of(RunEvent::Type::kNotice).at(0).text, "another session has added 2 messages to the conversation");
  ASSERT_TRUE(run("third"));
  EXPECT_EQ(events_.of(RunEvent::Type::kNotice).size(), 1u);
  EXPECT_EQ(stored_view().runs(), 3u);
}

// ---- messages that are posted while it goes on

TEST_F(Run, ASteeringMessageFollowsTheToolsAndPrecedesTheNextRequest) {
  tools_.offer("bash");
  tools_.handler = [&](const ToolCall&) {
    std::thread client([&] { EXPECT_TRUE(session_->post({PostedMessage::Kind::kSteer, "rather this way"})); });
    client.join();
    return Result<ToolOutcome>(ToolOutcome{});
  };
  open();
  model_.ask_tools({{"bash", "{}"}}).say("done");
  EXPECT_EQ(text_of(run("go")), "done");
  const auto& seen = model_.requests.at(1).messages;
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[2].blocks[0].kind, BlockKind::kToolResult);
  EXPECT_EQ(seen[3].text(), "rather this way");
  EXPECT_EQ(events_.of(RunEvent::Type::kUserMessage).at(1).text, "rather this way");
  EXPECT_TRUE(session_->take_posted().empty());
}

TEST_F(Run, AFollowUpContinuesItOnceItWouldStop) {
  int stops = 0;
  on(AGENTD_EVENT_AGENT_STOP, "stops", [&](const TestCall&) { return ++stops, AGENTD_OK; });
  open();
  model_.during = [&](const ModelRequest&) {
    if (model_.requests.size() == 1) {
      EXPECT_TRUE(session_->post({PostedMessage::Kind::kFollowUp, "and then that"}));
    }
  };
  model_.say("one").say("two");
  EXPECT_EQ(text_of(run("go")), "two");
  EXPECT_EQ(model_.requests.at(1).all_text(), "go\none\nand then that\n");
  EXPECT_EQ(stops, 2);
  EXPECT_EQ(stored_view().runs(), 1u);
}

TEST_F(Run, ASteeringMessageThatComesTooLateIsAFollowUp) {
  on(AGENTD_EVENT_AGENT_STOP, "late", [&](const TestCall&) {
    if (model_.requests.size() == 1) {
      EXPECT_TRUE(session_->post({PostedMessage::Kind::kSteer, "too late"}));
    }
    return AGENTD_OK;
  });
  open();
  model_.say("one").say("two");
  EXPECT_EQ(text_of(run("go")), "two");
}

TEST_F(Run, APostedMessageThatAHookBlocksIsReportedAndTheRunGoesOn) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [](const TestCall& call) {
    if (view_of(call.payload<agentd_user_message>().text) != "secret") return AGENTD_OK;
    return call.answer(action(AGENTD_ACT_BLOCK, "it is secret"));
  });
  open();
  EXPECT_TRUE(session_->post({PostedMessage::Kind::kSteer, "secret"}));
  EXPECT_TRUE(session_->post({PostedMessage::Kind::kSteer, "public"}));
  model_.say("one");
  EXPECT_EQ(text_of(run("go")), "one");
  EXPECT_EQ(model_.requests.at(0).all_text(), "go\npublic\n");
  EXPECT_EQ(events_.of(RunEvent::Type::kWarning).at(0).text, "the message was blocked by guard: it is secret");
}

TEST_F(Run, APostedMessageThatCouldNotBeStoredIsHandedBack) {
  open();
  EXPECT_TRUE(session_->post({PostedMessage::Kind::kSteer, "posted"}));
  store_.refuses = [](std::span<const Record>) { return true; };
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kStore);
  EXPECT_EQ(session_->take_posted().at(0).text, "posted");
}

TEST_F(Run, WhatAnInterruptedRunHasNotTakenIsHandedBack) {
  open();
  model_.during = [&](const ModelRequest&) {
    EXPECT_TRUE(session_->post({PostedMessage::Kind::kFollowUp, "later"}));
    EXPECT_TRUE(session_->post({PostedMessage::Kind::kSteer, "now"}));
    cancel_.cancel(AGENTD_CANCEL_USER);
  };
  model_.say("one");
  EXPECT_FALSE(run("go"));
  const auto back = session_->take_posted();
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].text + " " + back[1].text, "later now");
  EXPECT_TRUE(session_->take_posted().empty());
}

TEST_F(Run, ASessionThatEndsWhileAnotherWorksAppendsNothing) {
  on(AGENTD_EVENT_SESSION_START, "titles",
     [](const TestCall& call) { return call.answer(testing::set_action(AGENTD_KEY_TITLE, "a title")); });
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  const auto other = agent_->open(id(), {});
  ASSERT_TRUE(other) << other.error().message;
  model_.during = [&](const ModelRequest&) {
    const std::uint64_t before = store_.info(id())->revision;
    (*other)->end("exit");
    EXPECT_EQ(store_.info(id())->revision, before);
  };
  EXPECT_EQ(text_of(run("second")), "two");
}

TEST_F(Run, AConversationThatWasDeletedMeanwhileIsNotFound) {
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  ASSERT_TRUE(store_.remove(id()));
  const auto report = run("second");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kNotFound);
  EXPECT_EQ(model_.requests.size(), 1u);
}

TEST_F(Run, MissingConversationIsNotFound) {
  open();
  const auto opened = agent_->open(ids_.next(), {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, RunError::Kind::kNotFound);
}

TEST_F(Run, UsageIsChargedToTheConversationAndTheRun) {
  open();
  model_.say("one", Usage{100, 20, 5, 0, 0, 0});
  const auto report = run("first");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->usage.input, 100u);
  EXPECT_EQ(store_.info(id())->usage.output, 20u);
}

TEST_F(Run, GaugeComesFromTheReportAndWhatCameSince) {
  open();
  model_.say("one", Usage{4'000, 100, 50, 0, 0, 0});
  ASSERT_TRUE(run("first"));
  const Gauge gauge = session_->gauge();
  EXPECT_TRUE(gauge.reported);
  EXPECT_EQ(gauge.used, 4'150u);
  EXPECT_EQ(gauge.limit, 8'000u);
  EXPECT_EQ(gauge.compact_at, 6'400u);
}

TEST_F(Run, GaugeIsAnEstimateOfTheBytesWithoutAReport) {
  open();
  model_.say(std::string(400, 'x'));
  ASSERT_TRUE(run(std::string(800, 'y')));
  const Gauge gauge = session_->gauge();
  EXPECT_FALSE(gauge.reported);
  // 2 for the system prompt, 100 + 4 and 200 + 4 for the messages.
  EXPECT_EQ(gauge.used, 310u);
  EXPECT_EQ(gauge.floor, 2u);
}

TEST_F(Run, ModelErrorIsRecordedAndTheNextRunGoesOn) {
  open();
  model_.fail(ModelErrorKind::kOverloaded, "it is overloaded").say("fine");
  const auto failed = run("first");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, RunError::Kind::kProvider);
  EXPECT_EQ(failed.error().message, "it is overloaded");
  EXPECT_EQ(read_run_end(log().back().record)->outcome, "error");
  reopen();
  EXPECT_EQ(text_of(run("again")), "fine");
  EXPECT_EQ(model_.requests[1].all_text(),
            "first\n[interrupted by an error: the message above was not answered]\nagain\n");
}

TEST_F(Run, AnswerThatWasCutOffStaysMarkedAndWithoutItsCalls) {
  open();
  ModelError cut;
  cut.kind = ModelErrorKind::kInterrupted;
  cut.message = "the stream ended";
  cut.partial = Message::of_text(Role::kAssistant, "half an ans");
  cut.partial.blocks.push_back(Block::tool_use("c", "bash", "{"));
  model_.answers.emplace_back(cut);
  EXPECT_FALSE(run("first"));
  const Conversation view = stored_view();
  ASSERT_EQ(view.rows().size(), 2u);
  EXPECT_NE(view.rows()[1].flags & AGENTD_MESSAGE_INTERRUPTED, 0);
  EXPECT_EQ(view.rows()[1].blocks.count, 1u);
  EXPECT_TRUE(view.open_calls().empty());
}

TEST_F(Run, AnswerThatBreaksOffIsAskedForAgainAsAWhole) {
  const auto cut = [](const std::string& text) {
    ModelError out;
    out.kind = ModelErrorKind::kInterrupted;
    out.message = "the stream ended";
    out.retryable = true;
    if (!text.empty()) out.partial = Message::of_text(Role::kAssistant, text);
    return out;
  };
  std::size_t asked = 0;
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "watch", [&](const TestCall&) {
    ++asked;
    return AGENTD_OK;
  });
  open();
  model_.answers.emplace_back(cut("half an ans"));
  model_.say("the whole answer");
  EXPECT_EQ(text_of(run("first")), "the whole answer");
  EXPECT_EQ(asked, 2u);  // hooks judge each request
  const Conversation view = stored_view();
  ASSERT_EQ(view.rows().size(), 2u);
  EXPECT_EQ(view.rows()[1].flags & AGENTD_MESSAGE_INTERRUPTED, 0);
  // Twice again, and no more; what was said last stays.
  for (const char* const text : {"one", "two", ""}) model_.answers.emplace_back(cut(text));
  EXPECT_FALSE(run("second"));
  EXPECT_EQ(asked, 5u);
  const Conversation after = stored_view();
  EXPECT_EQ(to_message(after.rows()[after.rows().size() - 1]).text(), "two");
}

TEST_F(Run, AnotherModelIsAskedWhenTheOneBeforeCannotAnswerNow) {
  options_.fallbacks = {"m-too", "other/m-three"};
  std::string judged;
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "watch", [&](const TestCall& call) {
    judged += std::string(view_of(call.payload<agentd_model_call>().model)) + " ";
    return AGENTD_OK;
  });
  open();
  model_.fail(ModelErrorKind::kOverloaded, "529").fail(ModelErrorKind::kNetwork, "gone").say("here");
  EXPECT_EQ(text_of(run("first")), "here");
  EXPECT_EQ(judged, "m-1 m-too other/m-three ");
  // The next run begins with its own again, and what is the user's mistake goes nowhere else.
  judged.clear();
  model_.fail(ModelErrorKind::kAuth, "no key").say("never");
  EXPECT_FALSE(run("second"));
  EXPECT_EQ(judged, "m-1 ");
}

// What a provider answers of a model that it does not have.
ModelResult not_found() {
  ModelError out;
  out.kind = ModelErrorKind::kInvalid;
  out.message = "no such model";
  out.http_status = 404;
  return out;
}

// On its last day and later; another cloud may still serve it, so it is asked.
TEST_F(Run, AModelThatItsProviderHasRetiredIsPassedOver) {
  options_.fallbacks = {"gone-1", "m-too"};
  open();
  model_.fail(ModelErrorKind::kOverloaded, "529");
  model_.answers.emplace_back(not_found());
  model_.say("here");
  EXPECT_EQ(text_of(run("first")), "here");
  EXPECT_EQ(model_.requests.size(), 3u);
  EXPECT_EQ(model_.requests.back().model, "m-too");
  // One that is not known is a mistake, unless its day has come; so is another refusal.
  model_.answers.emplace_back(not_found());
  EXPECT_FALSE(run("second"));
  model_.fail(ModelErrorKind::kOverloaded, "529").fail(ModelErrorKind::kInvalid, "400");
  EXPECT_FALSE(run("third"));
  EXPECT_EQ(model_.requests.size(), 6u);
}

TEST_F(Run, AModelOfWhichTheLastDayIsToComeIsNotPassedOver) {
  options_.fallbacks = {"going", "m-too"};
  open();
  model_.fail(ModelErrorKind::kOverloaded, "529");
  model_.answers.emplace_back(not_found());
  EXPECT_FALSE(run("first"));
  EXPECT_EQ(model_.requests.size(), 2u);
}

TEST_F(Run, ErrorsAreToldToHooks) {
  std::string code;
  on(AGENTD_EVENT_AGENT_ERROR, "watch", [&](const TestCall& call) {
    code = std::string(view_of(call.payload<agentd_agent_error>().code));
    return AGENTD_OK;
  });
  open();
  model_.fail(ModelErrorKind::kRateLimit, "slow down");
  EXPECT_FALSE(run("first"));
  EXPECT_EQ(code, name_of(ModelErrorKind::kRateLimit));
}

TEST_F(Run, TurnLimitEndsTheRun) {
  options_.max_turns = 2;
  tools_.offer("bash");
  open();
  model_.ask_tools({{"bash", "{}"}}).ask_tools({{"bash", "{}"}}).say("never");
  const auto report = run("go");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, RunOutcome::kMaxTurns);
  EXPECT_EQ(report->turns, 2u);
  EXPECT_EQ(model_.requests.size(), 2u);
  const auto warnings = events_.of(RunEvent::Type::kWarning);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].text, "the run was stopped after 2 turns: continue with --follow");
}

TEST_F(Run, RequestOverTheWindowIsToldOncePerRun) {
  options_.window_override = 2'000;
  options_.auto_compact = false;
  open();
  model_.say("a");
  ASSERT_TRUE(run(std::string(40'000, 'q')));
  const auto warnings = events_.of(RunEvent::Type::kWarning);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].text.find("only 1,500 fit the window"), std::string::npos) << warnings[0].text;
}

TEST_F(Run, CancelledRunSaysSoAndIsRecorded) {
  open();
  model_.say("never");
  cancel_.cancel(AGENTD_CANCEL_USER);
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kCancelled);
  EXPECT_EQ(read_run_end(log().back().record)->outcome, "cancelled");
}

TEST_F(Run, FullDiskIsAStoreError) {
  open();
  store_.refuses = [](auto) { return true; };
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kStore);
  EXPECT_TRUE(model_.requests.empty());
  // Nobody hears of a message that is not stored, nor of a turn about it.
  EXPECT_TRUE(events_.of(RunEvent::Type::kUserMessage).empty());
  EXPECT_TRUE(events_.of(RunEvent::Type::kTurnStarted).empty());
  // A control: both are told of one that is.
  store_.refuses = nullptr;
  model_.say("done");
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(events_.of(RunEvent::Type::kUserMessage).size(), 1u);
  EXPECT_EQ(events_.of(RunEvent::Type::kTurnStarted).size(), 1u);
}

// ---- hooks of a run

TEST_F(Run, BlockedMessageLeavesNothingButTheFact) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [](const TestCall& call) {
    EXPECT_EQ(view_of(call.payload<agentd_user_message>().text), "the secret");
    return call.answer(action(AGENTD_ACT_BLOCK, "no secrets"));
  });
  open();
  const auto report = run("the secret");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kBlocked);
  EXPECT_NE(report.error().message.find("guard: no secrets"), std::string::npos);
  EXPECT_EQ(kinds(), "genesis run_begin settings run_end");
  EXPECT_TRUE(model_.requests.empty());
  for (const StoredRecord& record : log()) EXPECT_EQ(record.record.payload.find("the secret"), std::string::npos);
}

TEST_F(Run, RewrittenMessageIsTheOnlyOneThatIsStored) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "redact",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "clean")); });
  open();
  model_.say("ok");
  ASSERT_TRUE(run("the secret"));
  EXPECT_EQ(model_.requests[0].all_text(), "clean\n");
  for (const StoredRecord& record : log()) EXPECT_EQ(record.record.payload.find("the secret"), std::string::npos);
  EXPECT_NE(kinds().find("hook_effect"), std::string::npos);
}

TEST_F(Run, SessionStartContextGoesWithEveryRequestAndIsNoMessage) {
  on(AGENTD_EVENT_SESSION_START, "memory",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "remember this")); });
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  ASSERT_TRUE(run("second"));
  EXPECT_EQ(model_.requests[1].system, "be good\n\nremember this");
  EXPECT_EQ(model_.requests[1].all_text(), "first\none\nsecond\n");
}

TEST_F(Run, TitleFromSessionStartDoesNotPreventANewConversation) {
  on(AGENTD_EVENT_SESSION_START, "namer",
     [](const TestCall& call) { return call.answer(set_action(AGENTD_KEY_TITLE, "my title")); });
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  EXPECT_EQ(store_.info(id())->title, "my title");
  EXPECT_TRUE(kinds().starts_with("genesis "));
}

TEST_F(Run, ModelCallCanBeBlocked) {
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "guard",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_BLOCK, "budget")); });
  open();
  const auto report = run("go");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, RunError::Kind::kBlocked);
  EXPECT_EQ(read_run_end(log().back().record)->outcome, "blocked");
}

TEST_F(Run, ContextForOneRequestIsNotRecorded) {
  int calls = 0;
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "rag", [&](const TestCall& call) {
    if (++calls > 1) return AGENTD_OK;
    return call.answer(action(AGENTD_ACT_INJECT_CONTEXT, "only now"));
  });
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  ASSERT_TRUE(run("second"));
  EXPECT_EQ(model_.requests[0].all_text(), "first\nonly now\n");
  EXPECT_EQ(model_.requests[1].all_text(), "first\none\nsecond\n");
}

TEST_F(Run, ModelAndToolsOfARequestCanBeChosen) {
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "router", [](const TestCall& call) {
    call.emit(set_action(AGENTD_KEY_MODEL, "m-2"));
    return call.answer(action(AGENTD_ACT_TOOLS_DISABLE, "bash, grep"));
  });
  for (const char* const name : {"bash", "read_file", "grep"}) tools_.offer(name);
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  EXPECT_EQ(model_.requests[0].model, "m-2");
  EXPECT_EQ(model_.requests[0].tools, std::vector<std::string>{"read_file"});
}

TEST_F(Run, ACallThatTheModelCouldNotSpellIsAskedForOnceMore) {
  const auto malformed = [&] {
    model_.say("", Usage{10, 5});
    model_.answers.back()->malformed_call = true;
    model_.answers.back()->stop_reason = StopReason::kInterrupted;
    model_.answers.back()->note = "the provider ended the answer with 'MALFORMED'";
  };
  open();
  malformed();
  model_.say("now it is one", Usage{20, 5});
  const auto report = run("first");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->final_text, "now it is one");
  EXPECT_EQ(report->usage.input, 30u) << "both are paid for";
  malformed();
  malformed();
  ASSERT_TRUE(run("second"));
  EXPECT_EQ(model_.requests.size(), 4u) << "and not a third time";
}

TEST_F(Run, WhatWasPaidForAndBrokeIsAskedForAgainAsAWhole) {
  ModelError error;
  error.kind = ModelErrorKind::kOverloaded;
  error.retryable = true;
  error.message = "fake: overloaded";
  error.usage = Usage{10, 5};
  open();
  model_.answers.push_back(error);
  model_.say("here", Usage{20, 5});
  const auto report = run("first");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->usage.input, 30u);
  EXPECT_EQ(waits_, std::vector<Milliseconds>{Milliseconds(1'000)}) << "a busy provider is given time";
  // What was not paid for has been asked for again by the provider already.
  error.usage.reset();
  model_.answers.push_back(error);
  EXPECT_FALSE(run("second"));
}

TEST_F(Run, TheModelThatAHookNamesIsJudgedByAllHooks) {
  std::vector<std::string> judged;
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "guard", [&](const TestCall& call) {
    const auto& payload = call.payload<agentd_model_call>();
    judged.emplace_back(view_of(payload.model));
    return judged.back() == "m-forbidden" ? call.answer(action(AGENTD_ACT_BLOCK, "not that one")) : AGENTD_OK;
  });
  std::string choice = "m-forbidden";
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "router", [&](const TestCall& call) {
    call.emit(action(AGENTD_ACT_INJECT_CONTEXT, "routed"));
    return call.answer(set_action(AGENTD_KEY_MODEL, choice));
  });
  open();
  model_.say("one");
  const auto blocked = run("first");
  ASSERT_FALSE(blocked);
  EXPECT_EQ(blocked.error().kind, RunError::Kind::kBlocked);
  EXPECT_EQ(judged, (std::vector<std::string>{"m-1", "m-forbidden"}));
  EXPECT_TRUE(model_.requests.empty());
  judged.clear();
  choice = "m-2";
  ASSERT_TRUE(run("second"));
  EXPECT_EQ(judged, (std::vector<std::string>{"m-1", "m-2"}));
  EXPECT_EQ(model_.requests[0].model, "m-2");
  EXPECT_EQ(model_.requests[0].all_text().find("routed"), model_.requests[0].all_text().rfind("routed")) << "once";
}

TEST_F(Run, HooksThatNameOneModelAfterAnotherDoNotAgree) {
  int calls = 0;
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "router", [&](const TestCall& call) {
    return call.answer(set_action(AGENTD_KEY_MODEL, "other-" + std::to_string(++calls)));
  });
  open();
  model_.say("one");
  const auto refused = run("first");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, RunError::Kind::kBlocked);
  EXPECT_NE(refused.error().message.find("hooks keep setting different models for this call: other-3, then other-4"),
            std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(model_.requests.empty());
}

TEST_F(Run, ReplacementBeforeAModelCallChangesThatRequestOnly) {
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "shorten", [](const TestCall& call) {
    Action replace = action(AGENTD_ACT_REPLACE_MESSAGES);
    replace.base_revision = call.raw.envelope->revision;
    ReplacePart part;
    part.literal = Message::of_text(Role::kUser, "instead");
    replace.parts = {part};
    return call.answer(replace);
  });
  open();
  model_.say("one");
  ASSERT_TRUE(run("first"));
  EXPECT_EQ(model_.requests[0].all_text(), "instead\n");
  EXPECT_EQ(stored_view().rows().size(), 2u);
}

TEST_F(Run, ReplacementFromAnotherRevisionOrOverTheWindowIsRefused) {
  bool stale = true;
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "wrong", [&](const TestCall& call) {
    Action replace = action(AGENTD_ACT_REPLACE_MESSAGES);
    replace.base_revision = call.raw.envelope->revision - (stale ? 1 : 0);
    ReplacePart part;
    part.literal = Message::of_text(Role::kUser, stale ? "instead" : std::string(40'000, 'i'));
    replace.parts = {part};
    return call.answer(replace);
  });
  open();
  model_.say("one").say("two");
  ASSERT_TRUE(run("first"));
  stale = false;
  ASSERT_TRUE(run("second"));
  EXPECT_EQ(model_.requests[0].all_text(), "first\n");
  EXPECT_EQ(model_.requests[1].all_text(), "first\none\nsecond\n");
  const auto failures = events_.of(RunEvent::Type::kHookFailure);
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_NE(failures[0].text.find("revision"), std::string::npos);
  EXPECT_NE(failures[1].text.find("do not fit the window"), std::string::npos);
  session_.reset();
}

TEST_F(Run, RewritersOfTheAnswerChainAndSeeTheSameMessage) {
  std::string seen;
  on(AGENTD_EVENT_AFTER_MODEL_CALL, "a",
     [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "from a")); });
  on(AGENTD_EVENT_AFTER_MODEL_CALL, "b", [&](const TestCall& call) {
    const auto& payload = call.payload<agentd_model_response>();
    seen = std::string(view_of(payload.text)) + "," + to_message(*payload.message).text();
    return AGENTD_OK;
  });
  open();
  model_.say("the original");
  EXPECT_EQ(text_of(run("go")), "from a");
  EXPECT_EQ(seen, "from a,from a");
}

TEST_F(Run, RedactedAnswerIsTheOneThatIsShownAndStored) {
  on(AGENTD_EVENT_AFTER_MODEL_CALL, "redact", [](const TestCall& call) {
    return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "the code is ***"));
  }).what.flags = AGENTD_HOOK_REDACTS;
  open();
  model_.say("the code is 1234");
  EXPECT_EQ(text_of(run("go")), "the code is ***");
  for (const auto& told : events_.told) EXPECT_EQ(told.text.find("1234"), std::string::npos);
  for (const StoredRecord& record : log()) EXPECT_EQ(record.record.payload.find("1234"), std::string::npos);
}

// Thinking says what the answer says; providers want it back with tool calls alone.
TEST_F(Run, TheThinkingOfARewrittenAnswerGoesUnlessItCallsTools) {
  on(AGENTD_EVENT_AFTER_MODEL_CALL, "redact", [](const TestCall& call) {
    return view_of(call.payload<agentd_model_response>().text).empty()
               ? AGENTD_OK
               : call.answer(action(AGENTD_ACT_REPLACE_TEXT, "the code is ***"));
  }).what.flags = AGENTD_HOOK_REDACTS;
  tools_.offer("bash");
  open();
  const auto think = [this](const std::string& text) {
    Block block = Block::of_text(text);
    block.kind = BlockKind::kThinking;
    std::vector<Block>& blocks = model_.answers.back()->message.blocks;
    blocks.insert(blocks.begin(), block);
  };
  model_.ask_tools({{"bash", R"({"command":"ls"})"}});
  think("a tool is needed");
  model_.say("the code is 1234");
  think("the code must be 1234");
  EXPECT_EQ(text_of(run("go")), "the code is ***");
  std::string all;
  for (const StoredRecord& record : log()) all += record.record.payload;
  EXPECT_EQ(all.find("1234"), std::string::npos);
  EXPECT_NE(all.find("a tool is needed"), std::string::npos);
}

TEST_F(Run, AnswerIsWithheldWhenItsRedactorFails) {
  auto& hook = on(AGENTD_EVENT_AFTER_MODEL_CALL, "redact", [](const TestCall&) { return AGENTD_E_INTERNAL; });
  hook.what.flags = AGENTD_HOOK_REDACTS;
  hook.what.on_failure = FailurePolicy::kClosed;
  open();
  model_.say("the code is 1234");
  (void)run("go");
  for (const auto& told : events_.told) EXPECT_EQ(told.text.find("1234"), std::string::npos);
  for (const StoredRecord& record : log()) EXPECT_EQ(record.record.payload.find("1234"), std::string::npos);
}

TEST_F(Run, HookThatDoesNotAnswerInTimeIsAFailureNotARefusal) {
  on(AGENTD_EVENT_TURN_START, "slow", [](const TestCall&) { return AGENTD_E_DEADLINE; });
  open();
  model_.say("ok");
  EXPECT_EQ(text_of(run("go")), "ok");
  const auto failures = events_.of(RunEvent::Type::kHookFailure);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_NE(failures[0].text.find("deadline"), std::string::npos);
}

TEST_F(Run, EveryEventCarriesTheGaugeAndTheIds) {
  on(AGENTD_EVENT_TURN_END, "look", [&](const TestCall& call) {
    const agentd_envelope& envelope = *call.raw.envelope;
    EXPECT_EQ(view_of(envelope.conversation_id), session_->conversation_id());
    EXPECT_EQ(view_of(envelope.session_id), session_->session_id());
    EXPECT_EQ(view_of(envelope.project_id), "u/p");
    EXPECT_EQ(view_of(envelope.model), "m-1");
    EXPECT_EQ(envelope.turn_number, 1u);
    EXPECT_EQ(envelope.context->limit, 8'000u);
    EXPECT_EQ(call.payload<agentd_turn>().flags, AGENTD_TURN_FINAL);
    return AGENTD_OK;
  });
  open();
  model_.say("ok");
  ASSERT_TRUE(run("go"));
}

TEST_F(Run, EndOfASessionIsToldOnceAndFreesTheConversation) {
  std::string reasons;
  std::uint64_t left_ms = 0;
  on(AGENTD_EVENT_SESSION_END, "end", [&](const TestCall& call) {
    reasons += std::string(view_of(call.payload<agentd_session_end>().reason)) + ";";
    left_ms = (call.raw.live->deadline_ns - clock_.monotonic_ns()) / 1'000'000;
    return AGENTD_OK;
  });
  open();
  model_.say("ok");
  ASSERT_TRUE(run("go"));
  session_->end("clear");
  EXPECT_TRUE(store_.lease(id()));
  const Ulid same = id();
  session_.reset();
  EXPECT_EQ(reasons, "clear;");
  EXPECT_EQ(left_ms, 1'500u);
  EXPECT_TRUE(store_.lease(same));
}

TEST_F(Run, NoHooksMeansNoHookEvents) {
  open();
  model_.say("ok");
  ASSERT_TRUE(run("go"));
  EXPECT_TRUE(events_.of(RunEvent::Type::kHookAnswer).empty());
}

// The answer of which a hook hears counts already, not from the next event on.
TEST_F(Run, GaugeOfAnAnswersEventsCountsTheAnswer) {
  tools_.offer("bash");
  std::vector<std::uint64_t> used;
  const auto look = [&](const TestCall& call) {
    used.push_back(call.raw.envelope->context->used);
    return AGENTD_OK;
  };
  on(AGENTD_EVENT_AFTER_MODEL_CALL, "answers", look);
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "calls", look);
  open();
  Usage first, second;
  first.input = 100;
  first.output = 20;
  second.input = 140;
  second.output = 3;
  model_.ask_tools({{"bash", "{}"}}, first).say("done", second);
  ASSERT_TRUE(run("go"));
  EXPECT_EQ(used, (std::vector<std::uint64_t>{120, 120, 143}));
}

// Without a report that can be believed, the answer counts as it is estimated.
TEST_F(Run, GaugeOfAnAnswerWithoutAReportCountsItsText) {
  std::uint64_t asked = 0, answered = 0;
  on(AGENTD_EVENT_BEFORE_MODEL_CALL, "before", [&](const TestCall& call) {
    asked = call.raw.envelope->context->used;
    return AGENTD_OK;
  });
  on(AGENTD_EVENT_AFTER_MODEL_CALL, "after", [&](const TestCall& call) {
    answered = call.raw.envelope->context->used;
    return AGENTD_OK;
  });
  open();
  model_.say(std::string(400, 'a'));
  ASSERT_TRUE(run("go"));
  EXPECT_GT(answered, asked);
}

}  // namespace
}  // namespace agentd
