// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include <time.h>

#include <cstdio>

namespace agentd {

std::uint64_t SystemClock::monotonic_ns() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::int64_t SystemClock::wall_ms() const {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

std::string iso_time(std::int64_t wall_ms) {
  const std::int64_t millis = ((wall_ms % 1000) + 1000) % 1000;
  const time_t seconds = static_cast<time_t>((wall_ms - millis) / 1000);
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(millis));
  return text;
}

void ManualClock::advance(Milliseconds by) {
  monotonic_ns_ += static_cast<std::uint64_t>(by.count()) * 1'000'000u;
  wall_ms_ += by.count();
}

std::uint32_t CancelToken::reason() const {
  for (const State* state = state_.get(); state != nullptr; state = state->parent.get())
    if (const std::uint32_t reason = state->reason.load(std::memory_order_acquire)) return reason;
  return 0;
}

CancelToken CancelToken::child() const {
  CancelToken out;
  out.state_->parent = state_;
  return out;
}

void CancelToken::cancel(std::uint32_t reason) const {
  state_->reason.store(reason, std::memory_order_release);
  for (auto& link : state_->links)
    if (std::uint32_t* const word = link.load()) std::atomic_ref(*word).store(reason);
}

void CancelToken::link(std::uint32_t* word) const {
  for (State* state = state_.get(); state != nullptr; state = state->parent.get())
    for (auto& link : state->links) {
      std::uint32_t* expected = nullptr;
      if (link.compare_exchange_strong(expected, word)) break;
    }
  // After the link is in place, so that a cancel() at the same moment is not missed.
  std::atomic_ref(*word).store(reason());
}

void CancelToken::unlink(std::uint32_t* word) const {
  for (State* state = state_.get(); state != nullptr; state = state->parent.get())
    for (auto& link : state->links) {
      std::uint32_t* expected = word;
      if (link.compare_exchange_strong(expected, nullptr)) break;
    }
  std::atomic_ref(*word).store(0);
}

Deadline Deadline::after(const Clock& clock, Milliseconds time) {
  return {clock.monotonic_ns() + static_cast<std::uint64_t>(time.count()) * 1'000'000u};
}

Milliseconds Deadline::left(const Clock& clock) const {
  if (at_ns == kNever) return std::chrono::hours(24 * 365);
  const std::uint64_t now = clock.monotonic_ns();
  if (now >= at_ns) return Milliseconds(0);
  return Milliseconds(static_cast<std::int64_t>((at_ns - now + 999'999) / 1'000'000));
}

}  // namespace agentd
