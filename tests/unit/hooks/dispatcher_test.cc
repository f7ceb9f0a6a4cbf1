// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/dispatcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/hook_fakes.h"

namespace agentd {
namespace {

using testing::action;
using testing::permission_action;
using testing::set_action;
using testing::TestCall;
using testing::TestHook;
using testing::TestSlots;

class Dispatching : public ::testing::Test {
 protected:
  TestHook& on(std::uint32_t event, std::string name, TestHook::Fn fn) {
    hooks_.push_back(std::make_unique<TestHook>(slots_, event, std::move(name), std::move(fn)));
    return *hooks_.back();
  }
  // A hook that only notes that it ran.
  TestHook& note(std::string name, std::int16_t priority = 0, Precedence from = Precedence::kUser,
                 std::uint32_t event = AGENTD_EVENT_USER_MESSAGE_SEND) {
    auto& hook = on(event, name, [this, name](const TestCall&) { return ran_ += name + " ", AGENTD_OK; });
    hook.what.priority = priority;
    hook.what.precedence = from;
    return hook;
  }
  TestHook& answers(std::string name, Action what, std::uint32_t event = AGENTD_EVENT_USER_MESSAGE_SEND) {
    return on(event, name, [this, name, what](const TestCall& call) {
      ran_ += name + " ";
      return call.answer(what);
    });
  }
  void publish(std::vector<std::string> order = {}) {
    std::vector<Subscription> all;
    for (const auto& hook : hooks_) all.push_back(hook->what);
    dispatcher_.publish(std::move(all), order);
  }
  std::unique_ptr<Outcome> fire(std::uint32_t event = AGENTD_EVENT_USER_MESSAGE_SEND,
                                TraceSink* trace = nullptr) {
    Dispatch what;
    what.event = event;
    what.payload = &text_;
    what.payload_bare = &bare_;
    what.deadline_ns = deadline_ns_;
    what.context = this;
    what.rewrite = [](void* me, std::uint32_t, std::string_view text) {
      static_cast<Dispatching*>(me)->text_ = text;
    };
    const SlotLease slot(slots_);
    return dispatch(*dispatcher_.pin(), *slot, what, trace);
  }

  ManualClock clock_;
  TestSlots slots_;
  Dispatcher dispatcher_{clock_};
  std::vector<std::unique_ptr<TestHook>> hooks_;
  std::string ran_, text_ = "text", bare_ = "bare";
  std::uint64_t deadline_ns_ = UINT64_MAX;
};

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

TEST_F(Dispatching, LastValueOfAKeyCounts) {
  answers("a", set_action(AGENTD_KEY_MODEL, "one"), AGENTD_EVENT_BEFORE_MODEL_CALL);
  answers("b", set_action(AGENTD_KEY_MODEL, "two"), AGENTD_EVENT_BEFORE_MODEL_CALL);
  publish();
  const auto outcome = fire(AGENTD_EVENT_BEFORE_MODEL_CALL);
  EXPECT_EQ(outcome->set_of(AGENTD_KEY_MODEL)->text, "two");
  EXPECT_EQ(outcome->set_of(AGENTD_KEY_TITLE), nullptr);
}

std::uint32_t merged(const std::unique_ptr<Outcome>& outcome) {
  return outcome ? outcome->permission : 0;
}

TEST_F(Dispatching, DenyBeatsAskBeatsAllow) {
  answers("a", permission_action(AGENTD_PERMISSION_ALLOW), AGENTD_EVENT_BEFORE_TOOL_CALL);
  answers("b", permission_action(AGENTD_PERMISSION_ASK), AGENTD_EVENT_BEFORE_TOOL_CALL);
  answers("c", permission_action(AGENTD_PERMISSION_ALLOW), AGENTD_EVENT_BEFORE_TOOL_CALL);
  publish();
  EXPECT_EQ(merged(fire(AGENTD_EVENT_BEFORE_TOOL_CALL)), AGENTD_PERMISSION_ASK);
  answers("d", permission_action(AGENTD_PERMISSION_DENY, "no"), AGENTD_EVENT_BEFORE_TOOL_CALL);
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
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "guard", [](const TestCall&) { return AGENTD_E_INTERNAL; })
      .what.on_failure = FailurePolicy::kClosed;
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

// ---- messages and tokens

TEST_F(Dispatching, OnlyHooksThatWantMessagesGetThem) {
  std::string seen;
  on(AGENTD_EVENT_AGENT_STOP, "a", [&](const TestCall& call) {
    return seen += call.payload<std::string>() + " ", AGENTD_OK;
  });
  on(AGENTD_EVENT_AGENT_STOP, "b", [&](const TestCall& call) {
    return seen += call.payload<std::string>() + " ", AGENTD_OK;
  }).what.wants = 0;
  publish();
  fire(AGENTD_EVENT_AGENT_STOP);
  EXPECT_EQ(seen, "text bare ");
  EXPECT_TRUE(dispatcher_.pin()->wants_messages(AGENTD_EVENT_AGENT_STOP));
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

// ---- pending

TEST_F(Dispatching, PendingCallIsCompletedByAnotherThread) {
  std::thread worker;
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "a", [&](const TestCall& call) {
    worker = std::thread([slot = &call.slot, token = call.raw.token] {
      slot->emit(token, action(AGENTD_ACT_BLOCK, "from a thread"));
      slot->complete(token, AGENTD_OK);
    });
    return AGENTD_PENDING;
  });
  publish();
  const auto outcome = fire();
  worker.join();
  ASSERT_TRUE(outcome && outcome->blocked);
  EXPECT_EQ(outcome->reason, "from a thread");
}

TEST_F(Dispatching, PendingCallThatNeverEndsMeetsItsDeadline) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "a", [](const TestCall&) { return AGENTD_PENDING; });
  deadline_ns_ = clock_.monotonic_ns() + 1'000'000;
  publish();
  const auto outcome = fire();
  ASSERT_EQ(outcome->failures.size(), 1u);
  EXPECT_EQ(outcome->failures[0].status, AGENTD_E_DEADLINE);
  EXPECT_NE(outcome->failures[0].text.find("deadline"), std::string::npos);
}

