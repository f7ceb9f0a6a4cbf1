// SPDX-License-Identifier: Apache-2.0
#pragma once
// snapshot.h - subscriptions of hooks, and the immutable snapshot of those of one configuration. Order, gating and
// wrapping are decided when it is made.
//
// Threading: a snapshot is read on any thread; its serial hooks wait for each other inside of their calls.

#include <agentd/hook_abi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/hooks/event.h"

namespace agentd {

enum class Precedence : std::uint8_t { kSystem = 0, kProject = 1, kUser = 2, kRecipe = 3 };
enum class FailurePolicy : std::uint8_t { kOpen, kClosed };

// The values of Subscription::stopped. A stuck instance has a call that was given up and still runs on one of its
// threads: its hooks are skipped, and those that fail closed fail.
inline constexpr std::uint32_t kHookInUse = 0, kHookEnded = 1, kHookStuck = 2;

// A row flag of the host, in addition to AGENTD_HOOK_: an observer that receives refused calls at tool_call_failed. A
// module that targets ABI 1.0 does not, since 1.0 did not send them.
inline constexpr std::uint16_t kHearsDenials = 0x8000;
// The same for a module that targets ABI 1.0, of which no two tool calls of an answer overlap: the events of one come
// before those of the next.
inline constexpr std::uint16_t kSeesCallsApart = 0x4000;
// A flag of an entry alone: its hook fails closed.
inline constexpr std::uint16_t kFailsClosed = 0x2000;

// One subscription, for publish().
struct Subscription {
  std::uint32_t event = 0;
  std::uint16_t flags = 0;  // AGENTD_HOOK_, kHearsDenials
  std::int16_t priority = 0;
  std::uint64_t wants = 0;  // AGENTD_WANTS_
  Precedence precedence = Precedence::kUser;
  FailurePolicy on_failure = FailurePolicy::kOpen;
  std::uint32_t concurrency = AGENTD_SERIAL;
  std::string name;             // qualified: "auto_compact"
  std::string plugin;           // id
  std::string file{};           // the name by which hooks.NAME addresses all hooks of its file; empty = its own name
  std::string bytes_digest;     // hex; empty = unknown
  std::string config_digest{};  // hex, of hooks.NAME.config; empty = the hook has no configuration
  bool waits = false;           // it waits for something outside of this process: a program, a server
  bool shadow = false;          // shadow mode: its answer is traced and ignored
  bool keeps_text = false;      // none of its answers rewrites the event's text
  bool never_refuses = false;   // none refuses what the event announces
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

  bool observes() const { return (flags & AGENTD_HOOK_OBSERVES) != 0; }
  // True if the event's text is withheld when the hook fails. At an event that cannot be blocked, a hook that fails
  // closed guards the text.
  bool withholds() const;
  bool may_rewrite() const;
  // True if the event's text may be refused or changed by the hook.
  bool decides() const {
    return !observes() && !shadow && !(keeps_text && never_refuses && on_failure == FailurePolicy::kOpen);
  }
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
  // True if a hook of the event may refuse what it announces, or rewrite its text.
  bool decides(std::uint32_t event) const { return (deciding_mask_ & event_bit(event)) != 0; }
  std::span<const Entry> entries(std::uint32_t event) const { return {first(event), end(event)}; }
  // The event's first entry. An event without a subscriber has another event's, or none: REQUIRES wants().
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
  std::uint64_t mask_ = 0, redacted_mask_ = 0, deciding_mask_ = 0;
  std::vector<std::unique_ptr<Serial>> serials_;
  const Clock& clock_;
};

}  // namespace agentd
