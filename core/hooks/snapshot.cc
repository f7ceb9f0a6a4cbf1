// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/snapshot.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/hooks/slot.h"

namespace agentd {
namespace {

// The position of a name in hooks.order; "*" is the position of every name that is not listed.
std::size_t place(const std::vector<std::string>& order, const std::string& name) {
  const auto found = std::find(order.begin(), order.end(), name);
  if (found != order.end()) return static_cast<std::size_t>(found - order.begin());
  const auto star = std::find(order.begin(), order.end(), "*");
  return static_cast<std::size_t>(star - order.begin());
}

}  // namespace

bool Subscription::withholds() const {
  if (on_failure != FailurePolicy::kClosed || observes()) return false;
  const EventTraits* const traits = find_event(event);
  if (traits == nullptr || traits->text_target == 0) return false;
  return !traits->blocking || (flags & AGENTD_HOOK_REDACTS) != 0;
}

bool Subscription::may_rewrite() const {
  const EventTraits* const traits = find_event(event);
  return traits != nullptr && traits->text_target != 0 && !observes() && !keeps_text;
}

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
      return std::make_tuple(s.event, s.observes(), place(order, s.name), -s.priority, s.precedence,
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
              static_cast<std::uint16_t>(from.flags | (from.on_failure == FailurePolicy::kClosed ? kFailsClosed : 0)),
              static_cast<std::uint16_t>((from.wants & 0xff) | (from.timeout ? kOwnTime : 0) |
                                         (from.shadow ? kShadow : 0) | (from.waits ? kWaits : 0) |
                                         (from.waits && !from.together.empty() && !from.observes() ? kTogether : 0))};
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
  if (from.decides()) deciding_mask_ |= event_bit(from.event);
  if (!from.shadow && (from.withholds() || from.may_rewrite())) redacted_mask_ |= event_bit(from.event);
}

}  // namespace agentd