// ---- times of their own

constexpr std::uint64_t kMs = 1'000'000;

TEST_F(Dispatching, TimeOfAHooksOwnIsItsDeadlineAndNobodyElses) {
  std::string seen;
  const auto tells = [&](const std::string& name) -> TestHook& {
    return on(AGENTD_EVENT_USER_MESSAGE_SEND, name, [&, name](const TestCall& call) {
      const std::uint64_t left = (call.slot.deadline_ns() - clock_.monotonic_ns()) / kMs;
      seen += name + "=" + std::to_string(left) + " ";
      return AGENTD_OK;
    });
  };
  tells("a");
  tells("b").what.timeout = Milliseconds(200);
  tells("c");
  tells("d").what.timeout = Milliseconds(90'000);
  tells("e");
  deadline_ns_ = clock_.monotonic_ns() + 30'000 * kMs;
  publish();
  EXPECT_EQ(fire(), nullptr);
  EXPECT_EQ(seen, "a=30000 b=200 c=30000 d=90000 e=30000 ");
}

TEST_F(Dispatching, HookThatTakesLongerThanTheEventLeavesTheOthersTheirTime) {
  std::uint64_t left = 0;
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "a", [&](const TestCall&) {
    clock_.advance(Milliseconds(60'000));
    return AGENTD_OK;
  }).what.timeout = Milliseconds(90'000);
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "b", [&](const TestCall& call) {
    left = (call.slot.deadline_ns() - clock_.monotonic_ns()) / kMs;
    return AGENTD_OK;
  });
  deadline_ns_ = clock_.monotonic_ns() + 30'000 * kMs;
  publish();
  EXPECT_EQ(fire(), nullptr);
  EXPECT_EQ(left, 30'000u);
}

TEST_F(Dispatching, TimeOfAHooksOwnDoesNotProlongTheEndOfASession) {
  std::uint64_t left = 0;
  on(AGENTD_EVENT_SESSION_END, "a", [&](const TestCall& call) {
    left = (call.slot.deadline_ns() - clock_.monotonic_ns()) / kMs;
    return AGENTD_OK;
  }).what.timeout = Milliseconds(90'000);
  deadline_ns_ = clock_.monotonic_ns() + 1'500 * kMs;
  publish();
  fire(AGENTD_EVENT_SESSION_END);
  EXPECT_EQ(left, 1'500u);
}

TEST_F(Dispatching, PendingCallMeetsTheDeadlineOfItsHookAndTheNextOneHasTheEvents) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "a", [](const TestCall&) { return AGENTD_PENDING; }).what.timeout =
      Milliseconds(1);
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "b", [this](const TestCall& call) {
    ran_ += call.slot.deadline_ns() == deadline_ns_ ? "b" : "late b";
    return AGENTD_OK;
  });
  deadline_ns_ = clock_.monotonic_ns() + 3'600'000 * kMs;
  publish();
  const auto outcome = fire();
  ASSERT_TRUE(outcome && outcome->failures.size() == 1u);
  EXPECT_EQ(outcome->failures[0].status, AGENTD_E_DEADLINE);
  EXPECT_EQ(ran_, "b");
}

TEST_F(Dispatching, PendingCallEndsWhenTheRunIsCancelled) {
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "a", [](const TestCall& call) {
    std::atomic_ref(call.slot.live().cancel).store(AGENTD_CANCEL_USER);
    return AGENTD_PENDING;
  });
  publish();
  EXPECT_EQ(fire()->failures.at(0).status, AGENTD_E_CANCELLED);
}

TEST_F(Dispatching, CompletionOfACallThatWasNotPendingDoesNotEndTheNextOne) {
  std::atomic<bool> completed{false};
  std::thread worker;
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "a", [](const TestCall& call) {
    call.slot.complete(call.raw.token, AGENTD_E_IO);
    return AGENTD_OK;
  });
  on(AGENTD_EVENT_USER_MESSAGE_SEND, "b", [&](const TestCall& call) {
    worker = std::thread([&completed, slot = &call.slot, token = call.raw.token] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      slot->emit(token, action(AGENTD_ACT_BLOCK, "b's own"));
      completed = true;
      slot->complete(token, AGENTD_OK);
    });
    return AGENTD_PENDING;
  });
  publish();
  const auto outcome = fire();
  EXPECT_TRUE(completed);
  worker.join();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->failures.empty());
  EXPECT_EQ(outcome->reason, "b's own");
}

