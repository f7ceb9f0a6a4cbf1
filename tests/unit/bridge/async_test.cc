// SPDX-License-Identifier: Apache-2.0
// Calls that answer later, or never: tokens, deadlines and cancel words, in one process.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/bridge/plugin_context.h"
#include "tests/support/hook_fakes.h"
#include "tests/support/unavailable_services.h"

namespace agentd {
namespace {

using testing::action;

// A plugin instance of which a lambda is the one hook.
class Async : public ::testing::Test {
 protected:
  using Fn = std::function<agentd_status(const agentd_call&)>;

  Async() { grants_.interfaces = {AGENTD_JSON_ID, AGENTD_FIELD_ID, AGENTD_TOOLS_ID, AGENTD_TASKS_ID}; }
  ~Async() override {
    for (std::thread& each : threads_) each.join();
  }

  const agentd_core* core() const { return context_->core(); }
  static agentd_status AGENTD_CALL run(void* me, const agentd_call* call) noexcept {
    return (*static_cast<Fn*>(me))(*call);
  }
  void hook(std::string name, Fn fn, FailurePolicy policy = FailurePolicy::kOpen, std::uint16_t flags = 0) {
    fns_.push_back(std::make_unique<Fn>(std::move(fn)));
    Subscription each;
    each.event = event_;
    each.flags = flags;
    each.on_failure = policy;
    each.concurrency = AGENTD_CONCURRENT;
    each.name = std::move(name);
    each.fn = run;
    each.self = fns_.back().get();
    each.core = context_->core();
    each.stopped = context_->stopped();
    hooks_.push_back(std::move(each));
  }
  // Publishes and fires.
  std::unique_ptr<Outcome> fire(Milliseconds deadline = Milliseconds(60'000)) {
    dispatcher_.publish(hooks_);
    agentd_tool_call payload{};
    payload.size = sizeof payload;
    payload.name = to_abi("bash");
    agentd_envelope envelope{};
    envelope.size = sizeof envelope;
    Dispatch event;
    event.event = event_;
    event.envelope = &envelope;
    event.payload = &payload;
    event.deadline_ns = Deadline::after(clock_, deadline).at_ns;
    event.budget_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(deadline).count());
    const CancelBinding binding(*slot_, cancel_);
    return dispatch(*dispatcher_.pin(), *slot_, event);
  }
  std::uint32_t event_ = AGENTD_EVENT_BEFORE_TOOL_CALL;
  agentd_status block(agentd_token token, std::string_view reason) const {
    agentd_act_text text{};
    text.h.size = sizeof text;
    text.h.kind = AGENTD_ACT_BLOCK;
    text.text = to_abi(reason);
    return core()->emit(core(), token, &text.h);
  }
  void later(std::function<void()> fn) { threads_.emplace_back(std::move(fn)); }
  static bool is_told(const agentd_live* live) {
    return std::atomic_ref(const_cast<std::uint32_t&>(live->cancel)).load() != 0;
  }

