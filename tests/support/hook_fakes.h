// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_fakes.h - hooks as lambdas that stand behind the C function pointers of the dispatcher, without
// plugins or bridge: they answer through the call's slot.
//
// Threading: thread-compatible; TestSlots is thread-safe.

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/base/log.h"
#include "core/hooks/dispatcher.h"
#include "core/hooks/slot.h"

namespace agentd::testing {

class TestSlots final : public SlotSource {
 public:
  CallSlot* acquire() override {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      slots_.push_back(std::make_unique<CallSlot>(static_cast<std::uint32_t>(slots_.size() + 1)));
      free_.push_back(slots_.back().get());
    }
    CallSlot* const slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void release(CallSlot* slot) override {
    slot->close();
    slot->clean();
    const std::lock_guard lock(mutex_);
    free_.push_back(slot);
  }
  std::size_t in_use() {
    const std::lock_guard lock(mutex_);
    return slots_.size() - free_.size();
  }
  CallSlot& of(agentd_token token) {
    const std::lock_guard lock(mutex_);
    return *slots_.at((token & ((1u << CallSlot::kIndexBits) - 1)) - 1);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CallSlot>> slots_;
  std::vector<CallSlot*> free_;
};

inline Action action(std::uint32_t kind, std::string text = {}) {
  Action out;
  out.kind = kind;
  out.text = std::move(text);
  return out;
}

inline Action set_action(std::uint32_t key, std::string text, std::uint64_t number = 0) {
  Action out = action(AGENTD_ACT_SET, std::move(text));
  out.target = key;
  out.number = number;
  return out;
}

inline Action permission_action(std::uint32_t decision, std::string reason = {}) {
  Action out = action(AGENTD_ACT_PERMISSION, std::move(reason));
  out.code = decision;
  return out;
}

struct TestCall {
  const agentd_call& raw;
  CallSlot& slot;

  template <typename T>
  const T& payload() const {
    return *static_cast<const T*>(raw.payload);
  }
  bool emit(Action what) const { return slot.emit(raw.token, std::move(what)); }
  agentd_status answer(Action what) const {
    emit(std::move(what));
    return AGENTD_OK;
  }
};

// One subscription; must outlive the snapshots that name it.
class TestHook {
 public:
  using Fn = std::function<agentd_status(const TestCall&)>;
  TestHook(TestSlots& slots, std::uint32_t event, std::string name, Fn fn) : slots_(slots), fn_(std::move(fn)) {
    what.event = event;
    what.name = std::move(name);
    what.plugin = "org.test." + what.name;
    what.concurrency = AGENTD_CONCURRENT;
    what.wants = AGENTD_WANTS_MESSAGES;
    what.fn = &TestHook::call;
    what.self = this;
  }
  TestHook(const TestHook&) = delete;
  TestHook& operator=(const TestHook&) = delete;

  Subscription what;

 private:
  static agentd_status AGENTD_CALL call(void* self, const agentd_call* raw) noexcept {
    auto& me = *static_cast<TestHook*>(self);
    return me.fn_({*raw, me.slots_.of(raw->token)});
  }

  TestSlots& slots_;
  const Fn fn_;
};

class RecordingLog final : public Log {
 public:
  void write(LogLevel, std::string_view area, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    lines.push_back(std::string(area) + ": " + std::string(text));
  }
  bool mentions(std::string_view part) const {
    for (const std::string& line : lines)
      if (line.find(part) != std::string::npos) return true;
    return false;
  }
  std::vector<std::string> lines;

 private:
  std::mutex mutex_;
};

}  // namespace agentd::testing
