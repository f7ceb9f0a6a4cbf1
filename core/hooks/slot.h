// SPDX-License-Identifier: Apache-2.0
#pragma once
// slot.h - one running call: its token, deadline, emitted actions and scratch memory.
//
// A thread that dispatches events owns one slot and reuses it. Each call of each hook opens the slot under a new
// generation, so a token that is kept too long is stale. The owner touches only a few words unless a hook emits, asks
// for memory or stays pending.
//
// A call that neither returns nor completes by its deadline is notified by its cancel word. A call that returned
// PENDING then gets a grace, and is given up afterwards: a thread of its plugin may still read the call's scratch
// memory, call record and cancel word, so all are leaked and the slot continues with new ones.
//
// Threading: open(), close() and the accessors without a lock belong to the owner; functions for other threads (emit,
// complete, arena) take the mutex; about_to_expire() and expire() belong to the watchdog.

#include <agentd/hook_abi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/conversation/rows.h"
#include "core/hooks/action.h"
#include "core/hooks/failure_text.h"

namespace agentd {

struct Dispatch;

class CallSlot {
 public:
  static constexpr std::uint32_t kIndexBits = 24;
  static constexpr std::uint64_t kGenerationMask = (1ull << 40) - 1;

  // The time that a cancelled call has to end before its memory is leaked.
  static constexpr std::chrono::milliseconds kGrace{500};

  // `index` is the slot's index in the table of tokens.
  explicit CallSlot(std::uint32_t index, std::uint64_t first_generation = 0)
      : token_((first_generation & kGenerationMask) << kIndexBits | index) {}
  CallSlot(const CallSlot&) = delete;
  CallSlot& operator=(const CallSlot&) = delete;

  // ---- owner

  // Sets event and conversation for the calls until the next announce(). They are kept apart from `dispatch`, so that
  // another thread with a stale token reads nothing that has ended.
  void announce(std::uint32_t event, agentd_conv conversation) {
    event_.store(event, std::memory_order_relaxed);
    conversation_.store(conversation, std::memory_order_relaxed);
  }
  // Starts a call and returns its token. `dispatch` outlives the call; null for control calls.
  agentd_token open(const Dispatch* dispatch) {
    dispatch_ = dispatch;
    return open_after(last_token());
  }
  // open() for the calls of one dispatch, which pass the previous call's token on: rereading the slot would make each
  // call wait for the one before.
  agentd_token last_token() const { return token_.load(std::memory_order_relaxed); }
  agentd_token open_after(agentd_token last) {
    const agentd_token next = last + (1ull << kIndexBits);  // wraps as the generation does
    token_.store(next, std::memory_order_release);
    return next;
  }
  void close_after(agentd_token last) {
    dispatch_ = nullptr;
    open_after(last);
  }
  // The record of the slot's calls; its size and `live` are set. Another one after a call was given up.
  agentd_call& record() { return seen_->call; }
  // Sets the deadline of the following calls; UINT64_MAX = none.
  void set_deadline(std::uint64_t deadline_ns) {
    std::atomic_ref(seen_->live.deadline_ns).store(deadline_ns, std::memory_order_relaxed);
  }
  std::uint64_t deadline_ns() const { return std::atomic_ref(seen_->live.deadline_ns).load(std::memory_order_relaxed); }
  // Ends the call: its token is stale from now on.
  void close() { close_after(last_token()); }
  // True if a hook emitted, failed with a text or used memory since clean().
  bool touched() const { return touched_.load(std::memory_order_relaxed); }
  // Discards the answers and memory of the calls so far.
  void clean();
  // The answers of the calls since clean(); taking them empties the slot.
  struct Answer {
    std::vector<Action> actions;
    FailureText failure;
    std::string note, log;
    bool skipped = false;
    std::uint32_t children = 0;
  };
  Answer take_answer();
  // Waits for complete(); AGENTD_E_DEADLINE or AGENTD_E_CANCELLED if it does not come in time. A cancel word that is
  // set without a signal is noticed within kSlice.
  agentd_status wait_completed(const Clock& clock);
  static constexpr std::chrono::milliseconds kSlice{10};
  // Ends the call, whatever its threads still do. True if the watchdog had set its cancel word, which is then cleared.
  // `clock` is that of the deadlines.
  bool end_call(const Clock& clock);
  // True if the last wait_completed() gave the call up: the plugin still works on it.
  bool gave_up() const { return gave_up_; }

