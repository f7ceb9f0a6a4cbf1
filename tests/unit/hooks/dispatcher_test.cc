// SPDX-License-Identifier: Apache-2.0
// dispatcher_test.cc - who is asked, in which order, and what comes of the answers.
#include "tests/unit/hooks/dispatching.h"

namespace agentd {
namespace {

using testing::action;
using testing::Dispatching;
using testing::permission_action;
using testing::set_action;
using testing::TestCall;
using testing::TestHook;
using testing::TestSlots;

TEST_F(Dispatching, EventWithoutSubscribersHasNoOutcome) {
  note("a", 0, Precedence::kUser, AGENTD_EVENT_TURN_END);
  publish();
  EXPECT_EQ(fire(), nullptr);
  EXPECT_TRUE(dispatcher_.wants(AGENTD_EVENT_TURN_END));
  EXPECT_FALSE(dispatcher_.wants(AGENTD_EVENT_USER_MESSAGE_SEND));
  EXPECT_EQ(ran_, "");
}

// ---- order

TEST_F(Dispatching, PriorityThenPrecedenceThenName) {
  note("z");
  note("recipe", 0, Precedence::kRecipe);
  note("system", 0, Precedence::kSystem);
  note("low", -5, Precedence::kSystem);
  note("project", 0, Precedence::kProject);
  note("a");
  note("high", 9, Precedence::kRecipe);
  publish();
  EXPECT_EQ(fire(), nullptr);
  EXPECT_EQ(ran_, "high system project a z recipe low ");
}

TEST_F(Dispatching, ConfiguredOrderBeatsPriorityAndTheRestStandsAtTheStar) {
  note("last", 100);
  note("b");
  note("first", -100);
  note("a");
  publish({"first", "*", "last"});
  fire();
  EXPECT_EQ(ran_, "first a b last ");
}

TEST_F(Dispatching, WithoutAStarTheRestComesLast) {
  note("a", 100);
  note("named", -100);
  publish({"named"});
  fire();
  EXPECT_EQ(ran_, "named a ");
}

TEST_F(Dispatching, ObserversRunAfterTheOthersWhateverTheirPriority) {
  note("observer", 100).what.flags = AGENTD_HOOK_OBSERVES;
  note("gate", -100);
  publish();
  fire();
  EXPECT_EQ(ran_, "gate observer ");
}

TEST_F(Dispatching, EventsOutsideTheTableAreNotSubscribed) {
  note("zero", 0, Precedence::kUser, 0);
  note("large", 0, Precedence::kUser, 64);
  publish();
  EXPECT_EQ(dispatcher_.pin()->mask(), 0u);
}

TEST_F(Dispatching, PinnedSnapshotOutlivesAPublish) {
  note("old");
  publish();
  const auto pinned = dispatcher_.pin();
  hooks_[0]->what.event = AGENTD_EVENT_TURN_END;
  publish();
  EXPECT_TRUE(pinned->wants(AGENTD_EVENT_USER_MESSAGE_SEND));
  EXPECT_FALSE(dispatcher_.pin()->wants(AGENTD_EVENT_USER_MESSAGE_SEND));
}

// ---- merging

TEST_F(Dispatching, StopRunBeatsDenyBeatsAskBeatsAllow) {
  on(AGENTD_EVENT_BEFORE_TOOL_CALL, "a", [](const TestCall& call) {
    call.emit(permission_action(AGENTD_PERMISSION_ALLOW));
    call.emit(permission_action(AGENTD_PERMISSION_ASK));
    call.emit(permission_action(AGENTD_PERMISSION_DENY, "denied"));
    return call.answer(action(AGENTD_ACT_STOP_RUN, "enough"));
  });
  note("never", 0, Precedence::kUser, AGENTD_EVENT_BEFORE_TOOL_CALL);
  publish();
  const auto outcome = fire(AGENTD_EVENT_BEFORE_TOOL_CALL);
  ASSERT_TRUE(outcome && outcome->stop);
  EXPECT_TRUE(outcome->blocked);
  EXPECT_EQ(outcome->reason, "enough");
  EXPECT_EQ(outcome->stop->by.hook, "a");
  EXPECT_EQ(outcome->stop->action.text, "enough");
  EXPECT_EQ(ran_, "") << "nothing is asked about what will not happen";
}

// A tool has run: who redacts its output is asked, whatever happens to the run.
TEST_F(Dispatching, StopRunBehindAToolLeavesTheRedactorsTheirTurn) {
  answers("a", action(AGENTD_ACT_STOP_RUN, "enough"), AGENTD_EVENT_AFTER_TOOL_CALL);
  answers("b", action(AGENTD_ACT_REPLACE_TEXT, "clean"), AGENTD_EVENT_AFTER_TOOL_CALL);
  answers("o", action(AGENTD_ACT_STOP_RUN, "ignored"), AGENTD_EVENT_AFTER_TOOL_CALL).what.flags = AGENTD_HOOK_OBSERVES;
  publish();
  const auto outcome = fire(AGENTD_EVENT_AFTER_TOOL_CALL);
  ASSERT_TRUE(outcome && outcome->stop);
  EXPECT_EQ(outcome->stop->by.hook, "a");
  EXPECT_FALSE(outcome->blocked);
  EXPECT_EQ(text_, "clean");
}

TEST_F(Dispatching, EmptyAnswersAreInert) {
  note("a");
  answers("b", action(AGENTD_ACT_INJECT_CONTEXT, "c"));
  note("c");
  publish();
  const auto outcome = fire();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->contexts.size(), 1u);
  EXPECT_FALSE(outcome->blocked);
}

TEST_F(Dispatching, RewritesChain) {
  for (const char* const name : {"a", "b"})
    on(AGENTD_EVENT_USER_MESSAGE_SEND, name, [name](const TestCall& call) {
      return call.answer(action(AGENTD_ACT_REPLACE_TEXT, call.payload<std::string>() + name));
    });
  publish();
  const auto outcome = fire();
  EXPECT_EQ(text_, "textab");
  EXPECT_EQ(outcome->rewrites.size(), 2u);
}

TEST_F(Dispatching, RewriteOfAnotherTextIsIgnored) {
  Action wrong = action(AGENTD_ACT_REPLACE_TEXT, "x");
  wrong.target = AGENTD_TEXT_RESPONSE;
  answers("a", wrong);
  publish();
  const auto outcome = fire();
  EXPECT_EQ(text_, "text");
  EXPECT_TRUE(!outcome || outcome->rewrites.empty());
}

TEST_F(Dispatching, FirstDenyStopsTheChainAndObserversStillRun) {
  answers("a", action(AGENTD_ACT_BLOCK, "because"));
  answers("b", action(AGENTD_ACT_BLOCK, "never heard"));
  answers("o", action(AGENTD_ACT_BLOCK, "ignored")).what.flags = AGENTD_HOOK_OBSERVES;
  publish();
  const auto outcome = fire();
  ASSERT_TRUE(outcome && outcome->blocked);
  EXPECT_EQ(outcome->reason, "because");
  EXPECT_EQ(outcome->blocked_by.hook, "a");
  EXPECT_EQ(ran_, "a o ");
}

TEST_F(Dispatching, AnswersOfObserversAreIgnored) {
  answers("o", action(AGENTD_ACT_BLOCK, "no")).what.flags = AGENTD_HOOK_OBSERVES;
  publish();
  const auto outcome = fire();
  EXPECT_TRUE(!outcome || !outcome->blocked);
}

TEST_F(Dispatching, FirstExclusiveAnswerWinsAndLosersAreReported) {
  answers("a", action(AGENTD_ACT_COMPACT), AGENTD_EVENT_AGENT_STOP);
  answers("b", action(AGENTD_ACT_SUMMARY, "s"), AGENTD_EVENT_AGENT_STOP);
  answers("c", action(AGENTD_ACT_CALLBACK, "r"), AGENTD_EVENT_AGENT_STOP);
  publish();
  const auto outcome = fire(AGENTD_EVENT_AGENT_STOP);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->exclusive_action()->kind, std::uint32_t{AGENTD_ACT_COMPACT});
  ASSERT_EQ(outcome->conflicts.size(), 2u);
  EXPECT_EQ(outcome->conflicts[0].winner.hook, "a");
  EXPECT_EQ(outcome->conflicts[0].loser.hook, "b");
  EXPECT_EQ(outcome->conflicts[1].kind, std::uint32_t{AGENTD_ACT_CALLBACK});
  EXPECT_EQ(ran_, "a b c ");
}

