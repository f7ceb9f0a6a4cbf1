// SPDX-License-Identifier: Apache-2.0
// Hooks that their own tool asks together: at the same time, about the same payload, none behind another's back.
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "core/hooks/dispatcher.h"
#include "tests/support/hook_fakes.h"

namespace agentd {
namespace {

using testing::action;
using testing::permission_action;
using testing::TestCall;
using testing::TestHook;
using testing::TestSlots;

class Effects final : public TraceSink {
 public:
  void on_hook(const HookTrace& trace) override {
    text += std::string(trace.hook) + ":" + std::string(name_of(trace.effect)) + " ";
  }
  std::string text;
};

class Together : public ::testing::Test {
 protected:
  TestHook& on(std::string name, std::string group, TestHook::Fn fn) {
    const auto noted = [this, name, fn = std::move(fn)](const TestCall& call) {
      {
        const std::lock_guard lock(mutex_);
        asked_.push_back(name);
      }
      return fn(call);
    };
    hooks_.push_back(std::make_unique<TestHook>(slots_, event_, name, noted));
    TestHook& hook = *hooks_.back();
    hook.what.wants = 0;
    hook.what.waits = !group.empty();
    hook.what.together = std::move(group);
    hook.what.flags = AGENTD_HOOK_GATES;
    return hook;
  }
  TestHook& says(std::string name, std::string group, std::vector<Action> answer) {
    return on(std::move(name), std::move(group), [answer = std::move(answer)](const TestCall& call) {
      for (const Action& each : answer) call.emit(each);
      return AGENTD_OK;
    });
  }
  std::unique_ptr<Outcome> fire(std::string_view except = {}) {
    asked_.clear();
    effects_.text.clear();
    std::vector<Subscription> all;
    for (const auto& hook : hooks_) all.push_back(hook->what);
    dispatcher_.publish(std::move(all));
    const auto snapshot = dispatcher_.pin();
    SlotLease slot(slots_);
    payload_ = agentd_tool_result{};
    payload_.size = sizeof payload_;
    payload_.content = to_abi(text_);
    call_ = agentd_tool_call{};
    call_.size = sizeof call_;
    call_.input_json = to_abi(text_);
    Dispatch what;
    what.event = event_;
    what.payload = event_ == AGENTD_EVENT_AFTER_TOOL_CALL ? static_cast<void*>(&payload_) : &call_;
    what.context = this;
    what.rewrite = [](void* me, std::uint32_t, std::string_view text) {
      auto& self = *static_cast<Together*>(me);
      self.text_ = text;
      self.payload_.content = self.call_.input_json = to_abi(self.text_);
    };
    what.slots = with_slots_ ? lent_ : nullptr;
    what.except = except;
    return dispatch(*snapshot, *slot, what, &effects_);
  }
  bool asked(std::string_view name) const { return std::find(asked_.begin(), asked_.end(), name) != asked_.end(); }

