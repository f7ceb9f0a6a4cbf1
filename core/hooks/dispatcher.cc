// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/dispatcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/hooks/merger.h"

namespace agentd {

Dispatcher::Dispatcher(const Clock& clock)
    : clock_(clock),
      current_(std::make_shared<const Snapshot>(std::vector<Subscription>{}, std::vector<std::string>{}, clock)) {}

void Dispatcher::publish(std::vector<Subscription> subscriptions, const std::vector<std::string>& order) {
  share(std::make_shared<const Snapshot>(std::move(subscriptions), order, clock_));
}

void Dispatcher::share(std::shared_ptr<const Snapshot> snapshot) {
  const MutexLock lock(mutex_);
  current_ = std::move(snapshot);
  mask_.store(current_->mask(), std::memory_order_relaxed);
}

std::shared_ptr<const Snapshot> Dispatcher::pin() const {
  const MutexLock lock(mutex_);
  return current_;
}

namespace {

HookAnswer take_answer(CallSlot& slot, agentd_status status, std::string why) {
  HookAnswer out{slot.take_answer()};
  out.status = status;
  // AGENTD_OK is the only status that agrees.
  if (status > AGENTD_OK) {
    out.status = AGENTD_E_INTERNAL;
    why = "it returned the status " + std::to_string(status) + ", which does not exist";
  }
  if (!why.empty() && !out.failure.empty()) why = out.failure.text + "; " + why;
  if (!why.empty()) out.failure = {std::move(why), out.failure.empty() ? FailureText::kAll : out.failure.own};
  if (out.failure.empty() && status == AGENTD_E_DEADLINE)
    out.failure = {"it did not answer before its deadline", FailureText::kAll};
  if (out.failure.empty() && status == AGENTD_E_CANCELLED) out.failure = {"it was cancelled", FailureText::kAll};
  return out;
}

std::uint64_t ns(Milliseconds time) { return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count()); }

// The time of a hook's call: its own, else the event's full time, whatever earlier hooks took. 0 = it shares the
// event's deadline: at the end of a session, or if the event has no time.
std::uint64_t time_of(const Subscription& hook, const Dispatch& event) {
  if (hook.timeout) return ns(*hook.timeout);
  return hook.event == AGENTD_EVENT_SESSION_END ? 0 : event.budget_ns;
}

// While a hook with a time of its own is called, the slot has its deadline; afterwards the event's again, later by the
// host's own work in the meantime and by the excess of a hook that may take longer than the event. Callers pass the
// clock that they have read anyway.
class OwnDeadline {
 public:
  OwnDeadline(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event, const Snapshot::Entry& entry,
              std::uint64_t now_ns)
      : slot_(slot), started_ns_(now_ns) {
    const Subscription& hook = snapshot.subscription(entry);
    const std::uint64_t time_ns = time_of(hook, event);
    if (time_ns == 0) return;
    event_ns_ = slot.deadline_ns();
    own_ns_ = started_ns_ + time_ns;
    // The end of a session must not keep the user waiting, whatever is configured.
    if (hook.event == AGENTD_EVENT_SESSION_END) own_ns_ = std::min(own_ns_, event_ns_);
    slot_.set_deadline(own_ns_);
  }
  // Called once. REQUIRES: nothing reads the deadline of the call afterwards.
  void end(std::uint64_t now_ns) const {
    if (own_ns_ == 0) return;
    const std::uint64_t moved = slot_.deadline_ns() - own_ns_;
    const std::uint64_t taken = own_ns_ > event_ns_ ? now_ns - started_ns_ : 0;
    const bool never = event_ns_ == UINT64_MAX;
    slot_.set_deadline(never ? UINT64_MAX : event_ns_ + std::max(moved, taken));
  }
  OwnDeadline(const OwnDeadline&) = delete;
  OwnDeadline& operator=(const OwnDeadline&) = delete;