TEST_F(Dispatching, ContinuesAccumulateInOrder) {
  answers("b", action(AGENTD_ACT_CONTINUE, "second"), AGENTD_EVENT_AGENT_STOP);
  answers("a", action(AGENTD_ACT_CONTINUE, "first"), AGENTD_EVENT_AGENT_STOP);
  publish();
  const auto outcome = fire(AGENTD_EVENT_AGENT_STOP);
  ASSERT_EQ(outcome->continues.size(), 2u);
  EXPECT_EQ(outcome->continues[0].action.text, "first");
  EXPECT_EQ(outcome->continues[1].action.text, "second");
}

TEST_F(Dispatching, NoticesOfAHookBeyondTheFirstOnesAreCounted) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "a", [](const TestCall& call) {
    for (int i = 0; i < 5000; ++i) call.emit(action(AGENTD_ACT_SYSTEM_MESSAGE, "notice " + std::to_string(i)));
    return AGENTD_OK;
  });
  answers("b", action(AGENTD_ACT_SYSTEM_MESSAGE, "mine"), AGENTD_EVENT_USER_MESSAGE_SEND);
  publish();
  const auto outcome = fire(AGENTD_EVENT_USER_MESSAGE_SEND);
  ASSERT_EQ(outcome->notices.size(), 66u);
  EXPECT_EQ(outcome->notices[63].action.text, "notice 63");
  EXPECT_EQ(outcome->notices[64].action.text, "4,936 more notices were dropped: a hook may send 64 at one event");
  EXPECT_EQ(outcome->notices[65].action.text, "mine");
}

