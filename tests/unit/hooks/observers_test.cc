// SPDX-License-Identifier: Apache-2.0
// Observers that wait outside of the process, shadows, notes, and the payload's text.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/hooks/dispatcher.h"
#include "tests/support/hook_fakes.h"

namespace agentd {
namespace {

using testing::action;
using testing::TestCall;
using testing::TestHook;
using testing::TestSlots;

// Everything that a trace hears, one line a call.
class Lines final : public TraceSink {
 public:
  void on_hook(const HookTrace& trace) override {
    thread_ok = thread_ok && std::this_thread::get_id() == thread_;
    text += std::string(trace.hook) + ":" + std::string(name_of(trace.effect));
    if (!trace.note.empty()) text += "(" + std::string(trace.note) + ")";
    if (!trace.failure.empty()) text += "[" + std::string(trace.failure) + "]";
    text += " ";
  }
  std::string text;
  bool thread_ok = true;

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
};

class Observing : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kEvent = AGENTD_EVENT_AFTER_MODEL_CALL;

  TestHook& on(std::string name, TestHook::Fn fn) {
    hooks_.push_back(std::make_unique<TestHook>(slots_, kEvent, std::move(name), std::move(fn)));
    hooks_.back()->what.wants = 0;
    return *hooks_.back();
  }
  TestHook& observer(std::string name, TestHook::Fn fn) {
    TestHook& hook = on(std::move(name), std::move(fn));
    hook.what.flags = AGENTD_HOOK_OBSERVES;
    hook.what.waits = true;
    return hook;
  }
  std::unique_ptr<Outcome> fire(TraceSink* trace = nullptr, bool slots = true, std::uint16_t only = 0,
                                Milliseconds budget = {}) {
    std::vector<Subscription> all;
    for (const auto& hook : hooks_) all.push_back(hook->what);
    dispatcher_.publish(std::move(all));
    snapshot_ = dispatcher_.pin();
    SlotLease slot(slots_);
    Dispatch what;
    what.event = kEvent;
    what.payload = &payload_;
    what.context = this;
    what.rewrite = [](void* me, std::uint32_t, std::string_view text) {
      auto& self = *static_cast<Observing*>(me);
      self.text_ = text;
      self.payload_.text = to_abi(self.text_);
    };
    what.slots = slots ? &slots_ : nullptr;
    what.only = only;
    if (budget.count() != 0) {
      what.deadline_ns = Deadline::after(clock_, budget).at_ns;
      what.budget_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(budget).count());
    }
    return dispatch(*snapshot_, *slot, what, trace);
  }

  static agentd_model_response payload() {
    agentd_model_response out{};
    out.size = sizeof out;
    return out;
  }

  SystemClock clock_;
  TestSlots slots_;
  std::vector<std::unique_ptr<TestHook>> hooks_;
  Dispatcher dispatcher_{clock_};
  std::shared_ptr<const Snapshot> snapshot_;
  agentd_model_response payload_ = payload();
  std::string text_;
};

TEST_F(Observing, TenWaitingObserversRunAtTheSameTime) {
  std::latch all_here(10);
  std::atomic<int> met{0};
  for (int i = 0; i < 10; ++i)
    observer("o" + std::to_string(i), [&](const TestCall&) {
      all_here.arrive_and_wait();  // hangs unless all ten are inside at once
      met.fetch_add(1);
      return AGENTD_OK;
    });
  fire();
  EXPECT_EQ(met.load(), 10);
}

// Switched off by what it does here: that is told, and what its neighbours said is not lost.
TEST_F(Observing, ObserverThatHangsBesideAWaitingOneIsTold) {
  observer("a waits", [](const TestCall& call) { return call.slot.note(call.raw.token, "done"), AGENTD_OK; });
  TestHook& hangs = observer("b hangs", [](const TestCall&) { return AGENTD_PENDING; });
  hangs.what.waits = false;
  hangs.what.stopped = std::make_shared<std::atomic<std::uint32_t>>(kHookInUse);
  TestHook& same =
      observer("c same module", [](const TestCall& call) { return call.slot.note(call.raw.token, "said"), AGENTD_OK; });
  same.what.stopped = hangs.what.stopped;
  Lines lines;
  const auto outcome = fire(&lines, true, 0, Milliseconds(50));
  EXPECT_EQ(hangs.what.stopped->load(), kHookStuck);
  EXPECT_NE(lines.text.find("a waits:none(done)"), std::string::npos) << lines.text;
  EXPECT_NE(lines.text.find("b hangs:failed["), std::string::npos) << lines.text;
  EXPECT_NE(lines.text.find("c same module:none(said)"), std::string::npos) << lines.text;
  EXPECT_TRUE(outcome && outcome->failures.size() == 1u);
}

