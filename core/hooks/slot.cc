// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/slot.h"

#include <chrono>
#include <utility>

#include "core/hooks/dispatcher.h"
#include "core/hooks/payload_json.h"

namespace agentd {

void CallSlot::clean() {
  const std::lock_guard lock(mutex_);
  actions_.clear();
  failure_.clear();
  arena_.reset();
  note_.clear();
  done_generation_ = UINT64_MAX;
  text_.reset();
  bare_text_.reset();
  touched_.store(false, std::memory_order_relaxed);
}

std::vector<Action> CallSlot::take_actions() {
  const std::lock_guard lock(mutex_);
  std::vector<Action> mine = std::exchange(actions_, {});
  // An action that another thread pushed under an older token belongs to nobody.
  const std::uint64_t now = generation();
  std::erase_if(mine, [&](const Action& action) { return action.generation != now; });
  return mine;
}

std::string CallSlot::take_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, {});
}

std::string CallSlot::take_note() {
  const std::lock_guard lock(mutex_);
  return std::exchange(note_, {});
}

agentd_status CallSlot::wait_completed(std::uint64_t now_ns) {
  std::unique_lock lock(mutex_);
  touched_.store(true, std::memory_order_relaxed);
  // Woken often enough to see a cancel word that nobody signals.
  constexpr auto kSlice = std::chrono::milliseconds(20);
  const auto start = std::chrono::steady_clock::now();
  // A completion that an earlier call of this slot got without having been pending is not this one's.
  const auto done = [this] { return done_generation_ == generation(); };
  while (!done()) {
    completed_.wait_for(lock, kSlice);
    if (done()) break;
    if (std::atomic_ref(live_.cancel).load() != 0) return AGENTD_E_CANCELLED;
    const auto waited = std::chrono::steady_clock::now() - start;
    const auto now =
        now_ns + static_cast<std::uint64_t>(
                     std::chrono::duration_cast<std::chrono::nanoseconds>(waited).count());
    if (now >= std::atomic_ref(live_.deadline_ns).load()) return AGENTD_E_DEADLINE;
  }
  return done_status_;
}

bool CallSlot::emit(agentd_token token, Action action) {
  const std::lock_guard lock(mutex_);
  if (!is_current(token)) return false;
  action.generation = token >> kIndexBits;
  actions_.push_back(std::move(action));
  touched_.store(true, std::memory_order_relaxed);
  return true;
}

bool CallSlot::fail(agentd_token token, agentd_status, std::string text) {
  const std::lock_guard lock(mutex_);
  if (!is_current(token)) return false;
  failure_ = std::move(text);
  touched_.store(true, std::memory_order_relaxed);
  return true;
}

bool CallSlot::note(agentd_token token, std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!is_current(token)) return false;
  if (!note_.empty()) note_ += "; ";
  note_ += text;
  touched_.store(true, std::memory_order_relaxed);
  return true;
}

std::shared_ptr<const std::string> CallSlot::payload_text(bool messages) {
  const Dispatch* const about = dispatch_;
  if (about == nullptr) return nullptr;
  const bool bare = !messages && about->payload_bare != nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto& made = bare ? bare_text_ : text_) return made;
  }
  auto text = std::make_shared<const std::string>(
      payload_json(about->event, about->envelope, bare ? about->payload_bare : about->payload));
  const std::lock_guard lock(mutex_);
  touched_.store(true, std::memory_order_relaxed);
  return (bare ? bare_text_ : text_) = std::move(text);
}

void CallSlot::forget_payload_text() {
  const std::lock_guard lock(mutex_);
  text_.reset();
  bare_text_.reset();
}

void CallSlot::share_payload_text(CallSlot& from) {
  std::shared_ptr<const std::string> text, bare;
  {
    const std::lock_guard lock(from.mutex_);
    text = from.text_;
    bare = from.bare_text_;
  }
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
  bare_text_ = std::move(bare);
}

bool CallSlot::complete(agentd_token token, agentd_status status) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_current(token) || done_generation_ == token >> kIndexBits) return false;
    done_generation_ = token >> kIndexBits;
    done_status_ = status;
    touched_.store(true, std::memory_order_relaxed);
  }
  completed_.notify_one();
  return true;
}

void* CallSlot::allocate(agentd_token token, std::size_t bytes, std::size_t align) {
  const std::lock_guard lock(mutex_);
  if (!is_current(token)) return nullptr;
  if (!arena_) arena_ = std::make_unique<Arena>();
  touched_.store(true, std::memory_order_relaxed);
  return arena_->allocate(bytes, align);
}

agentd_str CallSlot::copy(agentd_token token, std::string_view text) {
  if (text.empty()) return {"", 0};
  auto* const to = static_cast<char*>(allocate(token, text.size(), 1));
  if (to == nullptr) return {nullptr, 0};
  std::copy(text.begin(), text.end(), to);
  return {to, text.size()};
}

}  // namespace agentd