TEST_F(Dispatching, LastValueOfAKeyCounts) {
  answers("a", set_action(AGENTD_KEY_MODEL, "one"), AGENTD_EVENT_BEFORE_MODEL_CALL);
  answers("b", set_action(AGENTD_KEY_MODEL, "two"), AGENTD_EVENT_BEFORE_MODEL_CALL);
  publish();
  const auto outcome = fire(AGENTD_EVENT_BEFORE_MODEL_CALL);
  EXPECT_EQ(outcome->set_of(AGENTD_KEY_MODEL)->text, "two");
  EXPECT_EQ(outcome->set_of(AGENTD_KEY_TITLE), nullptr);
}

std::uint32_t merged(const std::unique_ptr<Outcome>& outcome) { return outcome ? outcome->permission : 0; }

TEST_F(Dispatching, DenyBeatsDeferBeatsAskBeatsAllow) {
  answers("a", permission_action(AGENTD_PERMISSION_ALLOW), AGENTD_EVENT_BEFORE_TOOL_CALL);
  answers("b", permission_action(AGENTD_PERMISSION_ASK), AGENTD_EVENT_BEFORE_TOOL_CALL);
  answers("c", permission_action(AGENTD_PERMISSION_ALLOW), AGENTD_EVENT_BEFORE_TOOL_CALL);
  publish();
  EXPECT_EQ(merged(fire(AGENTD_EVENT_BEFORE_TOOL_CALL)), AGENTD_PERMISSION_ASK);
  answers("d", permission_action(AGENTD_PERMISSION_DEFER), AGENTD_EVENT_BEFORE_TOOL_CALL);
  answers("e", permission_action(AGENTD_PERMISSION_ASK), AGENTD_EVENT_BEFORE_TOOL_CALL);
  publish();
  EXPECT_EQ(merged(fire(AGENTD_EVENT_BEFORE_TOOL_CALL)), AGENTD_PERMISSION_DEFER);
  answers("f", permission_action(AGENTD_PERMISSION_DENY, "no"), AGENTD_EVENT_BEFORE_TOOL_CALL);
  publish();
  const auto outcome = fire(AGENTD_EVENT_BEFORE_TOOL_CALL);
  EXPECT_EQ(outcome->permission, AGENTD_PERMISSION_DENY);
  EXPECT_TRUE(outcome->blocked);
  EXPECT_EQ(outcome->reason, "no");
}