  SystemClock clock_;
  testing::RecordingLog log_;
  testing::UnavailableServices services_;
  TokenTable tokens_;
  Grants grants_;
  std::unique_ptr<PluginContext> context_ = std::make_unique<PluginContext>(
      PluginIdentity{"org.test.p", "1.0.0", "p", "00"}, grants_, tokens_, services_, clock_, log_);
  Dispatcher dispatcher_{clock_};
  SlotLease slot_{tokens_};
  CancelToken cancel_;
  std::vector<std::unique_ptr<Fn>> fns_;
  std::vector<Subscription> hooks_;
  std::vector<std::thread> threads_;
};

TEST_F(Async, AnotherThreadEmitsUsesMemoryAndCompletes) {
  hook("a", [this](const agentd_call& call) {
    later([this, token = call.token] {
      auto* const text = static_cast<char*>(core()->arena(core(), token, 3, 1));
      std::copy_n("why", 3, text);
      EXPECT_EQ(block(token, {text, 3}), AGENTD_OK);
      EXPECT_EQ(core()->complete(core(), token, AGENTD_OK), AGENTD_OK);
    });
    return AGENTD_PENDING;
  });
  const auto outcome = fire();
  ASSERT_TRUE(outcome && outcome->blocked);
  EXPECT_EQ(outcome->reason, "why");
}

TEST_F(Async, CompletionFromInsideTheCallCounts) {
  hook("a", [this](const agentd_call& call) {
    block(call.token, "at once");
    EXPECT_EQ(core()->complete(core(), call.token, AGENTD_OK), AGENTD_OK);
    return AGENTD_PENDING;
  });
  EXPECT_EQ(fire()->reason, "at once");
}

TEST_F(Async, SecondCompletionAndWhatFollowsTheFirstComeTooLate) {
  hook("a", [this](const agentd_call& call) {
    EXPECT_EQ(core()->complete(core(), call.token, AGENTD_E_IO), AGENTD_OK);
    EXPECT_EQ(core()->complete(core(), call.token, AGENTD_OK), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(block(call.token, "late"), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(core()->arena(core(), call.token, 8, 8), nullptr);
    return AGENTD_PENDING;
  });
  const auto outcome = fire();
  EXPECT_FALSE(outcome->blocked);
  EXPECT_EQ(outcome->failures.at(0).status, AGENTD_E_IO);
}

TEST_F(Async, CompletionIsNoPlaceForPending) {
  hook("a", [this](const agentd_call& call) {
    EXPECT_EQ(core()->complete(core(), call.token, AGENTD_PENDING), AGENTD_E_NOT_FOUND);
    core()->complete(core(), call.token, AGENTD_OK);
    return AGENTD_PENDING;
  });
  EXPECT_EQ(fire(), nullptr);
}

TEST_F(Async, TokenOfTheCallBeforeAndOfAnotherSlotChangeNothing) {
  agentd_token first = 0;
  const SlotLease other(tokens_);
  const agentd_token foreign = other->open(nullptr);
  hook("a", [&](const agentd_call& call) { return first = call.token, AGENTD_OK; });
  hook("b", [&](const agentd_call& call) {
    EXPECT_EQ(core()->complete(core(), first, AGENTD_E_IO), AGENTD_E_NOT_FOUND);
    EXPECT_EQ(core()->complete(core(), foreign, AGENTD_E_IO), AGENTD_OK);  // its own slot's
    later([this, token = call.token] {
      std::this_thread::sleep_for(Milliseconds(30));
      block(token, "b's");
      core()->complete(core(), token, AGENTD_OK);
    });
    return AGENTD_PENDING;
  });
  const auto outcome = fire();
  EXPECT_TRUE(outcome->failures.empty());
  EXPECT_EQ(outcome->reason, "b's");
}

TEST_F(Async, GenerationsWrapAfterFortyBitsAndStayTold) {
  CallSlot slot(7, CallSlot::kGenerationMask - 1);
  const agentd_token last = slot.open(nullptr);
  EXPECT_EQ(last >> CallSlot::kIndexBits, CallSlot::kGenerationMask);
  const agentd_token next = slot.open_after(last);
  EXPECT_EQ(next, 7u);  // generation 0; never the token 0
  EXPECT_FALSE(slot.is_current(last));
  EXPECT_FALSE(slot.complete(last, AGENTD_OK));
  EXPECT_TRUE(slot.emit(next, action(AGENTD_ACT_BLOCK)));
  EXPECT_TRUE(slot.complete(next, AGENTD_OK));
  EXPECT_EQ(slot.wait_completed(SystemClock()), AGENTD_OK);
}

TEST_F(Async, CancelledRunIsSeenAtOnceAndACompletionWithinTheGraceCounts) {
  hook("a", [this](const agentd_call& call) {
    later([this, token = call.token, live = call.live] {
      while (!is_told(live)) std::this_thread::sleep_for(Milliseconds(1));
      EXPECT_EQ(live->cancel, AGENTD_CANCEL_USER);
      block(token, "tidied up");
      core()->complete(core(), token, AGENTD_OK);
    });
    later([this] { cancel_.cancel(AGENTD_CANCEL_USER); });
    return AGENTD_PENDING;
  });
  EXPECT_EQ(fire()->reason, "tidied up");
  EXPECT_FALSE(context_->gave_up());
}

TEST_F(Async, CancelledCallThatGoesOnIsLeftButItsInstanceStaysInUse) {
  std::atomic<const agentd_live*> live{nullptr};
  std::atomic<char*> memory{nullptr};
  agentd_token token = 0;
  hook("a", [&](const agentd_call& call) {
    token = call.token;
    live = call.live;
    memory = static_cast<char*>(core()->arena(core(), call.token, 64, 8));
    cancel_.cancel(AGENTD_CANCEL_USER);
    return AGENTD_PENDING;
  });
  EXPECT_EQ(fire()->failures.at(0).status, AGENTD_E_CANCELLED);
  EXPECT_EQ(context_->stopped()->load(), kHookInUse);
  // The plugin's thread still may write where it was told to, and sees that it was given up.
  memory.load()[63] = 'x';
  EXPECT_EQ(live.load()->cancel, AGENTD_CANCEL_USER);
  EXPECT_EQ(core()->complete(core(), token, AGENTD_OK), AGENTD_E_NOT_FOUND);
}

TEST_F(Async, CallThatMissesItsDeadlineIsToldAndItsGraceStillCounts) {
  hook("a", [this](const agentd_call& call) {
    later([this, token = call.token, live = call.live] {
      while (!is_told(live)) std::this_thread::sleep_for(Milliseconds(1));
      core()->complete(core(), token, AGENTD_E_CANCELLED);
    });
    return AGENTD_PENDING;
  });
  const auto outcome = fire(Milliseconds(30));
  EXPECT_EQ(outcome->failures.at(0).status, AGENTD_E_DEADLINE);
  EXPECT_EQ(context_->stopped()->load(), kHookInUse);
  EXPECT_EQ(slot_->live().cancel, 0u);  // free for the next call
}

TEST_F(Async, StuckInstanceIsSwitchedOffAndItsGuardsFailClosed) {
  int asked = 0;
  std::atomic<const agentd_live*> live{nullptr};
  agentd_token token = 0;
  hook("stuck", [&](const agentd_call& call) {
    ++asked;
    live = call.live;
    token = call.token;
    return AGENTD_PENDING;
  });
  const auto first = fire(Milliseconds(30));
  EXPECT_EQ(first->failures.at(0).status, AGENTD_E_DEADLINE);
  EXPECT_NE(first->failures.at(0).text.find("disabled until agentd restarts"), std::string::npos);
  EXPECT_EQ(context_->stopped()->load(), kHookStuck);
  EXPECT_EQ(fire(), nullptr);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(live.load()->cancel, AGENTD_CANCEL_DEADLINE);
  EXPECT_EQ(core()->complete(core(), token, AGENTD_OK), AGENTD_E_NOT_FOUND);
  hook(
      "guard", [](const agentd_call&) { return AGENTD_OK; }, FailurePolicy::kClosed, AGENTD_HOOK_GATES);
  hook(
      "watches", [](const agentd_call&) { return AGENTD_OK; }, FailurePolicy::kClosed, AGENTD_HOOK_OBSERVES);
  const auto guarded = fire();
  ASSERT_TRUE(guarded && guarded->blocked && guarded->blocked_by_failure);
  EXPECT_EQ(guarded->blocked_by.hook, "guard");
  EXPECT_NE(guarded->reason.find("an earlier call never ended"), std::string::npos);
}

// At the end of a session the hooks share its time; elsewhere each has the whole.
TEST_F(Async, HookThatGotNoTimeIsNotCalledStuck) {
  event_ = AGENTD_EVENT_SESSION_END;
  tokens_.watch(clock_);
  hook("a slow", [](const agentd_call& call) {
    while (!is_told(call.live)) std::this_thread::sleep_for(Milliseconds(1));
    return AGENTD_OK;
  });
  hook("b late", [](const agentd_call&) { return AGENTD_PENDING; });
  const auto outcome = fire(Milliseconds(50));
  ASSERT_EQ(outcome->failures.size(), 1u);
  EXPECT_EQ(outcome->failures[0].by.hook, "b late");
  EXPECT_EQ(context_->stopped()->load(), kHookInUse);
}

TEST_F(Async, FunctionThatRunsAtItsDeadlineHasItsCancelWordSet) {
  tokens_.watch(clock_);
  std::uint32_t seen = 0;
  hook("a", [&](const agentd_call& call) {
    while (!is_told(call.live)) std::this_thread::sleep_for(Milliseconds(1));
    seen = call.live->cancel;
    return AGENTD_E_CANCELLED;
  });
  const auto outcome = fire(Milliseconds(150));
  EXPECT_EQ(seen, AGENTD_CANCEL_DEADLINE);
  EXPECT_EQ(outcome->failures.at(0).status, AGENTD_E_DEADLINE);
  EXPECT_EQ(slot_->live().cancel, 0u);
  // The word is free: the next call is not told.
  hooks_.clear();
  hook("b", [&](const agentd_call& call) { return seen = call.live->cancel, AGENTD_OK; });
  fire();
  EXPECT_EQ(seen, 0u);
}

TEST_F(Async, NextHookOfTheEventIsNotToldWhatWasMeantForTheOneBefore) {
  tokens_.watch(clock_);
  int told = -1;
  hook("a", [](const agentd_call& call) {
    while (!is_told(call.live)) std::this_thread::sleep_for(Milliseconds(1));
    return AGENTD_OK;
  });
  hook("b", [&](const agentd_call& call) { return told = is_told(call.live), AGENTD_OK; });
  fire(Milliseconds(30));
  EXPECT_EQ(told, 0);
}

TEST(CallSlot, CallThatEndedBetweenTheTwoLooksOfTheWatchdogLeavesTheNextOneAlone) {
  CallSlot slot(1);
  slot.set_deadline(100);
  slot.open(nullptr);
  EXPECT_FALSE(slot.about_to_expire(99));
  const auto first = slot.about_to_expire(200);
  ASSERT_TRUE(first);
  EXPECT_TRUE(slot.touched());  // so that its owner ends it under the mutex
  slot.open(nullptr);
  slot.expire(*first, 300);
  EXPECT_EQ(slot.live().cancel, 0u);
  const auto second = slot.about_to_expire(200);
  ASSERT_TRUE(second);
  slot.end_call(ManualClock());
  slot.expire(*second, 300);
  EXPECT_EQ(slot.live().cancel, 0u);
  slot.open(nullptr);
  const auto third = slot.about_to_expire(200);
  ASSERT_TRUE(third);
  slot.expire(*third, 99);  // its deadline was moved on, or is not there yet
  EXPECT_EQ(slot.live().cancel, 0u);
  slot.expire(*third, 300);
  EXPECT_EQ(slot.live().cancel, AGENTD_CANCEL_DEADLINE);
  EXPECT_TRUE(slot.end_call(ManualClock()));
  EXPECT_EQ(slot.live().cancel, 0u);
}

TEST(CallSlot, DeadlineStandsStillWhileItsHostWorksHoweverManyDo) {
  CallSlot slot(1);
  const agentd_token token = slot.open(nullptr);
  slot.set_deadline(1'000);
  slot.begin_host_time(token, 100);
  slot.begin_host_time(token, 150);
  EXPECT_EQ(slot.live().deadline_ns, UINT64_MAX);
  EXPECT_FALSE(slot.about_to_expire(5'000));
  slot.end_host_time(token, 200);
  EXPECT_EQ(slot.live().deadline_ns, UINT64_MAX);
  slot.end_host_time(token, 400);
  EXPECT_EQ(slot.live().deadline_ns, 1'300u);
  slot.begin_host_time(token, 500);  // after a while in which nobody worked
  slot.end_host_time(token, 600);
  EXPECT_EQ(slot.live().deadline_ns, 1'400u);
}

TEST(CallSlot, DeadlineOfTheEndOfASessionIsTheClocks) {
  CallSlot slot(1);
  Dispatch dispatch;
  dispatch.event = AGENTD_EVENT_SESSION_END;
  const agentd_token token = slot.open(&dispatch);
  slot.set_deadline(1'000);
  slot.begin_host_time(token, 100);
  EXPECT_EQ(slot.live().deadline_ns, 1'000u);
  EXPECT_TRUE(slot.about_to_expire(5'000));
  slot.end_host_time(token, 900);
  EXPECT_EQ(slot.live().deadline_ns, 1'000u);
}

TEST(CallSlot, DeadlineThatHasPassedIsNotMovedByItsHost) {
  CallSlot slot(1);
  const agentd_token token = slot.open(nullptr);
  slot.set_deadline(1'000);
  slot.begin_host_time(token, 1'000);
  EXPECT_EQ(slot.live().deadline_ns, 1'000u);
  slot.end_host_time(token, 3'000);
  EXPECT_EQ(slot.live().deadline_ns, 1'000u);
}

TEST(CallSlot, EndsWhileItsHostStillWorksAndHasItsDeadlineAgain) {
  ManualClock clock;
  clock.advance(Milliseconds(1));
  CallSlot slot(1);
  const agentd_token token = slot.open(nullptr);
  slot.set_deadline(clock.monotonic_ns() + 1'000);
  slot.begin_host_time(token, clock.monotonic_ns());
  EXPECT_TRUE(slot.touched());  // so that its owner ends it by end_call()
  clock.advance(Milliseconds(5));
  slot.end_call(clock);
  EXPECT_EQ(slot.live().deadline_ns, clock.monotonic_ns() + 1'000);
  slot.end_host_time(token, clock.monotonic_ns() + 7);
  EXPECT_EQ(slot.live().deadline_ns, clock.monotonic_ns() + 1'000);
}

TEST(CallSlot, TimeOfItsHostForACallThatHasEndedIsNotTheNextOnes) {
  CallSlot slot(1);
  const agentd_token first = slot.open(nullptr);
  slot.begin_host_time(first, 100);
  slot.close();
  const agentd_token second = slot.open(nullptr);
  slot.set_deadline(1'000);
  slot.begin_host_time(second, 200);
  slot.end_host_time(first, 300);
  EXPECT_EQ(slot.live().deadline_ns, UINT64_MAX);
  slot.end_host_time(second, 350);
  EXPECT_EQ(slot.live().deadline_ns, 1'150u);
}

TEST_F(Async, CallIsNotToldToGiveUpWhileItsHostWorksForIt) {
  tokens_.watch(clock_);
  std::atomic<bool> told{false}, told_after{false};
  hook("a", [&](const agentd_call& call) {
    CallSlot* const slot = tokens_.find(call.token);
    slot->begin_host_time(call.token, clock_.monotonic_ns());
    std::this_thread::sleep_for(Milliseconds(300));  // longer than the deadline and the pause of the watchdog
    told = is_told(call.live);
    slot->end_host_time(call.token, clock_.monotonic_ns());
    while (!is_told(call.live)) std::this_thread::sleep_for(Milliseconds(1));
    told_after = true;  // the deadline goes on, and passes
    return AGENTD_E_CANCELLED;
  });
  const auto outcome = fire(Milliseconds(100));
  EXPECT_FALSE(told);
  EXPECT_TRUE(told_after);
  EXPECT_EQ(outcome->failures.at(0).status, AGENTD_E_DEADLINE);
}

TEST_F(Async, PendingCallIsNotGivenUpWhileItsHostWorksForIt) {
  hook("a", [this](const agentd_call& call) {
    CallSlot* const slot = tokens_.find(call.token);
    slot->begin_host_time(call.token, clock_.monotonic_ns());
    later([this, slot, token = call.token] {
      std::this_thread::sleep_for(CallSlot::kGrace + Milliseconds(300));
      slot->end_host_time(token, clock_.monotonic_ns());
      EXPECT_EQ(block(token, "in time"), AGENTD_OK);
      core()->complete(core(), token, AGENTD_OK);
    });
    return AGENTD_PENDING;
  });
  const auto outcome = fire(Milliseconds(200));
  EXPECT_TRUE(outcome && outcome->blocked);
}

TEST_F(Async, AnswerLongAfterTheDeadlineIsNotUsed) {
  tokens_.watch(clock_);
  hook("a", [&](const agentd_call& call) {
    while (!is_told(call.live)) std::this_thread::sleep_for(Milliseconds(1));
    std::this_thread::sleep_for(CallSlot::kGrace + Milliseconds(50));
    block(call.token, "too late");
    return AGENTD_OK;
  });
  const auto outcome = fire(Milliseconds(30));
  EXPECT_FALSE(outcome->blocked);
  EXPECT_EQ(outcome->failures.at(0).status, AGENTD_E_DEADLINE);
  EXPECT_NE(outcome->failures.at(0).text.find("after its deadline, which is too late"), std::string::npos);
}

TEST_F(Async, WatchdogTellsNobodyWhoHasTimeOrHasEnded) {
  tokens_.watch(clock_);
  std::atomic<int> told{0};
  hook("a", [&](const agentd_call& call) { return told += is_told(call.live), AGENTD_OK; });
  // Idle slots with old deadlines, and calls that end about when it looks.
  for (int i = 0; i < 400; ++i) {
    fire(Milliseconds(1'000));
    if (i % 40 == 0) std::this_thread::sleep_for(Milliseconds(5));
  }
  fire(Milliseconds(5));
  std::this_thread::sleep_for(Milliseconds(150));
  fire(Milliseconds(1'000));
  EXPECT_EQ(told, 0);
}

TEST_F(Async, ScopeIsToldOfItsDeadline) {
  tokens_.watch(clock_);
  agentd_token token = 0;
  const agentd_live* live = nullptr;
  ASSERT_EQ(core()->scope_open(core(), 0, Deadline::after(clock_, Milliseconds(20)).at_ns, &token, &live), AGENTD_OK);
  while (!is_told(live)) std::this_thread::sleep_for(Milliseconds(1));
  EXPECT_EQ(live->cancel, AGENTD_CANCEL_DEADLINE);
  core()->scope_close(core(), token);
  agentd_token next = 0;
  ASSERT_EQ(core()->scope_open(core(), 0, UINT64_MAX, &next, &live), AGENTD_OK);
  EXPECT_FALSE(is_told(live));
}

TEST_F(Async, ScopesThatAreOpenAtTheEndAreToldAndTheirTokensEndWithTheInstance) {
  agentd_token token = 0;
  const agentd_live* live = nullptr;
  core()->scope_open(core(), 0, UINT64_MAX, &token, &live);
  EXPECT_TRUE(context_->stop_tasks(Milliseconds(1'000)).empty());
  EXPECT_EQ(live->cancel, AGENTD_CANCEL_SHUTDOWN);
  EXPECT_NE(tokens_.find(token), nullptr);
  context_.reset();
  EXPECT_EQ(tokens_.find(token), nullptr);
}

TEST_F(Async, AbandonedInstanceIsAnsweredAndTouchesNothing) {
  const agentd_core* const left = core();
  agentd_token token = 0;
  const agentd_live* live = nullptr;
  left->scope_open(left, 0, UINT64_MAX, &token, &live);
  PluginContext::abandon(std::move(context_));
  EXPECT_EQ(left->scope_open(left, 0, UINT64_MAX, &token, nullptr), AGENTD_E_CANCELLED);
  EXPECT_EQ(left->complete(left, token, AGENTD_OK), AGENTD_E_NOT_FOUND);
  EXPECT_EQ(left->now_ns(left), UINT64_MAX);
  left->log(left, token, AGENTD_LEVEL_ERROR, to_abi("nobody hears this"));
  left->scope_close(left, token);
  EXPECT_FALSE(log_.mentions("nobody"));
}

TEST_F(Async, PendingControlCallIsWaitedForAndMeetsItsDeadline) {
  auto good = context_->control(AGENTD_EVENT_CREATE, nullptr, Deadline::after(clock_, Milliseconds(5'000)),
                                [this](const agentd_call* call) {
                                  later([this, token = call->token] { core()->complete(core(), token, AGENTD_OK); });
                                  return AGENTD_PENDING;
                                });
  EXPECT_TRUE(good);
  auto never = context_->control(AGENTD_EVENT_CREATE, nullptr, Deadline::after(clock_, Milliseconds(10)),
                                 [](const agentd_call*) { return AGENTD_PENDING; });
  ASSERT_FALSE(never);
  EXPECT_NE(never.error().message.find("did not answer before its deadline"), std::string::npos);
  EXPECT_TRUE(context_->gave_up());
}

TEST_F(Async, PendingToolGivesItsPiecesAndItsResult) {
  PluginTool tool;
  tool.tool.name = "t";
  Fn fn = [this](const agentd_call& call) {
    later([this, token = call.token] {
      agentd_act_text piece{};
      piece.h.size = sizeof piece;
      piece.h.kind = AGENTD_ACT_TOOL_OUTPUT;
      piece.text = to_abi("piece");
      EXPECT_EQ(core()->emit(core(), token, &piece.h), AGENTD_OK);
      core()->complete(core(), token, AGENTD_OK);
    });
    return AGENTD_PENDING;
  };
  tool.fn = run;
  const auto got = context_->call_tool(tool, &fn, {"t", "1", {}}, {}, CancelToken(), Deadline{});
  ASSERT_TRUE(got);
  EXPECT_EQ(got->content, "piece");
}

TEST_F(Async, PendingToolIsCancelledWithTheRun) {
  PluginTool tool;
  tool.tool.name = "t";
  Fn fn = [this](const agentd_call& call) {
    later([this, token = call.token, live = call.live] {
      while (!is_told(live)) std::this_thread::sleep_for(Milliseconds(1));
      core()->complete(core(), token, AGENTD_E_CANCELLED);
    });
    cancel_.cancel(AGENTD_CANCEL_USER);
    return AGENTD_PENDING;
  };
  tool.fn = run;
  const auto got = context_->call_tool(tool, &fn, {"t", "1", {}}, {}, cancel_, Deadline{});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kCancelled);
}

TEST_F(Async, EmittingFromManyThreadsWhilePendingLosesNothing) {
  hook("a", [this](const agentd_call& call) {
    auto left = std::make_shared<std::atomic<int>>(4);
    for (int i = 0; i < 4; ++i)
      later([this, left, token = call.token] {
        for (int n = 0; n < 250; ++n) {
          agentd_act_text text{};
          text.h.size = sizeof text;
          text.h.kind = AGENTD_ACT_INJECT_CONTEXT;
          text.text = to_abi("x");
          EXPECT_EQ(core()->emit(core(), token, &text.h), AGENTD_OK);
        }
        if (--*left == 0) core()->complete(core(), token, AGENTD_OK);
      });
    return AGENTD_PENDING;
  });
  const auto outcome = fire();
  EXPECT_EQ(outcome->contexts.size(), 1'000u);
}

}  // namespace
}  // namespace agentd
