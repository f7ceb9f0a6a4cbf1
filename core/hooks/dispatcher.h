// SPDX-License-Identifier: Apache-2.0
#pragma once
// dispatcher.h - dispatches every event: its subscribers, their order, and the merging of answers.
//
// Subscriptions are in immutable snapshots. Ordering, gating and wrapping are decided when a snapshot is published; a
// turn pins one snapshot. An event costs a bit test without subscribers, and otherwise one indirect call per
// subscriber. hook_actions.h has the rules of merging.
//
// Gating and rewriting hooks are called one after another, and the first block ends the event for later ones. Adjacent
// hooks of one group (`together`) are called in parallel with the same payload, and none prevents another from running:
// their answers are merged in order, rewriting hooks last, and each rewriting hook but the first is called again with
// the text of the one before it. Observers come last; those that wait for something outside of the process (`waits`)
// run in parallel, each on a thread and in a slot of its own, and dispatch() returns when the slowest is done.
//
// A hook whose deadline has passed at its turn is not called, whatever its kind: it fails with AGENTD_E_DEADLINE, and
// its failure policy decides.
//
// Threading: publish() and pin() are thread-safe; dispatch() runs on the thread that owns the slot, and calls `trace`
// only on that thread. No lock is held while a hook runs.

#include <agentd/hook_abi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/conversation/answer_effect.h"
#include "core/hooks/action.h"
#include "core/hooks/dispatch.h"
#include "core/hooks/outcome.h"
#include "core/hooks/slot.h"
#include "core/hooks/snapshot.h"

namespace agentd {

// One call of a hook, for traces and receipts.
struct HookTrace {
  std::string_view hook, plugin, bytes_digest;
  std::uint32_t event = 0;
  std::uint64_t duration_ns = 0;
  agentd_status status = AGENTD_OK;
  std::string_view failure;         // text of fail()
  std::size_t own_words = 0;        // FailureText::own
  std::span<const Action> actions;  // its emitted actions
  AnswerEffect effect = AnswerEffect::kNone;
  std::string_view note;       // why it was skipped, or a warning
  std::string_view log;        // for the log, unless the event's text was removed
  std::uint32_t children = 0;  // processes that outlived it, and were killed
  bool refused = false;        // it was not called: Dispatch::refusal
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_hook(const HookTrace& trace) = 0;
};

class Dispatcher {
 public:
  explicit Dispatcher(const Clock& clock);

  // Replaces the snapshot; turns that pinned the old one finish with it.
  void publish(std::vector<Subscription> subscriptions, const std::vector<std::string>& order = {});
  // The same with one that another dispatcher has made.
  void share(std::shared_ptr<const Snapshot> snapshot);
  // The current snapshot, alive as long as the pointer. Shared by the dispatcher and running turns.
  std::shared_ptr<const Snapshot> pin() const;
  // A hint for callers that have not pinned a snapshot yet.
  bool wants(std::uint32_t event) const { return (mask_.load(std::memory_order_relaxed) & event_bit(event)) != 0; }

 private:
  const Clock& clock_;
  std::atomic<std::uint64_t> mask_{0};
  mutable Mutex mutex_;
  std::shared_ptr<const Snapshot> current_ GUARDED_BY(mutex_);
};

// Calls the event's hooks in order and merges their answers; null = no answer and no failure. `trace`, if any, receives
// every call. REQUIRES: the slot belongs to this thread and no other dispatch runs on it.
std::unique_ptr<Outcome> dispatch(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event,
                                  TraceSink* trace = nullptr);

}  // namespace agentd
