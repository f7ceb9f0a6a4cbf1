// SPDX-License-Identifier: Apache-2.0
#pragma once
// dispatching.h - a dispatcher with hooks that a test makes up.
//
// Threading: as the dispatcher.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/hooks/dispatcher.h"
#include "tests/support/hook_fakes.h"

namespace agentd::testing {

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
  std::unique_ptr<Outcome> fire(std::uint32_t event = AGENTD_EVENT_USER_MESSAGE_SEND, TraceSink* trace = nullptr) {
    Dispatch what;
    what.event = event;
    what.payload = &text_;
    what.payload_bare = &bare_;
    what.deadline_ns = deadline_ns_;
    what.context = this;
    what.rewrite = [](void* me, std::uint32_t, std::string_view text) { static_cast<Dispatching*>(me)->text_ = text; };
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

}  // namespace agentd::testing