TEST_F(Dispatching, AllowOfAProjectIsIgnoredAndItsDenyIsNot) {
  answers("a", permission_action(AGENTD_PERMISSION_ALLOW), AGENTD_EVENT_BEFORE_TOOL_CALL).what.precedence =
      Precedence::kProject;
  publish();
  EXPECT_EQ(merged(fire(AGENTD_EVENT_BEFORE_TOOL_CALL)), 0u);
  answers("b", permission_action(AGENTD_PERMISSION_DENY), AGENTD_EVENT_BEFORE_TOOL_CALL).what.precedence =
      Precedence::kProject;
  publish();
  EXPECT_TRUE(fire(AGENTD_EVENT_BEFORE_TOOL_CALL)->blocked);
}

// ---- failure

TEST_F(Dispatching, OpenHookThatFailsIsReportedAndTheChainGoesOn) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "a", [](const TestCall& call) {
    call.slot.fail(call.raw.token, AGENTD_E_IO, "no network");
    call.emit(action(AGENTD_ACT_BLOCK, "what it said before it failed"));
    return AGENTD_E_IO;
  });
  note("b");
  publish();
  const auto outcome = fire();
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->blocked);
  ASSERT_EQ(outcome->failures.size(), 1u);
  EXPECT_EQ(outcome->failures[0].text, "no network");
  EXPECT_EQ(ran_, "b ");
}

TEST_F(Dispatching, ClosedHookThatFailsBlocks) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [](const TestCall&) { return AGENTD_E_INTERNAL; }).what.on_failure =
      FailurePolicy::kClosed;
  note("z");
  publish();
  const auto outcome = fire();
  ASSERT_TRUE(outcome && outcome->blocked);
  EXPECT_TRUE(outcome->blocked_by_failure);
  EXPECT_EQ(ran_, "");
}

TEST_F(Dispatching, ClosedObserverThatFailsBlocksNothing) {
  auto& hook = on(AGENTD_EVENT_USER_MESSAGE_SEND, "o", [](const TestCall&) { return AGENTD_E_INTERNAL; });
  hook.what.on_failure = FailurePolicy::kClosed;
  hook.what.flags = AGENTD_HOOK_OBSERVES;
  publish();
  EXPECT_FALSE(fire()->blocked);
}

TEST_F(Dispatching, RedactorThatFailsWithholdsTheText) {
  auto& hook = on(AGENTD_EVENT_AFTER_TOOL_CALL, "redact", [](const TestCall&) { return AGENTD_E_INTERNAL; });
  hook.what.on_failure = FailurePolicy::kClosed;
  hook.what.flags = AGENTD_HOOK_REDACTS;
  publish();
  text_ = "secret";
  const auto outcome = fire(AGENTD_EVENT_AFTER_TOOL_CALL);
  EXPECT_EQ(text_.find("secret"), std::string::npos);
  EXPECT_EQ(outcome->rewrites.size(), 1u);
  EXPECT_EQ(outcome->failures.size(), 1u);
}

TEST_F(Dispatching, StoppedHooksAreSkipped) {
  auto& hook = note("a");
  hook.what.stopped = std::make_shared<std::atomic<std::uint32_t>>(0);
  publish();
  fire();
  hook.what.stopped->store(1);
  fire();
  EXPECT_EQ(ran_, "a ");
}

// What a row may return beside AGENTD_OK and AGENTD_PENDING is a failure, also a number that no header has.
TEST_F(Dispatching, StatusThatDoesNotExistIsAFailure) {
  for (const agentd_status status : {2, 77, 0x5c1d, 0x7fffffff}) {
    hooks_.clear();
    on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [status](const TestCall& call) {
      call.emit(action(AGENTD_ACT_INJECT_CONTEXT, "not heard"));
      return status;
    }).what.on_failure = FailurePolicy::kClosed;
    publish();
    const auto closed = fire();
    ASSERT_TRUE(closed && closed->blocked) << status;
    EXPECT_TRUE(closed->blocked_by_failure);
    EXPECT_NE(closed->reason.find(std::to_string(status)), std::string::npos) << closed->reason;
    EXPECT_TRUE(closed->contexts.empty());
    hooks_[0]->what.on_failure = FailurePolicy::kOpen;
    publish();
    const auto open = fire();
    ASSERT_TRUE(open && open->failures.size() == 1u) << status;
    EXPECT_FALSE(open->blocked);
  }
}

TEST_F(Dispatching, CompletionWithAStatusThatDoesNotExistIsAFailure) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [](const TestCall& call) {
    call.slot.complete(call.raw.token, 77);
    return AGENTD_PENDING;
  }).what.on_failure = FailurePolicy::kClosed;
  publish();
  const auto outcome = fire();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->blocked);
}