  // A different record after a call was given up.
  agentd_live& live() { return seen_->live; }
  // Used within the call; null for a scope, and outside of calls.
  const Dispatch* dispatch() const { return dispatch_; }
  std::uint32_t event() const { return event_.load(std::memory_order_relaxed); }  // 0 = a scope
  agentd_conv conversation() const { return conversation_.load(std::memory_order_relaxed); }
  std::uint32_t index() const { return static_cast<std::uint32_t>(last_token() & ((1u << kIndexBits) - 1)); }
  std::uint64_t generation() const { return token_.load(std::memory_order_acquire) >> kIndexBits; }

  // ---- the watchdog

  // The running call, if its deadline is before `soon_ns`; its owner then takes the slow path when it returns. nullopt
  // = no call runs, or it has time.
  std::optional<std::uint64_t> about_to_expire(std::uint64_t soon_ns);
  // Sets the cancel word if that call still runs and its deadline has passed.
  void expire(std::uint64_t call, std::uint64_t now_ns);

  // ---- any thread, while the token is current; false or null when it is stale

  bool emit(agentd_token token, Action action);
  bool fail(agentd_token token, agentd_status status, FailureText why);
  bool complete(agentd_token token, agentd_status status);
  // Records why a hook was not called, or a warning: only for traces. One sentence; several are joined.
  bool note(agentd_token token, std::string_view text);
  // Holds a line for the log, which quotes the hook, back until the event is over, since hooks may remove what it
  // repeats. False = the event has no such text, or the token is stale: the line can be written at once.
  bool log_later(agentd_token token, std::string_view line);
  // For the host's own kinds of hooks, which then return AGENTD_OK: records that the hook was not called, and why.
  bool skip(agentd_token token, std::string_view why);
  // Counts processes that outlived the call's program and were killed.
  bool count_children(agentd_token token, std::uint32_t children);
  void* allocate(agentd_token token, std::size_t bytes, std::size_t align);
  // Mark the time in which the host itself works for the call; several may overlap. The deadline is suspended while at
  // least one is open: it reads as none, and is as far away as before afterwards. A deadline that has passed is not
  // moved.
  void begin_host_time(agentd_token token, std::uint64_t now_ns);
  void end_host_time(agentd_token token, std::uint64_t now_ns);
  // Copies into the call's memory; an empty text is returned as is.
  agentd_str copy(agentd_token token, std::string_view text);
  bool is_current(agentd_token token) const { return token == token_.load(std::memory_order_acquire); }

  // The token bound by a CancelBinding.
  CancelToken cancel_token() {
    const MutexLock lock(mutex_);
    return cancel_.value_or(CancelToken());
  }
  // For host services that wait on behalf of the call: the token of a ServiceBinding, or else the same.
  CancelToken service_cancel() {
    const MutexLock lock(mutex_);
    return service_cancel_ ? *service_cancel_ : cancel_.value_or(CancelToken());
  }

  // The payload of the running call as JSON (payload_json.h), with or without the history; for a tool's or
  // a service's call its input. Made on first use and kept for the calls of the same dispatch until a rewrite changes
  // it. Null outside a dispatch.
  std::shared_ptr<const std::string> payload_text(bool messages);
  void forget_payload_text();
  // Shares the text that another slot of the same dispatch has made.
  void share_payload_text(CallSlot& from);

 private:
  friend class CancelBinding;
  friend class ServiceBinding;
  bool is_open(agentd_token token) const REQUIRES(mutex_) {
    return is_current(token) && done_generation_ != token >> kIndexBits;
  }
  // A completion that an earlier call of this slot got without having been pending is not this one's.
  bool is_done() const REQUIRES(mutex_) { return done_generation_ == generation(); }
  void give_up(std::uint32_t reason) REQUIRES(mutex_);
  void forget_deadline() REQUIRES(mutex_);
  void let_deadline_go_on(std::uint64_t now_ns) REQUIRES(mutex_);
  void bind(std::optional<CancelToken> cancel) {
    const MutexLock lock(mutex_);
    cancel_ = std::move(cancel);
  }
  void bind_services(std::optional<CancelToken> cancel) {
    const MutexLock lock(mutex_);
    service_cancel_ = std::move(cancel);
  }

