// SPDX-License-Identifier: Apache-2.0
// dispatcher_times_test.cc - calls that take their time: pending ones, deadlines, turns.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/hooks/dispatching.h"

namespace agentd {
namespace {

using testing::action;
using testing::Dispatching;
using testing::TestCall;
using testing::TestHook;
using testing::TestSlots;

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

// Each gate has the whole time: what those before it took is not taken from it, so that nobody's denial is cut short.
TEST_F(Dispatching, SlowHooksLeaveThoseBehindThemTheirWholeTime) {
  constexpr std::uint64_t kTime = 30'000 * kMs;
  std::string seen;
  const auto slow = [&](const std::string& name) -> TestHook& {
    return on(AGENTD_EVENT_BEFORE_TOOL_CALL, name, [&, name](const TestCall& call) {
      seen += name + "=" + std::to_string((call.slot.deadline_ns() - clock_.monotonic_ns()) / kMs) + " ";
      clock_.advance(Milliseconds(20'000));
      return AGENTD_OK;
    });
  };
  slow("a");
  slow("b").what.timeout = Milliseconds(60'000);
  slow("c");
  answers("d", action(AGENTD_ACT_BLOCK, "no"), AGENTD_EVENT_BEFORE_TOOL_CALL);
  publish();
  Dispatch what;
  what.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
  what.payload = &text_;
  what.deadline_ns = clock_.monotonic_ns() + kTime;
  what.budget_ns = kTime;
  const SlotLease slot(slots_);
  const auto outcome = dispatch(*dispatcher_.pin(), *slot, what);
  EXPECT_EQ(seen, "a=30000 b=60000 c=30000 ");
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->blocked);
  EXPECT_TRUE(outcome->failures.empty());
}

TEST_F(Dispatching, HooksAtTheEndOfASessionShareItsTime) {
  std::string seen;
  for (const char* const name : {"a", "b"})
    on(AGENTD_EVENT_SESSION_END, name, [&](const TestCall& call) {
      seen += std::to_string((call.slot.deadline_ns() - clock_.monotonic_ns()) / kMs) + " ";
      clock_.advance(Milliseconds(1'000));
      return AGENTD_OK;
    });
  publish();
  Dispatch what;
  what.event = AGENTD_EVENT_SESSION_END;
  what.payload = &text_;
  what.deadline_ns = clock_.monotonic_ns() + 1'500 * kMs;
  what.budget_ns = 1'500 * kMs;
  const SlotLease slot(slots_);
  dispatch(*dispatcher_.pin(), *slot, what);
  EXPECT_EQ(seen, "1500 500 ");
}

// Of any kind: nothing of it runs, and a guard that was not asked has not agreed.
TEST_F(Dispatching, HookWhoseTurnComesTooLateIsNotAsked) {
  for (const bool closed : {false, true}) {
    hooks_.clear();
    ran_.clear();
    on(AGENTD_EVENT_BEFORE_TOOL_CALL, "a", [&](const TestCall&) {
      clock_.advance(Milliseconds(1'000));
      return AGENTD_OK;
    });
    auto& late = answers("b", action(AGENTD_ACT_REPLACE_TEXT, "x"), AGENTD_EVENT_BEFORE_TOOL_CALL);
    late.what.on_failure = closed ? FailurePolicy::kClosed : FailurePolicy::kOpen;
    auto& own = note("c", 0, Precedence::kUser, AGENTD_EVENT_BEFORE_TOOL_CALL);
    own.what.timeout = Milliseconds(10);
    publish();
    deadline_ns_ = clock_.monotonic_ns() + 1'000 * kMs;
    const auto outcome = fire(AGENTD_EVENT_BEFORE_TOOL_CALL);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->blocked, closed);
    EXPECT_EQ(outcome->blocked_by_failure, closed);
    ASSERT_EQ(outcome->failures.size(), 1u);
    EXPECT_EQ(outcome->failures[0].by.hook, "b");
    EXPECT_EQ(outcome->failures[0].status, AGENTD_E_DEADLINE);
    EXPECT_EQ(outcome->failures[0].text, "no time was left to call it");
    EXPECT_EQ(ran_, closed ? "" : "c ") << "a time of its own is nobody else's to spend";
    EXPECT_EQ(text_, "text");
  }
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
  auto turn = std::make_shared<Mutex>();
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

}  // namespace
}  // namespace agentd
