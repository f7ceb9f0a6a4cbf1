// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/dispatcher.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace agentd {
namespace {

bool is_exclusive(const Action& action) {
  const ActionTraits* const traits = find_action(action.kind);
  return traits != nullptr && traits->merge == ActionMerge::kExclusive;
}

// The position of a name in hooks.order; "*" is the position of every name that is not listed.
std::size_t place(const std::vector<std::string>& order, const std::string& name) {
  const auto found = std::find(order.begin(), order.end(), name);
  if (found != order.end()) return static_cast<std::size_t>(found - order.begin());
  const auto star = std::find(order.begin(), order.end(), "*");
  return static_cast<std::size_t>(star - order.begin());
}

bool observes(const Subscription& subscription) { return (subscription.flags & AGENTD_HOOK_OBSERVES) != 0; }

// True if the event's text is withheld when the hook fails. At an event that cannot be blocked, a hook that fails
// closed guards the text.
bool withholds(const Subscription& subscription) {
  if (subscription.on_failure != FailurePolicy::kClosed || observes(subscription)) return false;
  const EventTraits* const event = find_event(subscription.event);
  if (event == nullptr || event->text_target == 0) return false;
  return !event->blocking || (subscription.flags & AGENTD_HOOK_REDACTS) != 0;
}

bool may_rewrite(const Subscription& subscription) {
  const EventTraits* const event = find_event(subscription.event);
  return event != nullptr && event->text_target != 0 && !observes(subscription) && !subscription.keeps_text;
}

}  // namespace

// The queue, with a deadline, in front of SERIAL and PER_CONVERSATION hooks.
struct Snapshot::Serial {
  agentd_fn fn = nullptr;
  void* self = nullptr;
  const Clock* clock = nullptr;
  // Shared by all entries of one instance; owned by the snapshot's first entry of it.
  std::shared_ptr<Mutex> turn;

  static agentd_status AGENTD_CALL call(void* me, const agentd_call* call) noexcept {
    auto& serial = *static_cast<Serial*>(me);
    agentd_status why = AGENTD_OK;
    if (!serial.turn->try_lock() && !serial.wait(*call->live, why)) return why;
    const MutexLock lock(*serial.turn, kAdopt);
    return serial.fn(serial.self, call);
  }

  // Waits in slices, so that a cancelled call leaves the queue.
  bool wait(const agentd_live& live, agentd_status& why) const TRY_ACQUIRE(true, *turn) {
    const Deadline deadline{__atomic_load_n(&live.deadline_ns, __ATOMIC_SEQ_CST)};
    for (Milliseconds left = deadline.left(*clock);;) {
      const Milliseconds slice = std::min(CallSlot::kSlice, left);
      if (turn->lock_for(*clock, slice)) return true;
      left = std::min(left - slice, deadline.left(*clock));
      const std::uint32_t reason = __atomic_load_n(&live.cancel, __ATOMIC_SEQ_CST);
      if (left.count() > 0 && reason == 0) continue;
      why = left.count() > 0 && reason != AGENTD_CANCEL_DEADLINE ? AGENTD_E_CANCELLED : AGENTD_E_DEADLINE;
      return false;
    }
  }
};

Snapshot::Snapshot(std::vector<Subscription> subscriptions, const std::vector<std::string>& order, const Clock& clock)
    : subscriptions_(std::move(subscriptions)), clock_(clock) {
  std::erase_if(subscriptions_, [](const Subscription& s) { return s.event == 0 || s.event >= 64; });
  std::stable_sort(subscriptions_.begin(), subscriptions_.end(), [&](const Subscription& a, const Subscription& b) {
    const auto key = [&](const Subscription& s) {
      return std::make_tuple(s.event, observes(s), place(order, s.name), -s.priority, s.precedence,
                             std::string_view(s.name));
    };
    return key(a) < key(b);
  });
  for (std::uint32_t i = 0; i < subscriptions_.size(); ++i) add_entry(i);
  std::uint32_t at = 0;
  for (std::uint32_t event = 0; event < first_.size(); ++event) {
    while (at < subscriptions_.size() && subscriptions_[at].event < event) ++at;
    first_[event] = at;
    if (at != 0) entries_[at - 1].wants |= kLast;
  }
}

Snapshot::~Snapshot() = default;