// ---- concurrency

int most_at_once(std::uint32_t concurrency) {
  const SystemClock clock;
  TestSlots slots;
  Dispatcher dispatcher(clock);
  std::atomic<int> inside{0}, most{0};
  TestHook hook(slots, AGENTD_EVENT_TURN_END, "a", [&](const TestCall&) {
    const int now = ++inside;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    --inside;
    return AGENTD_OK;
  });
  hook.what.concurrency = concurrency;
  dispatcher.publish({hook.what, hook.what});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const auto snapshot = dispatcher.pin();
      const SlotLease slot(slots);
      Dispatch what;
      what.event = AGENTD_EVENT_TURN_END;
      for (int n = 0; n < 20; ++n) dispatch(*snapshot, *slot, what);
    });
  for (std::thread& thread : threads) thread.join();
  return most;
}

TEST(DispatchingThreads, SerialHookRunsOnceAtATime) { EXPECT_EQ(most_at_once(AGENTD_SERIAL), 1); }

TEST(DispatchingThreads, ConcurrentHookDoesNot) { EXPECT_GT(most_at_once(AGENTD_CONCURRENT), 1); }

TEST_F(Dispatching, SerialHookThatIsBusyMeetsTheDeadline) {
  auto turn = std::make_shared<TimedMutex>();
  auto& hook = note("a");
  hook.what.concurrency = AGENTD_SERIAL;
  hook.what.turn = turn;
  publish();
  deadline_ns_ = clock_.monotonic_ns() + 5'000'000;
  std::unique_ptr<Outcome> outcome;
  turn->lock();
  std::thread([&] { outcome = fire(); }).join();
  turn->unlock();
  EXPECT_EQ(ran_, "");
  EXPECT_EQ(outcome->failures.at(0).status, AGENTD_E_DEADLINE);
}

// ---- traces

TEST_F(Dispatching, TraceHearsOfEveryCallAndItsEffect) {
  class Sink final : public TraceSink {
   public:
    void on_hook(const HookTrace& trace) override {
      heard += std::string(trace.hook) + "=" + std::string(trace.effect) + " ";
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
    EXPECT_EQ(is_legal(event.id, AGENTD_ACT_REPLACE_TEXT), event.text_target != 0) << event.name;
  }
  EXPECT_FALSE(is_legal(AGENTD_EVENT_AGENT_STOP, 99));
  EXPECT_FALSE(is_legal(99, AGENTD_ACT_BLOCK));
}

}  // namespace
}  // namespace agentd
