// SPDX-License-Identifier: Apache-2.0
#pragma once
// slot.h - the place of one running call: its token, its deadline, what it emitted, its scratch memory.
//
// A thread of execution that dispatches events owns one slot and reuses it. Each call of each hook opens
// the slot under a new generation, so that a token kept for too long names nothing. The owner touches
// nothing but a few words unless a hook emits, asks for memory or stays pending.
//
// A call that neither returns nor completes at its deadline is told so by its cancel word. One that returned
// PENDING gets a grace after that and is then given up: a thread of its plugin may still read the call's
// scratch memory and its cancel word, so both are leaked and the slot goes on with new ones.
//
// Threading: open(), close() and the accessors without a lock belong to the owner; what other threads
// may do (emit, complete, arena) takes the mutex; about_to_expire() and expire() belong to the watchdog.

#include <agentd/hook_abi.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/conversation/rows.h"
#include "core/hooks/action.h"

namespace agentd {

struct Dispatch;

class CallSlot {
 public:
  static constexpr std::uint32_t kIndexBits = 24;
  static constexpr std::uint64_t kGenerationMask = (1ull << 40) - 1;

  // How long a call that was told to give up may take to end before its memory is leaked.
  static constexpr std::chrono::milliseconds kGrace{500};

  // `index` is the slot's place in the table of tokens.
  explicit CallSlot(std::uint32_t index, std::uint64_t first_generation = 0)
      : index_(index), generation_(first_generation & kGenerationMask) {}
  CallSlot(const CallSlot&) = delete;
  CallSlot& operator=(const CallSlot&) = delete;

  // ---- owner

  // What the calls until the next announce() are about. Kept beside `dispatch`, so that who holds a stale
  // token on another thread reads nothing that has ended.
  void announce(std::uint32_t event, agentd_conv conversation) {
    event_.store(event, std::memory_order_relaxed);
    conversation_.store(conversation, std::memory_order_relaxed);
  }
  // Starts a call and returns its token. `dispatch` outlives the call; null for control calls.
  agentd_token open(const Dispatch* dispatch) {
    const std::uint64_t next = (generation_.load(std::memory_order_relaxed) + 1) & kGenerationMask;
    dispatch_ = dispatch;
    generation_.store(next, std::memory_order_release);
    return next << kIndexBits | index_;
  }
  // open() and close() for the calls of one dispatch, which hands on the token of the call before: reading the slot
  // again would make each call wait for the one before it.
  agentd_token last_token() const { return generation_.load(std::memory_order_relaxed) << kIndexBits | index_; }
  agentd_token open_after(agentd_token last, const Dispatch* dispatch) {
    const agentd_token next = last + (1ull << kIndexBits);  // wraps as kGenerationMask does
    dispatch_ = dispatch;
    generation_.store(next >> kIndexBits, std::memory_order_release);
    return next;
  }
  void close_after(agentd_token last) {
    dispatch_ = nullptr;
    generation_.store((last + (1ull << kIndexBits)) >> kIndexBits, std::memory_order_release);
  }
  // Of the calls until the next time; UINT64_MAX = none.
  void set_deadline(std::uint64_t deadline_ns) {
    std::atomic_ref(live_->deadline_ns).store(deadline_ns, std::memory_order_relaxed);
  }
  std::uint64_t deadline_ns() const { return std::atomic_ref(live_->deadline_ns).load(std::memory_order_relaxed); }
  // Ends the call: its token is stale from here on.
  void close() {
    dispatch_ = nullptr;
    generation_.store((generation_.load(std::memory_order_relaxed) + 1) & kGenerationMask, std::memory_order_release);
  }
  // True when a hook emitted, failed with a text or used memory since clean().
  bool touched() const { return touched_.load(std::memory_order_relaxed); }
  // Forgets answers and memory of the calls so far.
  void clean();
  // What the calls since clean() left behind; afterwards the slot has none of it.
  struct Answer {
    std::vector<Action> actions;
    std::string failure, note;
    bool skipped = false;
    std::uint32_t children = 0;
  };
  Answer take_answer();
  // Waits for complete(); AGENTD_E_DEADLINE or AGENTD_E_CANCELLED when it does not come in time. A cancel word
  // that nobody signals is seen within kSlice.
  agentd_status wait_completed(std::uint64_t now_ns);
  static constexpr std::chrono::milliseconds kSlice{10};
  // The call is over, whatever its threads still say. True when the watchdog has told it that its deadline had
  // passed; the cancel word is free again. `clock` is that of the deadlines.
  bool end_call(const Clock& clock);
  // True when the last wait_completed() gave the call up: the plugin still works on it.
  bool gave_up() const { return gave_up_; }

  // Another record after a call that was given up.
  agentd_live& live() { return *live_; }
  // For who is inside the call; null for a scope, and outside of every call.
  const Dispatch* dispatch() const { return dispatch_; }
  std::uint32_t event() const { return event_.load(std::memory_order_relaxed); }  // 0 = a scope
  agentd_conv conversation() const { return conversation_.load(std::memory_order_relaxed); }
  std::uint32_t index() const { return index_; }
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // ---- the watchdog