void Snapshot::add_entry(std::uint32_t index) {
  const Subscription& from = subscriptions_[index];
  Entry entry{from.fn,
              from.self,
              from.core,
              from.services,
              from.stopped.get(),
              index,
              from.flags,
              static_cast<std::uint16_t>((from.wants & 0xff) | (from.timeout ? kOwnTime : 0) |
                                         (from.shadow ? kShadow : 0) | (from.waits ? kWaits : 0) |
                                         (from.waits && !from.together.empty() && !observes(from) ? kTogether : 0))};
  if (from.concurrency != AGENTD_CONCURRENT) {
    auto serial = std::make_unique<Serial>();
    serial->fn = from.fn;
    serial->self = from.self;
    serial->clock = &clock_;
    serial->turn = from.turn;
    for (const auto& other : serials_)
      if (!serial->turn && other->self == from.self) serial->turn = other->turn;
    if (!serial->turn) serial->turn = std::make_shared<Mutex>();
    entry.fn = Serial::call;
    entry.self = serial.get();
    serials_.push_back(std::move(serial));
  }
  entries_.push_back(entry);
  mask_ |= event_bit(from.event);
  if (!from.shadow && (withholds(from) || may_rewrite(from))) redacted_mask_ |= event_bit(from.event);
}

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

const Action* Outcome::set_of(std::uint32_t key) const {
  for (auto it = sets.rbegin(); it != sets.rend(); ++it)
    if (it->action.target == key) return &it->action;
  return nullptr;
}

namespace {

// The result of one call of a hook.
struct HookAnswer : CallSlot::Answer {
  agentd_status status = AGENTD_OK;
  std::uint64_t duration_ns = 0;
  bool refused = false;
};

HookAnswer take_answer(CallSlot& slot, agentd_status status, std::string why) {
  HookAnswer out{slot.take_answer()};
  out.status = status;
  // AGENTD_OK is the only status that agrees.
  if (status > AGENTD_OK) {
    out.status = AGENTD_E_INTERNAL;
    why = "it returned the status " + std::to_string(status) + ", which does not exist";
  }
  if (!why.empty()) out.failure = out.failure.empty() ? std::move(why) : out.failure + "; " + why;
  if (out.failure.empty() && status == AGENTD_E_DEADLINE) out.failure = "it did not answer before its deadline";
  if (out.failure.empty() && status == AGENTD_E_CANCELLED) out.failure = "it was cancelled";
  return out;
}

constexpr std::size_t kNoticesMax = 64;  // per hook and event

class Merger {
 public:
  // `outcome` is made when the first hook returns something.
  Merger(const Snapshot& snapshot, const Dispatch& event, std::unique_ptr<Outcome>& outcome)
      : snapshot_(snapshot), event_(event), outcome_(outcome) {}

  // Merges the answer of one hook; returns its effect.
  AnswerEffect take(const Snapshot::Entry& entry, const HookAnswer& answer) {
    const Subscription& from = snapshot_.subscription(entry);
    if (answer.skipped) return AnswerEffect::kSkipped;
    if ((entry.wants & Snapshot::kShadow) != 0)
      return answer.status < 0 || !answer.actions.empty() ? AnswerEffect::kShadow : AnswerEffect::kNone;
    if (answer.status < 0) return take_failure(from, answer.status, answer.failure);
    if ((entry.flags & AGENTD_HOOK_OBSERVES) != 0)
      return answer.actions.empty() ? AnswerEffect::kNone : AnswerEffect::kIgnored;
    AnswerEffect effect = AnswerEffect::kNone;
    // An action that is not legal at the event has no effect; after a block, neither has an action about the blocked
    // part.
    const bool late = blocked();
    for (const Action& action : answer.actions) {
      const bool counts = is_legal(event_.event, action.kind) && !(late && is_about_what_follows(action));
      const AnswerEffect now = counts ? apply(from, action) : AnswerEffect::kIgnored;
      if (effect != AnswerEffect::kBlocked) effect = now;  // a notice after a block does not hide it
    }
    return effect;
  }

  bool blocked() const { return outcome_ && outcome_->blocked; }

 private:
  static bool is_about_what_follows(const Action& action) {
    if (action.kind == AGENTD_ACT_PERMISSION) return action.code != AGENTD_PERMISSION_DENY;
    return action.kind == AGENTD_ACT_REPLACE_TEXT || is_exclusive(action);
  }
  Outcome& outcome() {
    if (!outcome_) outcome_ = std::make_unique<Outcome>();
    return *outcome_;
  }
  static Outcome::By by(const Subscription& from) { return {from.name, from.plugin}; }