 private:
  CallSlot& slot_;
  const std::uint64_t started_ns_;
  std::uint64_t event_ns_ = 0;
  std::uint64_t own_ns_ = 0;  // 0 = none
};

// Ends a call: waits if it is pending, and interprets a missed deadline. `why` is set if it was given up.
agentd_status end_call(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event, const Snapshot::Entry& entry,
                       agentd_status status, std::string& why) {
  if (status == AGENTD_PENDING) {
    const std::uint64_t deadline = slot.deadline_ns();
    const std::uint64_t now = snapshot.clock().monotonic_ns();
    const std::uint64_t own_ns = time_of(snapshot.subscription(entry), event);
    const std::uint64_t budget_ns = own_ns != 0 ? own_ns : event.budget_ns;
    const bool had_time = deadline > now && deadline - now >= budget_ns / 2;
    status = slot.wait_completed(snapshot.clock());
    slot.end_call(snapshot.clock());
    if (!slot.gave_up()) return status;
    why = status == AGENTD_E_DEADLINE ? "it did not answer before its deadline and is still running"
                                      : "it was cancelled and is still running";
    const auto& stopped = snapshot.subscription(entry).stopped;
    if (status != AGENTD_E_DEADLINE || !had_time || !stopped) return status;
    stopped->store(kHookStuck);
    why = "it did not answer before its deadline and is still running: it is disabled until agentd restarts";
    return status;
  }
  if (!slot.end_call(snapshot.clock())) return status;
  if (status == AGENTD_E_CANCELLED) return AGENTD_E_DEADLINE;
  const std::uint64_t now = snapshot.clock().monotonic_ns(), deadline = slot.deadline_ns();
  if (status < 0 || now < deadline || Milliseconds((now - deadline) / 1'000'000) <= CallSlot::kGrace) return status;
  why = "it answered " + std::to_string((now - deadline) / 1'000'000) + " ms after its deadline, which is too late";
  return AGENTD_E_DEADLINE;
}

// Merges a hook's answer into the outcome and reports it to the trace. Returns true if further deciding hooks are
// called.
bool settle_answer(const Snapshot& snapshot, const Dispatch& event, const Snapshot::Entry& entry,
                   const HookAnswer& answer, TraceSink* trace, std::unique_ptr<Outcome>& outcome) {
  Merger merger(snapshot, event, outcome);
  const AnswerEffect effect = merger.take(entry, answer);
  if (trace != nullptr) {
    const Subscription& from = snapshot.subscription(entry);
    trace->on_hook({from.name, from.plugin, from.bytes_digest, from.event, answer.duration_ns, answer.status,
                    answer.failure.text, answer.failure.own, answer.actions, effect, answer.note, answer.log,
                    answer.children, answer.refused});
  }
  return !merger.blocked();
}

// A text that is invalid where the hook puts it is the hook's failure, whatever else it answered.
void admit_rewrites(const Dispatch& event, const Subscription& from, HookAnswer& answer) {
  if (event.admit == nullptr || answer.status < 0 || from.observes()) return;
  const EventTraits* const traits = find_event(event.event);
  for (Action& action : answer.actions) {
    if (action.kind != AGENTD_ACT_REPLACE_TEXT || traits == nullptr) continue;
    if (action.target != AGENTD_TEXT_DEFAULT && action.target != traits->text_target) continue;
    auto admitted = event.admit(event.context, action.text);
    if (admitted) {
      action.text = std::move(*admitted);
      continue;
    }
    answer.status = AGENTD_E_ARG;
    answer.failure = admitted.error().message;
    answer.actions.clear();
    return;
  }
}

// One call in the timed form: its start, its deadline, and whether it was made.
struct TimedCall {
  TimedCall(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event, const Snapshot::Entry& entry)
      : started_ns(snapshot.clock().monotonic_ns()), own(snapshot, slot, event, entry, started_ns) {}