  std::uint32_t event_ = AGENTD_EVENT_BEFORE_TOOL_CALL;
  bool with_slots_ = true;
  SystemClock clock_;
  TestSlots slots_;
  SlotSource* lent_ = &slots_;  // to hooks that are asked apart
  std::vector<std::unique_ptr<TestHook>> hooks_;
  Dispatcher dispatcher_{clock_};
  Effects effects_;
  std::mutex mutex_;
  std::vector<std::string> asked_;  // guarded by mutex_
  std::string text_ = "{}";
  agentd_tool_result payload_{};
  agentd_tool_call call_{};
};

TEST_F(Together, HooksOfOneGroupRunAtTheSameTime) {
  std::latch all_here(6);
  for (int i = 0; i < 6; ++i)
    on("a" + std::to_string(i), "file", [&](const TestCall&) {
      all_here.arrive_and_wait();  // hangs unless all six are inside at once
      return AGENTD_OK;
    });
  EXPECT_FALSE(fire());
  EXPECT_EQ(asked_.size(), 6u);
}

// As when there is no memory for it on the thread that asks: the program goes on.
TEST_F(Together, AHookThatCannotBeAskedHasFailedByItsPolicy) {
  struct NoSlots final : SlotSource {
    CallSlot* acquire() override { throw std::bad_alloc(); }
    void release(CallSlot*) override {}
  } none;
  lent_ = &none;
  on("a", "file", [](const TestCall&) { return AGENTD_OK; });
  on("b", "file", [](const TestCall&) { return AGENTD_OK; });
  EXPECT_FALSE(fire()->blocked);
  EXPECT_TRUE(asked_.empty());
  hooks_[1]->what.on_failure = FailurePolicy::kClosed;
  const auto outcome = fire();
  ASSERT_TRUE(outcome && outcome->blocked);
  EXPECT_EQ(outcome->blocked_by.hook, "b");
  EXPECT_NE(outcome->reason.find("out of memory"), std::string::npos) << outcome->reason;
}

TEST_F(Together, AHookThatDeniesKeepsNoneOfItsGroupFromRunning) {
  for (const bool slots : {true, false}) {
    hooks_.clear();
    with_slots_ = slots;
    says("a", "file", {action(AGENTD_ACT_BLOCK, "first")});
    says("b", "file", {action(AGENTD_ACT_SYSTEM_MESSAGE, "told"), permission_action(AGENTD_PERMISSION_ALLOW)});
    says("c", "file", {action(AGENTD_ACT_BLOCK, "second")});
    const auto outcome = fire();
    ASSERT_TRUE(outcome && outcome->blocked);
    EXPECT_EQ(outcome->reason, "first") << "the first one wins, whatever others say";
    EXPECT_EQ(outcome->blocked_by.hook, "a");
    EXPECT_EQ(outcome->notices.size(), 1u);
    EXPECT_EQ(outcome->permission, 0u);
    EXPECT_EQ(asked_.size(), 3u);
    EXPECT_EQ(effects_.text, "a:blocked b:ignored c:blocked ");
  }
}

// What a module of ABI 1.0 hears of has not changed: behind a denial it hears nothing.
TEST_F(Together, ADenialOfAGroupEndsItForHooksOutsideOfIt) {
  on("a", "", [](const TestCall&) { return AGENTD_OK; });
  says("b", "one", {action(AGENTD_ACT_BLOCK, "no")});
  on("c", "one", [](const TestCall&) { return AGENTD_OK; });
  on("d", "two", [](const TestCall&) { return AGENTD_OK; });
  on("e", "two", [](const TestCall&) { return AGENTD_OK; });
  on("f", "", [](const TestCall&) { return AGENTD_OK; });
  on("g", "", [](const TestCall&) { return AGENTD_OK; }).what.flags = AGENTD_HOOK_OBSERVES;
  EXPECT_TRUE(fire()->blocked);
  EXPECT_TRUE(asked("a") && asked("b") && asked("c") && asked("g"));
  EXPECT_FALSE(asked("d") || asked("e") || asked("f"));
  // And in front of it a denial ends it for the group.
  says("0 first", "", {action(AGENTD_ACT_BLOCK, "no")});
  EXPECT_TRUE(fire()->blocked);
  EXPECT_EQ(asked_.size(), 2u) << "itself and the observer";
}

TEST_F(Together, AStopOfTheRunBeatsADenialBeforeIt) {
  says("a", "file", {action(AGENTD_ACT_BLOCK, "no")});
  says("b", "file", {action(AGENTD_ACT_STOP_RUN, "enough")});
  const auto outcome = fire();
  ASSERT_TRUE(outcome && outcome->blocked && outcome->stop);
  EXPECT_EQ(outcome->stop->action.text, "enough");
}

TEST_F(Together, AHookThatFailsClosedBlocksAndTheOthersWereAsked) {
  on("a", "file", [](const TestCall&) { return AGENTD_E_IO; }).what.on_failure = FailurePolicy::kClosed;
  on("b", "file", [](const TestCall&) { return AGENTD_OK; });
  const auto outcome = fire();
  EXPECT_TRUE(outcome->blocked && outcome->blocked_by_failure);
  EXPECT_EQ(asked_.size(), 2u);
}

// Each takes its own secret out of what it sees; with the first text both would leave the other's in.
TEST_F(Together, OfTwoThatRewriteTheSecondIsAskedAboutWhatTheFirstMade) {
  event_ = AGENTD_EVENT_AFTER_TOOL_CALL;
  text_ = "secret and token";
  const auto takes_out = [](std::string word) {
    return [word = std::move(word)](const TestCall& call) {
      std::string text = std::string(view_of(call.payload<agentd_tool_result>().content));
      if (const std::size_t at = text.find(word); at != std::string::npos) text.replace(at, word.size(), "[gone]");
      return call.answer(action(AGENTD_ACT_REPLACE_TEXT, text));
    };
  };
  on("a", "file", takes_out("secret"));
  on("b", "file", takes_out("token"));
  on("c", "file", [](const TestCall&) { return AGENTD_OK; });
  fire();
  EXPECT_EQ(text_, "[gone] and [gone]");
  EXPECT_EQ(asked_.size(), 4u);
  EXPECT_EQ(effects_.text, "c:none a:applied b:applied ");
}

TEST_F(Together, WhatADenialStopsIsNotRewritten) {
  says("a", "file", {action(AGENTD_ACT_REPLACE_TEXT, R"({"x":1})")});
  says("b", "file", {action(AGENTD_ACT_BLOCK, "no")});
  EXPECT_TRUE(fire()->blocked);
  EXPECT_EQ(text_, "{}");
}

TEST_F(Together, AHookOfAGroupIsNotAskedAboutItsOwnWords) {
  on("a", "file", [](const TestCall&) { return AGENTD_OK; });
  on("b", "file", [](const TestCall&) { return AGENTD_OK; });
  on("c", "", [](const TestCall&) { return AGENTD_OK; });
  fire("a");
  EXPECT_EQ(asked_, (std::vector<std::string>{"b", "c"}));
  fire("c");
  EXPECT_EQ(asked_.size(), 3u) << "who belongs to no group is asked as ever";
}

}  // namespace
}  // namespace agentd