  AnswerEffect take_failure(const Subscription& from, agentd_status status, const std::string& failure) {
    outcome().failures.push_back({by(from), status, failure});
    if (withholds(from)) withhold(from);
    const EventTraits* const traits = find_event(event_.event);
    if (from.on_failure == FailurePolicy::kOpen || traits == nullptr || !traits->blocking || observes(from))
      return AnswerEffect::kFailed;
    const bool first = !outcome().blocked;
    block(from, "the guard '" + from.name + "' failed" + (failure.empty() ? "" : ": " + failure));
    if (first) outcome().blocked_by_failure = true;
    return AnswerEffect::kBlocked;
  }

  // Text that a redacting hook has not checked must not be seen by anyone.
  void withhold(const Subscription& from) {
    Action action;
    action.kind = AGENTD_ACT_REPLACE_TEXT;
    action.text = "[withheld: the hook " + from.name + ", which redacts it, failed]";
    if (apply_rewrite(from, action) == AnswerEffect::kApplied) outcome().withheld = true;
  }

  // The first hook that blocks is reported.
  void block(const Subscription& from, std::string reason) {
    if (outcome().blocked && outcome().blocked_by.hook != from.name) return;
    outcome().blocked = true;
    outcome().reason = std::move(reason);
    outcome().blocked_by = by(from);
  }

  // Keeps the first notices of a hook; further ones are counted in a notice of their own.
  AnswerEffect keep_notice(const Subscription& from, const Action& action) {
    std::vector<Outcome::Attributed>& notices = outcome().notices;
    if (std::exchange(notices_by_, &from) != &from) notices_ = 0;
    if (++notices_ <= kNoticesMax) {
      notices.push_back({by(from), action});
      return AnswerEffect::kApplied;
    }
    if (notices_ == kNoticesMax + 1) notices.push_back({by(from), action});
    const std::size_t dropped = notices_ - kNoticesMax;
    notices.back().action.text = with_commas(dropped) +
                                 (dropped == 1 ? " more notice was dropped" : " more notices were dropped") +
                                 ": a hook may send " + std::to_string(kNoticesMax) + " at one event";
    return AnswerEffect::kApplied;
  }

  AnswerEffect apply(const Subscription& from, const Action& action) {
    const ActionTraits* const traits = find_action(action.kind);
    if (traits == nullptr) return AnswerEffect::kIgnored;
    switch (traits->merge) {
      case ActionMerge::kBlocks:
        block(from, action.text);
        return AnswerEffect::kBlocked;
      case ActionMerge::kEndsRun:
        return stop_run(from, action);
      case ActionMerge::kExclusive:
        return apply_exclusive(from, action);
      case ActionMerge::kStrictest:
        return apply_permission(from, action);
      case ActionMerge::kChains:
        return apply_rewrite(from, action);
      case ActionMerge::kLastWins:
        outcome().sets.push_back({by(from), action});
        return AnswerEffect::kApplied;
      case ActionMerge::kAddsUp:
        return add(from, action);
      case ActionMerge::kAnswers:
        return AnswerEffect::kIgnored;
    }
    return AnswerEffect::kIgnored;
  }

  AnswerEffect add(const Subscription& from, const Action& action) {
    if (action.kind == AGENTD_ACT_SYSTEM_MESSAGE) return keep_notice(from, action);
    auto& list = action.kind == AGENTD_ACT_CONTINUE         ? outcome().continues
                 : action.kind == AGENTD_ACT_INJECT_CONTEXT ? outcome().contexts
                                                            : outcome().others;
    list.push_back({by(from), action});
    return AnswerEffect::kApplied;
  }

  // The announced action does not happen. Where it has already happened, rewriting hooks are still called.
  AnswerEffect stop_run(const Subscription& from, const Action& action) {
    if (!outcome().stop) outcome().stop = Outcome::Attributed{by(from), action};
    const EventTraits* const traits = find_event(event_.event);
    if (traits == nullptr || !traits->blocking) return AnswerEffect::kApplied;
    block(from, action.text);
    return AnswerEffect::kBlocked;
  }

  AnswerEffect apply_exclusive(const Subscription& from, const Action& action) {
    if (outcome().exclusive.empty()) {
      outcome().exclusive.push_back({by(from), action});
      return AnswerEffect::kApplied;
    }
    outcome().conflicts.push_back({outcome().exclusive[0].by, by(from), action.kind});
    return AnswerEffect::kConflict;
  }

