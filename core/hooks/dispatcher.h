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

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/conversation/answer_effect.h"
#include "core/hooks/action.h"
#include "core/hooks/dispatch.h"
#include "core/hooks/event.h"
#include "core/hooks/slot.h"

namespace agentd {

enum class Precedence : std::uint8_t { kSystem = 0, kProject = 1, kUser = 2, kRecipe = 3 };
enum class FailurePolicy : std::uint8_t { kOpen, kClosed };

// The values of Subscription::stopped. A stuck instance has a call that was given up and still runs on one of its
// threads: its hooks are skipped, and those that fail closed fail.
inline constexpr std::uint32_t kHookInUse = 0, kHookEnded = 1, kHookStuck = 2;

// A row flag of the host, in addition to AGENTD_HOOK_: an observer that receives refused calls at tool_call_failed. A
// module that targets ABI 1.0 does not, since 1.0 did not send them.
inline constexpr std::uint16_t kHearsDenials = 0x8000;

// One subscription, for publish().
struct Subscription {
  std::uint32_t event = 0;
  std::uint16_t flags = 0;  // AGENTD_HOOK_, kHearsDenials
  std::int16_t priority = 0;
  std::uint64_t wants = 0;  // AGENTD_WANTS_
  Precedence precedence = Precedence::kUser;
  FailurePolicy on_failure = FailurePolicy::kOpen;
  std::uint32_t concurrency = AGENTD_SERIAL;
  std::string name;          // qualified: "auto_compact"
  std::string plugin;        // id
  std::string file{};        // the name by which hooks.NAME addresses all hooks of its file; empty = its own name
  std::string bytes_digest;  // hex; empty = unknown
  bool waits = false;        // it waits for something outside of this process: a program, a server
  bool shadow = false;       // shadow mode: its answer is traced and ignored
  bool keeps_text = false;   // none of its answers rewrites the event's text
  // The tool that it was written for calls it together with the others of this name. Only for hooks that wait.
  std::string together{};
  // The time of its calls, instead of the event's; at the end of a session never longer. Null = the event's.
  std::optional<Milliseconds> timeout;
  agentd_fn fn = nullptr;
  void* self = nullptr;
  const agentd_core* core = nullptr;
  const agentd_services* services = nullptr;
  // The queue of an instance that is not concurrent: shared by its subscriptions, by successive snapshots and by its
  // tools. Null = the snapshot makes one.
  std::shared_ptr<Mutex> turn;
  // Shared with its plugin: kHookInUse, or skipped from now on. dispatch() sets kHookStuck.
  std::shared_ptr<std::atomic<std::uint32_t>> stopped;
  // The owner of fn and self: kept alive by every snapshot that may still call them. Null = kept alive elsewhere.
  std::shared_ptr<const void> owner;
};

// One call of a hook, for traces and receipts.
struct HookTrace {
  std::string_view hook, plugin, bytes_digest;
  std::uint32_t event = 0;
  std::uint64_t duration_ns = 0;
  agentd_status status = AGENTD_OK;
  std::string_view failure;         // text of fail()
  std::span<const Action> actions;  // its emitted actions
  AnswerEffect effect = AnswerEffect::kNone;
  std::string_view note;       // why it was skipped, or a warning
  std::uint32_t children = 0;  // processes that outlived it, and were killed
  bool refused = false;        // it was not called: Dispatch::refusal
};

class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void on_hook(const HookTrace& trace) = 0;
};

// The merged answer of an event. Absent (null) if no hook answered.
struct Outcome {
  struct By {
    std::string hook, plugin;
  };
  struct Attributed {
    By by;
    Action action;
  };
  struct Conflict {
    By winner, loser;
    std::uint32_t kind = 0;  // AGENTD_ACT_ of the loser
  };
  struct Failure {
    By by;
    agentd_status status = AGENTD_OK;
    std::string text;
  };

  bool blocked = false;
  bool blocked_by_failure = false;  // a guard failed, instead of refusing
  std::string reason;
  By blocked_by;
  std::optional<Attributed> stop;     // the first STOP_RUN; if the event can be blocked, `blocked` is set too
  std::vector<Attributed> exclusive;  // at most one: COMPACT, SUMMARY, REPLACE_MESSAGES or CALLBACK
  std::vector<Attributed> continues, contexts, notices, sets;
  std::vector<Attributed> others;    // what else adds up: TOOLS_ENABLE, TOOLS_DISABLE
  std::vector<Attributed> rewrites;  // in order; already put into the payload
  bool withheld = false;             // one of them replaces text that a failed hook did not check
  std::uint32_t permission = 0;      // AGENTD_PERMISSION_; deny over ask over allow
  bool remember = false;
  By permission_by;
  std::string permission_reason;
  std::vector<Conflict> conflicts;
  std::vector<Failure> failures;

  const Action* exclusive_action() const { return exclusive.empty() ? nullptr : &exclusive[0].action; }
  // The last value that a hook set for the key; null if none did.
  const Action* set_of(std::uint32_t key) const;
};

// The subscriptions of one configuration, sorted. Immutable.
class Snapshot {
 public:
  struct Entry {
    agentd_fn fn = nullptr;
    void* self = nullptr;
    const agentd_core* core = nullptr;
    const agentd_services* services = nullptr;
    const std::atomic<std::uint32_t>* stopped = nullptr;
    std::uint32_t subscription = 0;
    std::uint16_t flags = 0;
    std::uint16_t wants = 0;  // AGENTD_WANTS_, and the following
  };
  static constexpr std::uint16_t kLast = 0x0800;  // of its event
  static constexpr std::uint16_t kOwnTime = 0x1000, kTogether = 0x2000, kShadow = 0x4000, kWaits = 0x8000;

  // `order` names hooks or "*" and takes precedence over priority. `clock` must outlive the snapshot.
  Snapshot(std::vector<Subscription> subscriptions, const std::vector<std::string>& order, const Clock& clock);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  std::uint64_t mask() const { return mask_; }
  bool wants(std::uint32_t event) const { return (mask_ & event_bit(event)) != 0; }
  // True if the event's text must not be seen before its hooks have run: one of them may rewrite it, or withholds it by
  // failing.
  bool redacts(std::uint32_t event) const { return (redacted_mask_ & event_bit(event)) != 0; }
  std::span<const Entry> entries(std::uint32_t event) const { return {first(event), end(event)}; }
  // Without a subscriber that of another event, or none.
  const Entry* first(std::uint32_t event) const { return entries_.data() + first_[event]; }
  const Entry* end(std::uint32_t event) const { return entries_.data() + first_[event + 1]; }
  const Subscription& subscription(const Entry& entry) const { return subscriptions_[entry.subscription]; }
  std::span<const Subscription> subscriptions() const { return subscriptions_; }
  const Clock& clock() const { return clock_; }

 private:
  struct Serial;
  void add_entry(std::uint32_t index);

  std::vector<Subscription> subscriptions_;  // in order of dispatch within each event
  std::vector<Entry> entries_;
  std::array<std::uint32_t, 65> first_{};
  std::uint64_t mask_ = 0, redacted_mask_ = 0;
  std::vector<std::unique_ptr<Serial>> serials_;
  const Clock& clock_;
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