  // A hook whose deadline has passed at its turn is not called, whatever its kind: none runs partly, and a hook that
  // was not called has not agreed. The same applies to a hook over its limits.
  agentd_status make(const Subscription& hook, const Snapshot::Entry& entry, const Dispatch& event, CallSlot& slot,
                     const agentd_call& call) {
    if (slot.deadline_ns() <= started_ns) {
      slot.fail(call.token, AGENTD_E_DEADLINE, {"no time was left to call it", FailureText::kAll});
      return AGENTD_E_DEADLINE;
    }
    if (event.refusal == nullptr) return entry.fn(entry.self, &call);
    const std::string why = event.refusal(event.context, hook);
    if (why.empty()) return entry.fn(entry.self, &call);
    refused = true;
    if (hook.on_failure == FailurePolicy::kOpen || hook.observes()) {
      slot.skip(call.token, why);
      return AGENTD_OK;
    }
    slot.fail(call.token, AGENTD_E_TOO_BIG, {why, FailureText::kAll});
    return AGENTD_E_TOO_BIG;
  }

  const std::uint64_t started_ns;
  const OwnDeadline own;
  bool refused = false;
};

// The path for a hook that answered, failed, or is traced. Kept out of the loop below, so that its registers and stack
// frame stay small.
[[gnu::noinline, gnu::cold]] bool settle(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event,
                                         const Snapshot::Entry& entry, agentd_status status, const TimedCall* timed,
                                         TraceSink* trace, std::unique_ptr<Outcome>& outcome) {
  std::string why;
  status = end_call(snapshot, slot, event, entry, status, why);
  HookAnswer answer = take_answer(slot, status, std::move(why));
  if (timed != nullptr) {
    const std::uint64_t ended_ns = snapshot.clock().monotonic_ns();
    answer.duration_ns = ended_ns - timed->started_ns;
    answer.refused = timed->refused;
    timed->own.end(ended_ns);
  }
  admit_rewrites(event, snapshot.subscription(entry), answer);
  const std::size_t rewrites = outcome ? outcome->rewrites.size() : 0;
  const bool open = settle_answer(snapshot, event, entry, answer, trace, outcome);
  // The next hook sees the rewritten payload.
  if (outcome && outcome->rewrites.size() != rewrites) slot.forget_payload_text();
  return open;
}

// A hook whose instance has ended is not called. A guard of a stuck instance guards by failing. Returns as settle().
[[gnu::noinline, gnu::cold]] bool pass_over(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event,
                                            const Snapshot::Entry& entry, TraceSink* trace,
                                            std::unique_ptr<Outcome>& outcome) {
  const Subscription& from = snapshot.subscription(entry);
  if (entry.stopped->load(std::memory_order_relaxed) != kHookStuck) return true;
  if (from.on_failure != FailurePolicy::kClosed || from.observes()) return true;
  HookAnswer answer;
  answer.status = AGENTD_E_DEADLINE;
  answer.failure = {"an earlier call never ended: it is disabled until agentd restarts", FailureText::kAll};
  slot.open(&event);  // trace receivers read this event's payload
  const bool open = settle_answer(snapshot, event, entry, answer, trace, outcome);
  slot.forget_payload_text();
  slot.close();
  return open;
}

const void* payload_for(const Dispatch& event, const Snapshot::Entry& entry) {
  const bool bare = event.payload_bare != nullptr && (entry.wants & AGENTD_WANTS_MESSAGES) == 0;
  return bare ? event.payload_bare : event.payload;
}

// Sets what differs from call to call, or may have been another call's, and returns the record.
const agentd_call& fill(CallSlot& slot, const Dispatch& event, const Snapshot::Entry& entry, agentd_token token) {
  agentd_call& call = slot.record();
  call.event = event.event;
  call.token = token;
  call.conversation = event.conversation;
  call.core = entry.core;
  call.services = entry.services;
  call.envelope = event.envelope;
  call.payload = payload_for(event, entry);
  return call;
}

bool is_in_use(const Snapshot::Entry& entry) {
  return entry.stopped == nullptr || entry.stopped->load(std::memory_order_relaxed) == kHookInUse;
}

bool is_left_out(const Snapshot& snapshot, const Dispatch& event, const Snapshot::Entry& entry) {
  return !event.except.empty() && (entry.wants & Snapshot::kTogether) != 0 &&
         snapshot.subscription(entry).name == event.except;
}

// Hooks of an event that are called in parallel: those that wait for something outside the process each on a thread,
// the others on this one in the meantime.
class HookGroup {
 public:
  HookGroup(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event, std::span<const Snapshot::Entry> entries)
      : snapshot_(snapshot), slot_(slot), event_(event), entries_(entries), answers_(entries.size()) {}