// Of an event that cannot be blocked the text is what a hook guards, whether or not it calls itself a redactor.
TEST_F(Dispatching, HookThatFailsClosedWithholdsWhatItCouldHaveRewritten) {
  for (const std::uint32_t event :
       {AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_EVENT_TOOL_CALL_FAILED, AGENTD_EVENT_AFTER_MODEL_CALL}) {
    hooks_.clear();
    auto& hook = on(event, "guard", [](const TestCall&) { return AGENTD_E_IO; });
    hook.what.flags = AGENTD_HOOK_GATES;
    hook.what.on_failure = FailurePolicy::kClosed;
    publish();
    EXPECT_TRUE(dispatcher_.pin()->redacts(event));
    text_ = "secret";
    const auto outcome = fire(event);
    EXPECT_EQ(text_.find("secret"), std::string::npos) << event;
    EXPECT_TRUE(outcome && outcome->withheld);
    // An open one, and one that only listens, leave it alone.
    for (const bool observer : {false, true}) {
      hook.what.on_failure = observer ? FailurePolicy::kClosed : FailurePolicy::kOpen;
      hook.what.flags = observer ? AGENTD_HOOK_OBSERVES : AGENTD_HOOK_GATES;
      publish();
      EXPECT_EQ(dispatcher_.pin()->redacts(event), !observer);  // an open one may rewrite it
      text_ = "secret";
      fire(event);
      EXPECT_EQ(text_, "secret") << event;
    }
  }
}

// Who hears of a guard that is stuck reads the payload of this event: the one before has ended.
TEST_F(Dispatching, GuardThatIsPassedOverIsTracedWithThePayloadOfThisEvent) {
  struct Sink final : TraceSink {
    explicit Sink(CallSlot& from) : slot(from) {}
    void on_hook(const HookTrace& trace) override {
      heard = trace.hook;
      const auto payload = slot.payload_text(false);
      text = payload ? *payload : "none";
    }
    CallSlot& slot;
    std::string heard, text;
  };
  auto& guard = note("guard");
  guard.what.on_failure = FailurePolicy::kClosed;
  guard.what.stopped = std::make_shared<std::atomic<std::uint32_t>>(kHookInUse);
  publish();
  const SlotLease slot(slots_);
  agentd_user_message first{}, second{};
  first.size = second.size = sizeof first;
  first.text = {"earlier", 7};
  second.text = {"this one", 8};
  Dispatch what;
  what.event = AGENTD_EVENT_USER_MESSAGE_SEND;
  what.payload = &first;
  dispatch(*dispatcher_.pin(), *slot, what);
  EXPECT_EQ(slot->dispatch(), nullptr) << "nothing of an event stays behind";
  guard.what.stopped->store(kHookStuck);
  Sink sink(*slot);
  Dispatch then = what;
  then.payload = &second;
  const auto outcome = dispatch(*dispatcher_.pin(), *slot, then, &sink);
  EXPECT_TRUE(outcome && outcome->blocked);
  EXPECT_EQ(sink.heard, "guard");
  EXPECT_NE(sink.text.find("this one"), std::string::npos) << sink.text;
  EXPECT_EQ(sink.text.find("earlier"), std::string::npos) << sink.text;
  EXPECT_EQ(slot->dispatch(), nullptr);
}

// The frame of the earlier event is gone: under a sanitizer this reads freed memory if anything of it is kept.
TEST_F(Dispatching, GuardThatIsPassedOverReadsNothingOfAFrameThatIsGone) {
  struct Sink final : TraceSink {
    explicit Sink(CallSlot& from) : slot(from) {}
    void on_hook(const HookTrace&) override { texts += slot.payload_text(true)->size(); }
    CallSlot& slot;
    std::size_t texts = 0;
  };
  auto& guard = note("guard");
  guard.what.on_failure = FailurePolicy::kClosed;
  guard.what.stopped = std::make_shared<std::atomic<std::uint32_t>>(kHookInUse);
  publish();
  const SlotLease slot(slots_);
  Sink sink(*slot);
  const auto once = [&](TraceSink * trace) __attribute__((noinline)) {
    agentd_user_message message{};
    message.size = sizeof message;
    message.text = {"x", 1};
    Dispatch what;
    what.event = AGENTD_EVENT_USER_MESSAGE_SEND;
    what.payload = &message;
    return dispatch(*dispatcher_.pin(), *slot, what, trace);
  };
  once(nullptr);
  guard.what.stopped->store(kHookStuck);
  EXPECT_TRUE(once(&sink)->blocked);
  EXPECT_GT(sink.texts, 0u);
}