TEST_F(Observing, ObserversThatAreNotAskedForAreNotAskedTogetherEither) {
  std::atomic<int> asked{0};
  for (const char* const name : {"a", "b"}) observer(name, [&](const TestCall&) { return ++asked, AGENTD_OK; });
  Lines lines;
  fire(&lines, true, AGENTD_HOOK_GATES);
  EXPECT_EQ(asked.load(), 0);
  EXPECT_EQ(lines.text, "");
}

TEST_F(Observing, WithoutSlotsTheyRunOneAfterAnother) {
  std::atomic<int> inside{0}, most{0};
  for (int i = 0; i < 4; ++i)
    observer("o" + std::to_string(i), [&](const TestCall&) {
      const int now = inside.fetch_add(1) + 1;
      if (now > most.load()) most.store(now);
      inside.fetch_sub(1);
      return AGENTD_OK;
    });
  fire(nullptr, false);
  EXPECT_EQ(most.load(), 1);
}

TEST_F(Observing, TheTraceHearsThemInOrderOnTheDispatchingThread) {
  std::latch last_first(1);
  observer("a", [&](const TestCall&) { return last_first.wait(), AGENTD_OK; });
  observer("b", [&](const TestCall&) { return last_first.count_down(), AGENTD_OK; });
  Lines lines;
  fire(&lines);
  EXPECT_EQ(lines.text, "a:none b:none ");
  EXPECT_TRUE(lines.thread_ok);
}

TEST_F(Observing, WhatAnObserverSaysIsIgnoredAndItsFailureIsReported) {
  observer("says", [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "x")); });
  observer("fails", [](const TestCall& call) {
    call.slot.fail(call.raw.token, AGENTD_E_IO, "no disk");
    return AGENTD_E_IO;
  }).what.on_failure = FailurePolicy::kClosed;
  Lines lines;
  const auto outcome = fire(&lines);
  EXPECT_EQ(lines.text, "fails:failed[no disk] says:ignored ");
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->blocked);
  EXPECT_TRUE(outcome->rewrites.empty());
  ASSERT_EQ(outcome->failures.size(), 1u);
  EXPECT_EQ(outcome->failures[0].by.hook, "fails");
}

TEST_F(Observing, EightHooksWithRandomSleepsGiveTheSameResultTwoHundredTimes) {
  std::mt19937 random(20'240'817);
  std::vector<std::atomic<int>> sleep_us(8);
  for (int i = 0; i < 4; ++i) {
    on("r" + std::to_string(i), [&, i](const TestCall& call) {
      std::this_thread::sleep_for(std::chrono::microseconds(sleep_us[static_cast<std::size_t>(i)]));
      const auto& response = call.payload<agentd_model_response>();
      return call.answer(action(AGENTD_ACT_REPLACE_TEXT, std::string(view_of(response.text)) + std::to_string(i)));
    });
    observer("o" + std::to_string(i), [&, i](const TestCall& call) {
      std::this_thread::sleep_for(std::chrono::microseconds(sleep_us[static_cast<std::size_t>(4 + i)]));
      const auto& response = call.payload<agentd_model_response>();
      call.slot.note(call.raw.token, "saw " + std::string(view_of(response.text)));
      return AGENTD_OK;
    });
  }
  const std::string expected =
      "r0:applied r1:applied r2:applied r3:applied "
      "o0:none(saw 0123) o1:none(saw 0123) o2:none(saw 0123) o3:none(saw 0123) ";
  for (int run = 0; run < 200; ++run) {
    for (auto& each : sleep_us) each.store(static_cast<int>(random() % 300));
    text_.clear();
    payload_.text = {};
    Lines lines;
    const auto outcome = fire(&lines);
    ASSERT_EQ(lines.text, expected) << "run " << run;
    ASSERT_TRUE(outcome);
    ASSERT_EQ(text_, "0123");
  }
}

TEST_F(Observing, AShadowIsTracedAndNotUsed) {
  TestHook& hook = on("shadow", [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "x")); });
  hook.what.shadow = true;
  Lines lines;
  const auto outcome = fire(&lines);
  EXPECT_EQ(lines.text, "shadow:shadow ");
  EXPECT_TRUE(!outcome || outcome->rewrites.empty());
  EXPECT_EQ(text_, "");
}

TEST_F(Observing, AShadowThatFailsClosedBlocksNothing) {
  TestHook& hook = on("shadow", [](const TestCall&) { return AGENTD_E_IO; });
  hook.what.shadow = true;
  hook.what.on_failure = FailurePolicy::kClosed;
  hook.what.flags = AGENTD_HOOK_REDACTS;
  const auto outcome = fire();
  EXPECT_TRUE(!outcome || (outcome->failures.empty() && outcome->rewrites.empty()));
}