  void run_observers(TraceSink* trace, std::unique_ptr<Outcome>& outcome) {
    const std::vector<std::size_t> asked = call_all();
    slot_.open(&event_);
    for (const std::size_t i : asked) settle_answer(snapshot_, event_, entries_[i], answers_[i], trace, outcome);
    slot_.close();
  }

  // Returns as settle().
  bool run_gates(TraceSink* trace, std::unique_ptr<Outcome>& outcome) {
    const std::uint64_t started_ns = snapshot_.clock().monotonic_ns();
    std::vector<std::size_t> asked = call_all();
    for (const std::size_t i : asked) admit_rewrites(event_, snapshot_.subscription(entries_[i]), answers_[i]);
    // Rewriting hooks are settled last: the answers and receipts of the others are about the first payload.
    std::stable_partition(asked.begin(), asked.end(), [this](std::size_t i) { return !rewrites(i); });
    bool open = true, rewritten = false;
    for (const std::size_t i : asked) {
      // A second rewrite of the first payload would undo the one before it: the hook is called again.
      if (rewritten && open && rewrites(i)) {
        answers_[i] = call(slot_, entries_[i]);
        admit_rewrites(event_, snapshot_.subscription(entries_[i]), answers_[i]);
      }
      const std::size_t before = outcome ? outcome->rewrites.size() : 0;
      slot_.open(&event_);
      open = settle_answer(snapshot_, event_, entries_[i], answers_[i], trace, outcome);
      if (outcome && outcome->rewrites.size() != before) {
        rewritten = true;
        slot_.forget_payload_text();
      }
      slot_.close();
    }
    allow_time(snapshot_.clock().monotonic_ns() - started_ns);
    return open;
  }

 private:
  bool rewrites(std::size_t index) const {
    const auto& actions = answers_[index].actions;
    return std::any_of(actions.begin(), actions.end(),
                       [](const Action& action) { return action.kind == AGENTD_ACT_REPLACE_TEXT; });
  }

  // The time of hooks with a time of their own is not taken from later hooks.
  void allow_time(std::uint64_t taken_ns) {
    if (deadline_ns_ == UINT64_MAX || event_.event == AGENTD_EVENT_SESSION_END) return;
    const bool own = std::any_of(entries_.begin(), entries_.end(), [this](const Snapshot::Entry& entry) {
      return time_of(snapshot_.subscription(entry), event_) != 0;
    });
    slot_.set_deadline(deadline_ns_ + (own ? taken_ns : 0));
  }

  // Returns the indices of the called hooks, in order.
  std::vector<std::size_t> call_all() {
    // Decided once: a hook that is disabled in the meantime by what it does here was still called.
    std::vector<std::size_t> waiting, others;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (is_asked(entries_[i]))
        (event_.slots != nullptr && (entries_[i].wants & Snapshot::kWaits) != 0 ? waiting : others).push_back(i);
    make_payload_texts(waiting);
    call_together(waiting, others);
    std::vector<std::size_t> asked;
    std::merge(waiting.begin(), waiting.end(), others.begin(), others.end(), std::back_inserter(asked));
    return asked;
  }
  static constexpr std::size_t kThreadsMax = 32;

  bool is_asked(const Snapshot::Entry& entry) const {
    if (event_.only != 0 && (entry.flags & event_.only) == 0) return false;
    if (is_left_out(snapshot_, event_, entry)) return false;
    return is_in_use(entry);
  }

  // Once for all, on this thread.
  void make_payload_texts(const std::vector<std::size_t>& waiting) {
    slot_.open(&event_);
    for (const std::size_t i : waiting) slot_.payload_text((entries_[i].wants & AGENTD_WANTS_MESSAGES) != 0);
    slot_.close();
  }