  // The memory of a call that its plugin reads, in addition to its scratch memory.
  struct Seen {
    agentd_live live{0, 0, UINT64_MAX};
    agentd_call call{sizeof(agentd_call), 0, 0, 0, &live, nullptr, nullptr, nullptr, nullptr};
  };

  std::atomic<agentd_token> token_;
  std::atomic<bool> touched_{false};
  std::atomic<std::uint32_t> event_{0};
  std::atomic<agentd_conv> conversation_{0};
  const Dispatch* dispatch_ = nullptr;
  std::unique_ptr<Seen> seen_ = std::make_unique<Seen>();
  bool gave_up_ = false;

  Mutex mutex_;
  Condition completed_;
  std::vector<Action> actions_ GUARDED_BY(mutex_);
  FailureText failure_ GUARDED_BY(mutex_);
  std::string note_ GUARDED_BY(mutex_), log_ GUARDED_BY(mutex_);
  bool skipped_ GUARDED_BY(mutex_) = false;
  std::uint32_t children_ GUARDED_BY(mutex_) = 0;
  // Shared by the slots of one dispatch and by hooks that still read it.
  std::shared_ptr<const std::string> text_ GUARDED_BY(mutex_), bare_text_ GUARDED_BY(mutex_);
  std::unique_ptr<Arena> arena_ GUARDED_BY(mutex_);
  std::optional<CancelToken> cancel_ GUARDED_BY(mutex_);
  std::optional<CancelToken> service_cancel_ GUARDED_BY(mutex_);
  std::uint64_t done_generation_ GUARDED_BY(mutex_) = UINT64_MAX;     // of the call that has ended or was completed
  std::uint64_t expired_generation_ GUARDED_BY(mutex_) = UINT64_MAX;  // of the call that was told to give up
  agentd_status done_status_ GUARDED_BY(mutex_) = 0;
  std::uint64_t host_generation_ GUARDED_BY(mutex_) = UINT64_MAX;  // of the call for which the host works
  std::uint32_t host_works_ GUARDED_BY(mutex_) = 0;                // how often at once
  std::optional<std::uint64_t> time_left_ns_ GUARDED_BY(mutex_);   // of a call whose deadline stands still
};

// Lends slots whose tokens plugins can use; implemented by bridge.
class SlotSource {
 public:
  virtual ~SlotSource() = default;
  virtual CallSlot* acquire() = 0;
  virtual void release(CallSlot* slot) = 0;
};

// Holds a slot during its lifetime.
class SlotLease {
 public:
  explicit SlotLease(SlotSource& source) : source_(&source), slot_(source.acquire()) {}
  SlotLease(SlotLease&& other) noexcept : source_(other.source_), slot_(std::exchange(other.slot_, nullptr)) {}
  SlotLease& operator=(SlotLease&&) = delete;
  ~SlotLease() {
    if (slot_ != nullptr) source_->release(slot_);
  }
  CallSlot& operator*() const { return *slot_; }
  CallSlot* operator->() const { return slot_; }

 private:
  SlotSource* source_;
  CallSlot* slot_;
};

// The slot's cancel word follows `cancel` during its lifetime.
class CancelBinding {
 public:
  CancelBinding(CallSlot& slot, CancelToken cancel) : slot_(slot), cancel_(std::move(cancel)) {
    cancel_.link(&slot.live().cancel);
    slot_.bind(cancel_);
  }
  ~CancelBinding() {
    slot_.bind(std::nullopt);
    cancel_.unlink(&slot_.live().cancel);
  }
  CancelBinding(const CancelBinding&) = delete;
  CancelBinding& operator=(const CancelBinding&) = delete;

 private:
  CallSlot& slot_;
  CancelToken cancel_;
};

// During its lifetime the services of the slot's call can be cancelled without cancelling the call.
class ServiceBinding {
 public:
  explicit ServiceBinding(CallSlot& slot) : slot_(slot), cancel_(slot.cancel_token().child()) {
    slot_.bind_services(cancel_);
  }
  ~ServiceBinding() { slot_.bind_services(std::nullopt); }
  ServiceBinding(const ServiceBinding&) = delete;
  ServiceBinding& operator=(const ServiceBinding&) = delete;
  const CancelToken& cancel() const { return cancel_; }

 private:
  CallSlot& slot_;
  const CancelToken cancel_;
};

}  // namespace agentd