TEST_F(Observing, ASkippedHookSaysWhy) {
  on("matched", [](const TestCall& call) {
    call.slot.skip(call.raw.token, "its matcher says no");
    return AGENTD_OK;
  });
  Lines lines;
  const auto outcome = fire(&lines);
  EXPECT_EQ(lines.text, "matched:skipped(its matcher says no) ");
  EXPECT_FALSE(outcome);
}

TEST_F(Observing, ANoteBelongsToItsOwnCall) {
  on("a", [](const TestCall& call) { return call.slot.note(call.raw.token, "mine"), AGENTD_OK; });
  on("b", [](const TestCall&) { return AGENTD_OK; });
  Lines lines;
  fire(&lines);
  EXPECT_EQ(lines.text, "a:none(mine) b:none ");
}

TEST_F(Observing, OnlyHooksWithAFlagAreAskedWhenTheDispatchSaysSo) {
  on("gate", [](const TestCall&) { return AGENTD_OK; }).what.flags = AGENTD_HOOK_GATES;
  on("plain", [](const TestCall&) { return AGENTD_OK; });
  Lines lines;
  fire(&lines, true, AGENTD_HOOK_GATES);
  EXPECT_EQ(lines.text, "gate:none ");
}

TEST_F(Observing, ThePayloadTextIsMadeOncePerDispatchAndAgainAfterARewrite) {
  std::vector<std::shared_ptr<const std::string>> texts;
  const auto look = [&](const TestCall& call) {
    texts.push_back(call.slot.payload_text(false));
    return AGENTD_OK;
  };
  on("a", look);
  on("b", look);
  on("c", [](const TestCall& call) { return call.answer(action(AGENTD_ACT_REPLACE_TEXT, "new text")); });
  on("d", look);
  fire();
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0], texts[1]);  // the same string, not an equal one
  EXPECT_NE(texts[1], texts[2]);
  EXPECT_EQ(texts[0]->find("new text"), std::string::npos);
  EXPECT_NE(texts[2]->find("new text"), std::string::npos);
}

TEST_F(Observing, ObserversShareTheTextThatWasMadeOnce) {
  std::mutex mutex;
  std::vector<std::shared_ptr<const std::string>> texts;
  for (int i = 0; i < 3; ++i)
    observer("o" + std::to_string(i), [&](const TestCall& call) {
      auto text = call.slot.payload_text(false);
      const std::lock_guard lock(mutex);
      texts.push_back(std::move(text));
      return AGENTD_OK;
    });
  fire();
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[1], texts[2]);
}

TEST_F(Observing, ACancelledRunReachesObserversOnOtherThreads) {
  CancelToken cancel;
  std::atomic<int> saw{0};
  for (int i = 0; i < 2; ++i)
    observer("o" + std::to_string(i), [&](const TestCall& call) {
      cancel.cancel(AGENTD_CANCEL_USER);
      while (std::atomic_ref(const_cast<agentd_live*>(call.raw.live)->cancel).load() == 0) std::this_thread::yield();
      saw.fetch_add(1);
      return AGENTD_OK;
    });
  std::vector<Subscription> all;
  for (const auto& hook : hooks_) all.push_back(hook->what);
  dispatcher_.publish(std::move(all));
  SlotLease slot(slots_);
  const CancelBinding binding(*slot, cancel);
  Dispatch what;
  what.event = kEvent;
  what.payload = &payload_;
  what.slots = &slots_;
  dispatch(*dispatcher_.pin(), *slot, what);
  EXPECT_EQ(saw.load(), 2);
}

TEST_F(Observing, ObserversWhoseTurnComesTooLateAreNotAsked) {
  std::atomic<int> asked{0};
  for (const char* const name : {"a", "b"})
    observer(name, [&](const TestCall&) { return asked.fetch_add(1), AGENTD_OK; });
  std::vector<Subscription> all;
  for (const auto& hook : hooks_) all.push_back(hook->what);
  dispatcher_.publish(std::move(all));
  const SlotLease slot(slots_);
  Dispatch what;
  what.event = kEvent;
  what.payload = &payload_;
  what.slots = &slots_;
  what.deadline_ns = clock_.monotonic_ns();
  Lines lines;
  const auto outcome = dispatch(*dispatcher_.pin(), *slot, what, &lines);
  EXPECT_EQ(asked.load(), 0);
  EXPECT_EQ(lines.text, "a:failed[no time was left to call it] b:failed[no time was left to call it] ");
  EXPECT_TRUE(outcome && !outcome->blocked);
}

}  // namespace
}  // namespace agentd