  void call_together(const std::vector<std::size_t>& waiting, const std::vector<std::size_t>& others) {
    agentd::call_together(
        waiting.size(), std::min(waiting.size(), kThreadsMax),
        [&](std::size_t i) {
          if (std::string why = thrown_by([&] { call_apart(waiting[i]); }); !why.empty())
            answers_[waiting[i]] = failed_with(std::move(why));
        },
        [&] {
          for (const std::size_t other : others) answers_[other] = call(slot_, entries_[other]);
        });
  }

  // The answer of a hook that the host could not call.
  static HookAnswer failed_with(std::string why) noexcept {
    HookAnswer answer;
    answer.status = AGENTD_E_INTERNAL;
    answer.failure = std::move(why);
    return answer;
  }

  void call_apart(std::size_t index) {
    const SlotLease lease(*event_.slots);
    if (lease->touched()) lease->clean();
    const CancelBinding cancel(*lease, slot_.cancel_token());
    lease->set_deadline(deadline_ns_);
    lease->announce(event_.event, event_.conversation);
    lease->share_payload_text(slot_);
    answers_[index] = call(*lease, entries_[index]);
    lease->clean();
  }

  HookAnswer call(CallSlot& slot, const Snapshot::Entry& entry) const {
    TimedCall timed(snapshot_, slot, event_, entry);
    const agentd_call& call = fill(slot, event_, entry, slot.open(&event_));
    agentd_status status = timed.make(snapshot_.subscription(entry), entry, event_, slot, call);
    std::string why;
    status = end_call(snapshot_, slot, event_, entry, status, why);
    HookAnswer answer = take_answer(slot, status, std::move(why));
    slot.close();
    const std::uint64_t ended = snapshot_.clock().monotonic_ns();
    timed.own.end(ended);
    answer.duration_ns = ended - timed.started_ns;
    answer.refused = timed.refused;
    return answer;
  }

