// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/slot.h"

#include <agentd/ext/draft/provide.h>

#include <utility>

#include "core/base/for_ever.h"
#include "core/hooks/dispatch.h"
#include "core/hooks/event.h"
#include "core/hooks/payload_json.h"

namespace agentd {

constexpr std::uint64_t kSliceNs = std::chrono::nanoseconds(CallSlot::kSlice).count();

void CallSlot::clean() {
  const MutexLock lock(mutex_);
  actions_.clear();
  failure_ = {};
  arena_.reset();
  note_.clear();
  log_.clear();
  skipped_ = false;
  children_ = 0;
  done_generation_ = UINT64_MAX;
  text_.reset();
  bare_text_.reset();
  forget_deadline();
  touched_.store(false, std::memory_order_relaxed);
}

CallSlot::Answer CallSlot::take_answer() {
  const MutexLock lock(mutex_);
  Answer out{std::exchange(actions_, {}), std::exchange(failure_, {}),    std::exchange(note_, {}),
             std::exchange(log_, {}),     std::exchange(skipped_, false), std::exchange(children_, 0)};
  // Drops actions that another thread emitted under an older token.
  const std::uint64_t now = generation();
  std::erase_if(out.actions, [&](const Action& action) { return action.generation != now; });
  return out;
}

agentd_status CallSlot::wait_completed(const Clock& clock) {
  const MutexLock lock(mutex_);
  touched_.store(true, std::memory_order_relaxed);
  gave_up_ = false;
  std::atomic_ref cancel(live().cancel);
  std::uint32_t reason = 0;
  std::uint64_t now_ns = clock.monotonic_ns();
  while (!is_done() && reason == 0) {
    // A clock that stands still does not keep a slice from being over.
    if (!completed_.wait_for(mutex_, clock, kSlice)) now_ns += kSliceNs;
    now_ns = std::max(now_ns, clock.monotonic_ns());
    reason = cancel.load();
    if (reason != 0 || now_ns < std::atomic_ref(live().deadline_ns).load()) continue;
    if (!cancel.compare_exchange_strong(reason, AGENTD_CANCEL_DEADLINE)) continue;
    reason = AGENTD_CANCEL_DEADLINE;
    expired_generation_ = generation();
  }
  if (is_done()) return done_status_;
  // The call was cancelled: an answer within the grace still counts, but not a claim that it gave up.
  const Deadline grace = Deadline::after(clock, kGrace);
  while (!is_done() && completed_.wait_until(mutex_, clock, grace)) continue;
  const agentd_status late = reason == AGENTD_CANCEL_DEADLINE ? AGENTD_E_DEADLINE : AGENTD_E_CANCELLED;
  if (is_done()) return done_status_ == AGENTD_E_CANCELLED ? late : done_status_;
  give_up(reason);
  return late;
}

// Memory that the plugin's thread may still read is leaked.
void CallSlot::give_up(std::uint32_t reason) {
  gave_up_ = true;
  done_generation_ = generation();
  keep_for_ever(std::shared_ptr<Arena>(std::move(arena_)));
  keep_for_ever(text_);
  keep_for_ever(bare_text_);
  const std::shared_ptr<Seen> old = std::move(seen_);
  keep_for_ever(old);
  seen_ = std::make_unique<Seen>();
  set_deadline(std::atomic_ref(old->live.deadline_ns).load());
  if (cancel_) {
    cancel_->unlink(&old->live.cancel);
    cancel_->link(&live().cancel);
  }
  std::atomic_ref(old->live.cancel).store(reason);
}

bool CallSlot::end_call(const Clock& clock) {
  const MutexLock lock(mutex_);
  done_generation_ = generation();
  // A thread of the plugin may still be in a service, but no longer on behalf of the call.
  host_works_ = 0;
  if (time_left_ns_) let_deadline_go_on(clock.monotonic_ns());
  const bool told = expired_generation_ == done_generation_;
  forget_deadline();
  return told;
}

// Clears the cancel word for the next call.
void CallSlot::forget_deadline() {
  if (expired_generation_ == UINT64_MAX) return;
  expired_generation_ = UINT64_MAX;
  std::uint32_t told = AGENTD_CANCEL_DEADLINE;
  std::atomic_ref(live().cancel).compare_exchange_strong(told, 0);
}

std::optional<std::uint64_t> CallSlot::about_to_expire(std::uint64_t soon_ns) {
  const MutexLock lock(mutex_);
  const std::uint64_t call = generation();
  if (std::atomic_ref(live().deadline_ns).load(std::memory_order_relaxed) > soon_ns) return std::nullopt;
  if (done_generation_ == call) return std::nullopt;
  touched_.store(true, std::memory_order_relaxed);
  return call;
}

void CallSlot::expire(std::uint64_t call, std::uint64_t now_ns) {
  const MutexLock lock(mutex_);
  // The owner saw touched() when the call ended, and took this mutex in end_call().
  if (generation() != call || done_generation_ == call) return;
  if (std::atomic_ref(live().deadline_ns).load(std::memory_order_relaxed) > now_ns) return;
  std::uint32_t none = 0;
  if (std::atomic_ref(live().cancel).compare_exchange_strong(none, AGENTD_CANCEL_DEADLINE)) expired_generation_ = call;
}

bool CallSlot::emit(agentd_token token, Action action) {
  const MutexLock lock(mutex_);
  if (!is_open(token)) return false;
  action.generation = token >> kIndexBits;
  actions_.push_back(std::move(action));
  touched_.store(true, std::memory_order_relaxed);
  return true;
}

bool CallSlot::fail(agentd_token token, agentd_status, FailureText why) {
  const MutexLock lock(mutex_);
  if (!is_open(token)) return false;
  failure_ = std::move(why);
  touched_.store(true, std::memory_order_relaxed);
  return true;
}

bool CallSlot::note(agentd_token token, std::string_view text) {
  const MutexLock lock(mutex_);
  if (!is_open(token)) return false;
  if (!note_.empty()) note_ += "; ";
  note_ += text;
  touched_.store(true, std::memory_order_relaxed);
  return true;
}

bool CallSlot::log_later(agentd_token token, std::string_view line) {
  if (!has_removable_text(event())) return false;
  const MutexLock lock(mutex_);
  if (!is_open(token)) return false;
  if (!log_.empty()) log_ += "; ";
  log_ += line;
  touched_.store(true, std::memory_order_relaxed);
  return true;
}

bool CallSlot::skip(agentd_token token, std::string_view why) {
  if (!note(token, why)) return false;
  const MutexLock lock(mutex_);
  return skipped_ = true;
}

bool CallSlot::count_children(agentd_token token, std::uint32_t children) {
  const MutexLock lock(mutex_);
  if (!is_open(token)) return false;
  children_ += children;
  touched_.store(true, std::memory_order_relaxed);
  return true;
}

std::shared_ptr<const std::string> CallSlot::payload_text(bool messages) {
  const Dispatch* const about = dispatch_;
  if (about == nullptr) return nullptr;
  const bool bare = !messages && about->payload_bare != nullptr;
  {
    const MutexLock lock(mutex_);
    if (const auto& made = bare ? bare_text_ : text_) return made;
  }
  const void* const payload = bare ? about->payload_bare : about->payload;
  auto text = std::make_shared<const std::string>(
      about->event == AGENTD_EVENT_TOOL_INVOKE
          ? std::string(view_of(static_cast<const agentd_tool_call*>(payload)->input_json))
      : about->event == AGENTD_EVENT_SERVICE_CALL
          ? std::string(view_of(static_cast<const agentd_service_call*>(payload)->input_json))
          : payload_json(about->event, about->envelope, payload));
  const MutexLock lock(mutex_);
  touched_.store(true, std::memory_order_relaxed);
  return (bare ? bare_text_ : text_) = std::move(text);
}

void CallSlot::forget_payload_text() {
  const MutexLock lock(mutex_);
  text_.reset();
  bare_text_.reset();
}

void CallSlot::share_payload_text(CallSlot& from) {
  std::shared_ptr<const std::string> text, bare;
  {
    const MutexLock lock(from.mutex_);
    text = from.text_;
    bare = from.bare_text_;
  }
  const MutexLock lock(mutex_);
  text_ = std::move(text);
  bare_text_ = std::move(bare);
}

bool CallSlot::complete(agentd_token token, agentd_status status) {
  const MutexLock lock(mutex_);
  if (!is_open(token)) return false;
  done_generation_ = token >> kIndexBits;
  done_status_ = status;
  touched_.store(true, std::memory_order_relaxed);
  // Under the lock: a waiter may notice the completion itself, and the slot may be destroyed soon after.
  completed_.notify_one();
  return true;
}

void* CallSlot::allocate(agentd_token token, std::size_t bytes, std::size_t align) {
  const MutexLock lock(mutex_);
  if (!is_open(token)) return nullptr;
  if (!arena_) arena_ = std::make_unique<Arena>();
  touched_.store(true, std::memory_order_relaxed);
  return arena_->allocate(bytes, align);
}

void CallSlot::begin_host_time(agentd_token token, std::uint64_t now_ns) {
  const MutexLock lock(mutex_);
  if (!is_open(token)) return;
  // The end of a session is limited by the clock: no deadline is extended.
  if (dispatch_ != nullptr && dispatch_->event == AGENTD_EVENT_SESSION_END) return;
  if (host_generation_ != token >> kIndexBits) {
    host_works_ = 0;
    time_left_ns_.reset();
  }
  host_generation_ = token >> kIndexBits;
  if (host_works_++ != 0) return;
  touched_.store(true, std::memory_order_relaxed);  // makes the owner take the path that resumes the deadline
  std::atomic_ref deadline(live().deadline_ns);
  const std::uint64_t at = deadline.load();
  if (at == UINT64_MAX || at <= now_ns) return;
  time_left_ns_ = at - now_ns;
  deadline.store(UINT64_MAX);
}

void CallSlot::end_host_time(agentd_token token, std::uint64_t now_ns) {
  const MutexLock lock(mutex_);
  // Work that began under an older token, or after the end of the call, was not counted.
  if (!is_open(token) || host_generation_ != token >> kIndexBits || host_works_ == 0) return;
  if (--host_works_ == 0) let_deadline_go_on(now_ns);
}

void CallSlot::let_deadline_go_on(std::uint64_t now_ns) {
  if (!time_left_ns_) return;
  std::atomic_ref(live().deadline_ns).store(now_ns + *time_left_ns_);
  time_left_ns_.reset();
}

agentd_str CallSlot::copy(agentd_token token, std::string_view text) {
  if (text.empty()) return {"", 0};
  auto* const to = static_cast<char*>(allocate(token, text.size(), 1));
  if (to == nullptr) return {nullptr, 0};
  std::copy(text.begin(), text.end(), to);
  return {to, text.size()};
}

}  // namespace agentd