// ---- messages and tokens

TEST_F(Dispatching, OnlyHooksThatWantMessagesGetThem) {
  std::string seen;
  on(AGENTD_EVENT_AGENT_STOP, "a",
     [&](const TestCall& call) { return seen += call.payload<std::string>() + " ", AGENTD_OK; });
  on(AGENTD_EVENT_AGENT_STOP, "b", [&](const TestCall& call) {
    return seen += call.payload<std::string>() + " ", AGENTD_OK;
  }).what.wants = 0;
  publish();
  fire(AGENTD_EVENT_AGENT_STOP);
  EXPECT_EQ(seen, "text bare ");
}

TEST_F(Dispatching, TokenIsStaleAfterItsCall) {
  agentd_token kept = 0;
  CallSlot* slot = nullptr;
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "a", [&](const TestCall& call) {
    kept = call.raw.token;
    slot = &call.slot;
    return AGENTD_OK;
  });
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "b", [&](const TestCall&) {
    EXPECT_FALSE(slot->emit(kept, action(AGENTD_ACT_BLOCK, "too late")));
    EXPECT_FALSE(slot->complete(kept, AGENTD_OK));
    EXPECT_FALSE(slot->fail(kept, AGENTD_E_IO, "x"));
    EXPECT_EQ(slot->allocate(kept, 8, 8), nullptr);
    return AGENTD_OK;
  });
  publish();
  const auto outcome = fire();
  EXPECT_TRUE(!outcome || !outcome->blocked);
  EXPECT_FALSE(slot->is_current(kept));
}

// ---- traces

TEST_F(Dispatching, TraceHearsOfEveryCallAndItsEffect) {
  class Sink final : public TraceSink {
   public:
    void on_hook(const HookTrace& trace) override {
      heard += std::string(trace.hook) + "=" + std::string(name_of(trace.effect)) + " ";
    }
    std::string heard;
  } sink;
  note("a");
  answers("b", action(AGENTD_ACT_INJECT_CONTEXT, "c"));
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "c", [](const TestCall&) { return AGENTD_E_IO; });
  answers("d", action(AGENTD_ACT_BLOCK, "no"));
  answers("o", action(AGENTD_ACT_BLOCK, "no")).what.flags = AGENTD_HOOK_OBSERVES;
  publish();
  fire(AGENTD_EVENT_USER_MESSAGE_SEND, &sink);
  EXPECT_EQ(sink.heard, "a=none b=applied c=failed d=blocked o=ignored ");
}

// ---- the table of events

TEST(EventTable, IdsAndNamesAreThoseOfTheHeader) {
#define AGENTD_CHECK(NAME, event, number, payload) EXPECT_EQ(find_event(std::string_view(#event))->id, number##u);
  AGENTD_EVENT_LIST(AGENTD_CHECK)
#undef AGENTD_CHECK
  for (const EventTraits& event : all_events()) EXPECT_EQ(find_event(event.id), &event);
  EXPECT_EQ(find_event(std::uint32_t{0}), nullptr);
  EXPECT_EQ(find_event(all_events().back().id + 1), nullptr);
  EXPECT_EQ(find_event(std::string_view("no_such")), nullptr);
}

TEST(EventTable, BlockIsLegalExactlyForEventsThatBlock) {
  for (const EventTraits& event : all_events()) {
    EXPECT_EQ(is_legal(event.id, AGENTD_ACT_BLOCK), event.blocking) << event.name;
    EXPECT_LE(event.blocking, is_legal(event.id, AGENTD_ACT_STOP_RUN)) << event.name;
    EXPECT_EQ(is_legal(event.id, AGENTD_ACT_REPLACE_TEXT), event.text_target != 0) << event.name;
  }
  EXPECT_FALSE(is_legal(AGENTD_EVENT_AGENT_STOP, 99));
  EXPECT_FALSE(is_legal(99, AGENTD_ACT_BLOCK));
}

}  // namespace
}  // namespace agentd