  // The running call, if its deadline passes before `soon_ns`; its owner then takes the slow way when it
  // returns. nullopt = no call runs, or it has time.
  std::optional<std::uint64_t> about_to_expire(std::uint64_t soon_ns);
  // Sets the cancel word if that call still runs and its deadline has passed.
  void expire(std::uint64_t call, std::uint64_t now_ns);

  // ---- any thread, while the token is current; false or null when it is stale

  bool emit(agentd_token token, Action action);
  bool fail(agentd_token token, agentd_status status, std::string text);
  bool complete(agentd_token token, agentd_status status);
  // Why a hook was not asked, or what it was warned of: for traces, without effect. One sentence; several
  // are joined.
  bool note(agentd_token token, std::string_view text);
  // For hooks of the host's own kinds, which then return AGENTD_OK: it was not asked at all, and why.
  bool skip(agentd_token token, std::string_view why);
  // Processes that outlived the call's program, and were ended.
  bool count_children(agentd_token token, std::uint32_t children);
  void* allocate(agentd_token token, std::size_t bytes, std::size_t align);
  // The host itself works for the call from one to the other; several may do so at once. The deadline stands still
  // while at least one does: it reads as none, and afterwards is as far away as it was. One that has passed already
  // is not moved.
  void begin_host_time(agentd_token token, std::uint64_t now_ns);
  void end_host_time(agentd_token token, std::uint64_t now_ns);
  // Copies into the call's memory; the same text when it is empty.
  agentd_str copy(agentd_token token, std::string_view text);
  bool is_current(agentd_token token) const {
    return (token >> kIndexBits) == generation() && (token & ((1u << kIndexBits) - 1)) == index_;
  }

  // The token that a CancelBinding bound.
  CancelToken cancel_token() {
    const std::lock_guard lock(mutex_);
    return cancel_.value_or(CancelToken());
  }
  // For host services that wait on behalf of the call: that of a ServiceBinding, else the same.
  CancelToken service_cancel() {
    const std::lock_guard lock(mutex_);
    return service_cancel_ ? *service_cancel_ : cancel_.value_or(CancelToken());
  }

  // The payload of the running call as JSON (payload_json.h), with or without the history; the input of a tool's
  // call. Made by the first
  // who asks and kept for the calls of the same dispatch until a rewrite changes it. Null outside a dispatch.
  std::shared_ptr<const std::string> payload_text(bool messages);
  void forget_payload_text();
  // Takes over what another slot of the same dispatch has made.
  void share_payload_text(CallSlot& from);

 private:
  friend class CancelBinding;
  friend class ServiceBinding;
  bool is_open(agentd_token token) const { return is_current(token) && done_generation_ != token >> kIndexBits; }
  void give_up(std::uint32_t reason);
  void forget_deadline();
  void let_deadline_go_on(std::uint64_t now_ns);
  void bind(std::optional<CancelToken> cancel) {
    const std::lock_guard lock(mutex_);
    cancel_ = std::move(cancel);
  }
  void bind_services(std::optional<CancelToken> cancel) {
    const std::lock_guard lock(mutex_);
    service_cancel_ = std::move(cancel);
  }

  const std::uint32_t index_;
  std::atomic<std::uint64_t> generation_;
  std::atomic<bool> touched_{false};
  std::atomic<std::uint32_t> event_{0};
  std::atomic<agentd_conv> conversation_{0};
  const Dispatch* dispatch_ = nullptr;
  std::unique_ptr<agentd_live> live_ = std::make_unique<agentd_live>(agentd_live{0, 0, UINT64_MAX});
  bool gave_up_ = false;

  std::mutex mutex_;
  std::condition_variable completed_;
  std::vector<Action> actions_;  // guarded by mutex_
  std::string failure_;          // guarded by mutex_
  std::string note_;             // guarded by mutex_
  bool skipped_ = false;         // guarded by mutex_
  std::uint32_t children_ = 0;   // guarded by mutex_
  // Shared by the slots of one dispatch and by hooks that still read it; guarded by mutex_.
  std::shared_ptr<const std::string> text_, bare_text_;
  std::unique_ptr<Arena> arena_;                   // guarded by mutex_
  std::optional<CancelToken> cancel_;              // guarded by mutex_
  std::optional<CancelToken> service_cancel_;      // guarded by mutex_
  std::uint64_t done_generation_ = UINT64_MAX;     // of the call that has ended or was completed; guarded by mutex_
  std::uint64_t expired_generation_ = UINT64_MAX;  // of the call that was told to give up; guarded by mutex_
  agentd_status done_status_ = 0;                  // guarded by mutex_
  std::uint64_t host_generation_ = UINT64_MAX;     // of the call for which the host works; guarded by mutex_
  std::uint32_t host_works_ = 0;                   // how often at once; guarded by mutex_
  std::optional<std::uint64_t> time_left_ns_;      // of a call whose deadline stands still; guarded by mutex_
};

// Lends slots whose tokens plugins can use; implemented by bridge.
class SlotSource {
 public:
  virtual ~SlotSource() = default;
  virtual CallSlot* acquire() = 0;
  virtual void release(CallSlot* slot) = 0;
};

// A slot for as long as this lives.
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

// The slot's cancel word follows `cancel` while this lives.
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

// What services do for the slot's call can be ended while this lives, and the call goes on.
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