  const Snapshot& snapshot_;
  CallSlot& slot_;
  const Dispatch& event_;
  const std::span<const Snapshot::Entry> entries_;
  // The event's deadline, later by the excess of earlier hooks: read before the calls, which move their own slots'.
  const std::uint64_t deadline_ns_ = slot_.deadline_ns();
  std::vector<HookAnswer> answers_;
};

// True if the observers from here on deserve threads: two or more, at least one of which waits.
[[gnu::noinline, gnu::cold]] bool run_together(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event,
                                               std::span<const Snapshot::Entry> entries, TraceSink* trace,
                                               std::unique_ptr<Outcome>& outcome) {
  const auto waits = [](const Snapshot::Entry& entry) { return (entry.wants & Snapshot::kWaits) != 0; };
  if (event.slots == nullptr || entries.size() < 2 || std::none_of(entries.begin(), entries.end(), waits)) return false;
  HookGroup(snapshot, slot, event, entries).run_observers(trace, outcome);
  return true;
}

// The hooks, from the first of `entries` on, that are called together with it.
std::span<const Snapshot::Entry> group_of(const Snapshot& snapshot, std::span<const Snapshot::Entry> entries) {
  const std::string& name = snapshot.subscription(entries.front()).together;
  const auto end = std::find_if(entries.begin(), entries.end(), [&](const Snapshot::Entry& entry) {
    return (entry.wants & Snapshot::kTogether) == 0 || snapshot.subscription(entry).together != name;
  });
  return entries.first(static_cast<std::size_t>(end - entries.begin()));
}

using Entries = std::span<const Snapshot::Entry>;

// Without the gates at the front: after a deny only observers, which are last, receive the event.
Entries observers_of(Entries entries) {
  while (!entries.empty() && (entries.front().flags & AGENTD_HOOK_OBSERVES) == 0) entries = entries.subspan(1);
  return entries;
}

// The hooks that are still called after a deny.
Entries after_deny(CallSlot& slot, const Dispatch& event, Entries rest) {
  const Entries observers = observers_of(rest);
  if (event.withdraw == nullptr || observers.empty()) return observers;
  event.withdraw(event.context);
  slot.forget_payload_text();
  return observers;
}

// Prepares the slot for the calls of the event.
void begin(CallSlot& slot, const Dispatch& event) {
  if (slot.touched()) slot.clean();
  slot.set_deadline(event.deadline_ns);
  slot.announce(event.event, event.conversation);
}

// Calls one hook in the timed form. Returns as settle().
bool call_one(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event, const Snapshot::Entry& entry,
              TraceSink* trace, std::unique_ptr<Outcome>& outcome) {
  const agentd_call& call = fill(slot, event, entry, slot.open(&event));
  TimedCall timed(snapshot, slot, event, entry);
  const agentd_status status = timed.make(snapshot.subscription(entry), entry, event, slot, call);
  return settle(snapshot, slot, event, entry, status, &timed, trace, outcome);
}

// Calls the event's hooks from `first` on, each with its time, and ends the event.
[[gnu::noinline]] void call_in_time(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event,
                                    const Snapshot::Entry* first, TraceSink* trace, std::unique_ptr<Outcome>& outcome) {
  for (Entries entries{first, snapshot.end(event.event)}; !entries.empty();) {
    const Snapshot::Entry& entry = entries.front();
    std::size_t called = 1;
    bool open = true;
    if (!is_in_use(entry)) {
      open = pass_over(snapshot, slot, event, entry, trace, outcome);
    } else if ((event.only != 0 && (entry.flags & event.only) == 0) || is_left_out(snapshot, event, entry)) {
      // It is not called.
    } else if ((entry.wants & Snapshot::kWaits) != 0 && snapshot.subscription(entry).observes() &&
               run_together(snapshot, slot, event, entries, trace, outcome)) {
      called = entries.size();
    } else if (const Entries group = group_of(snapshot, entries); group.size() > 1) {
      open = HookGroup(snapshot, slot, event, group).run_gates(trace, outcome);
      called = group.size();
    } else {
      open = call_one(snapshot, slot, event, entry, trace, outcome);
    }
    entries = entries.subspan(called);
    if (!open) entries = after_deny(slot, event, entries);
  }
  slot.set_deadline(UINT64_MAX);
  slot.close();
}

// The rest of an event after `entry` has returned `status` without a clock having been read.
[[gnu::noinline, gnu::cold]] void call_after(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event,
                                             const Snapshot::Entry* entry, agentd_status status,
                                             std::unique_ptr<Outcome>& outcome) {
  const bool open = settle(snapshot, slot, event, *entry, status, nullptr, nullptr, outcome);
  const Entries rest{entry + 1, snapshot.end(event.event)};
  call_in_time(snapshot, slot, event, (open ? rest : after_deny(slot, event, rest)).data(), nullptr, outcome);
}

// True if the event itself limits or traces no call, and is for all of its hooks. One test instead of five.
bool is_plain(const Dispatch& event, const TraceSink* trace) {
  return (~event.deadline_ns | event.budget_ns | reinterpret_cast<std::uintptr_t>(trace) | event.only |
          event.except.size()) == 0;
}

}  // namespace

// A hook that returns no answer costs only the code below: no lock, no allocation, no clock, and no record of its own.
// Everything else is a call of another function, so that this one needs few registers and no protected stack.
std::unique_ptr<Outcome> dispatch(const Snapshot& snapshot, CallSlot& slot, const Dispatch& event, TraceSink* trace) {
  std::unique_ptr<Outcome> outcome;
  if (!snapshot.wants(event.event)) return outcome;
  begin(slot, event);
  const Snapshot::Entry* entry = snapshot.first(event.event);
  if (!is_plain(event, trace)) {
    call_in_time(snapshot, slot, event, entry, trace, outcome);
    return outcome;
  }
  for (agentd_token token = slot.open(&event);; token = slot.open_after(token), ++entry) {
    if (!is_in_use(*entry) || (entry->wants & (Snapshot::kWaits | Snapshot::kOwnTime)) != 0) {
      call_in_time(snapshot, slot, event, entry, nullptr, outcome);
      return outcome;
    }
    const agentd_status status = entry->fn(entry->self, &fill(slot, event, *entry, token));
    if (status != AGENTD_OK || slot.touched()) {
      call_after(snapshot, slot, event, entry, status, outcome);
      return outcome;
    }
    if ((entry->wants & Snapshot::kLast) == 0) continue;
    slot.close_after(token);
    return outcome;
  }
}

}  // namespace agentd