  AnswerEffect apply_permission(const Subscription& from, const Action& action) {
    const auto rank = [](std::uint32_t decision) {
      return decision == AGENTD_PERMISSION_DENY ? 3 : decision == AGENTD_PERMISSION_ASK ? 2 : 1;
    };
    // A project's hook may tighten permissions, never loosen them.
    if (action.code == AGENTD_PERMISSION_ALLOW && from.precedence == Precedence::kProject)
      return AnswerEffect::kIgnored;
    if (action.code == AGENTD_PERMISSION_DENY) {
      block(from, action.text);
      outcome().permission = AGENTD_PERMISSION_DENY;
      return AnswerEffect::kBlocked;
    }
    if (outcome().permission != 0 && rank(outcome().permission) >= rank(action.code)) return AnswerEffect::kNone;
    outcome().permission = action.code;
    outcome().remember = action.remember != 0;
    outcome().permission_by = by(from);
    outcome().permission_reason = action.text;
    return AnswerEffect::kApplied;
  }

  AnswerEffect apply_rewrite(const Subscription& from, const Action& action) {
    const EventTraits* const traits = find_event(event_.event);
    const std::uint32_t target =
        action.target == AGENTD_TEXT_DEFAULT && traits != nullptr ? traits->text_target : action.target;
    if (event_.rewrite == nullptr || traits == nullptr || target != traits->text_target) return AnswerEffect::kIgnored;
    event_.rewrite(event_.context, target, action.text);
    outcome().rewrites.push_back({by(from), action});
    return AnswerEffect::kApplied;
  }

  const Subscription* notices_by_ = nullptr;  // the hook whose notices were kept last
  std::size_t notices_ = 0;                   // the number of its notices
  const Snapshot& snapshot_;
  const Dispatch& event_;
  std::unique_ptr<Outcome>& outcome_;
};

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
                    answer.failure, answer.actions, effect, answer.note, answer.children, answer.refused});
  }
  return !merger.blocked();
}

// A text that is invalid where the hook puts it is the hook's failure, whatever else it answered.
void admit_rewrites(const Dispatch& event, const Subscription& from, HookAnswer& answer) {
  if (event.admit == nullptr || answer.status < 0 || observes(from)) return;
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
      slot.fail(call.token, AGENTD_E_DEADLINE, "no time was left to call it");
      return AGENTD_E_DEADLINE;
    }
    if (event.refusal == nullptr) return entry.fn(entry.self, &call);
    const std::string why = event.refusal(event.context, hook);
    if (why.empty()) return entry.fn(entry.self, &call);
    refused = true;
    if (hook.on_failure == FailurePolicy::kOpen || observes(hook)) {
      slot.skip(call.token, why);
      return AGENTD_OK;
    }
    slot.fail(call.token, AGENTD_E_TOO_BIG, why);
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
  if (from.on_failure != FailurePolicy::kClosed || observes(from)) return true;
  HookAnswer answer;
  answer.status = AGENTD_E_DEADLINE;
  answer.failure = "an earlier call never ended: it is disabled until agentd restarts";
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
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next.fetch_add(1); i < waiting.size(); i = next.fetch_add(1))
        if (std::string why = thrown_by([&] { call_apart(waiting[i]); }); !why.empty())
          answers_[waiting[i]] = failed_with(std::move(why));
    };
    std::vector<Thread> threads;
    try {
      while (threads.size() < std::min(waiting.size(), kThreadsMax)) threads.emplace_back(work);
    } catch (const std::system_error&) {
      // No more threads can be made: the existing ones and this one do the work.
    }
    for (const std::size_t i : others) answers_[i] = call(slot_, entries_[i]);
    work();
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

// Prepares the slot, and the part of its record that all calls of the event share.
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
    } else if ((entry.wants & Snapshot::kWaits) != 0 && observes(snapshot.subscription(entry)) &&
               run_together(snapshot, slot, event, entries, trace, outcome)) {
      called = entries.size();
    } else if (const Entries group = group_of(snapshot, entries); group.size() > 1) {
      open = HookGroup(snapshot, slot, event, group).run_gates(trace, outcome);
      called = group.size();
    } else {
      open = call_one(snapshot, slot, event, entry, trace, outcome);
    }
    entries = entries.subspan(called);
    if (!open) entries = observers_of(entries);
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
  call_in_time(snapshot, slot, event, (open ? rest : observers_of(rest)).data(), nullptr, outcome);
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
