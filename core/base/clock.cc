// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include <time.h>

#include <algorithm>
#include <cstdio>

#include "core/base/scheduler.h"

namespace agentd {
namespace {

constexpr Milliseconds kCancelSlice{50};              // how late a cancellation may be seen
constexpr std::uint64_t kForeignSliceNs = 5'000'000;  // how often a clock of its own time is looked at

// Calls `wait` with points of the machine's time until it returns true, or a deadline of a clock whose time is another
// has passed on the one or on the other.
template <typename Wait>
bool wait_in_slices(const Clock& clock, Deadline deadline, const Wait& wait) {
  if (deadline.at_ns == Deadline::kNever) return wait(Deadline::kNever);
  const SystemClock machine;
  const Deadline last = Deadline::after(machine, deadline.left(clock));
  for (;;) {
    if (wait(std::min(last.at_ns, machine.monotonic_ns() + kForeignSliceNs))) return true;
    if (deadline.passed(clock) || last.passed(machine)) return false;
  }
}

}  // namespace

bool Clock::sleep(Milliseconds time, const CancelToken& cancel) const {
  const Deadline end = Deadline::after(*this, time);
  const WaitWord nobody{0};  // wakes it
  for (Milliseconds left = time; left.count() > 0; left = std::min(left, end.left(*this))) {
    if (cancel.cancelled()) return false;
    const Milliseconds slice = std::min(left, kCancelSlice);
    if (!wait(nobody, 0, Deadline::after(*this, slice))) left -= slice;
  }
  return !cancel.cancelled();
}

void Clock::pause(Milliseconds time) const {
  const Deadline end = Deadline::after(*this, time);
  const WaitWord nobody{0};
  while (wait(nobody, 0, end)) continue;
}

int Clock::poll(std::span<pollfd> descriptors, Deadline deadline) const {
  int ready = 0;
  wait_in_slices(*this, deadline, [&](std::uint64_t until_ns) {
    return (ready = Scheduler::current().poll(descriptors, until_ns)) != 0;
  });
  return ready;
}

bool Clock::wait(const WaitWord& word, std::uint32_t seen, Deadline deadline) const {
  return wait_in_slices(*this, deadline, [&](std::uint64_t until_ns) {
    Scheduler::current().wait(word, seen, until_ns);
    return word.load(std::memory_order_relaxed) != seen || until_ns == Deadline::kNever;
  });
}

int SystemClock::poll(std::span<pollfd> descriptors, Deadline deadline) const {
  return Scheduler::current().poll(descriptors, deadline.at_ns);
}

bool SystemClock::wait(const WaitWord& word, std::uint32_t seen, Deadline deadline) const {
  Scheduler::current().wait(word, seen, deadline.at_ns);
  return word.load(std::memory_order_relaxed) != seen || !deadline.passed(*this);
}

std::uint64_t SystemClock::monotonic_ns() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
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

Deadline Deadline::after(const Clock& clock, Milliseconds time) {
  return {clock.monotonic_ns() + static_cast<std::uint64_t>(time.count()) * 1'000'000u};
}

bool Deadline::passed(const Clock& clock) const { return at_ns != kNever && clock.monotonic_ns() >= at_ns; }

Milliseconds Deadline::left(const Clock& clock) const {
  if (at_ns == kNever) return std::chrono::hours(24 * 365);
  const std::uint64_t now = clock.monotonic_ns();
  if (now >= at_ns) return Milliseconds(0);
  return Milliseconds(static_cast<std::int64_t>((at_ns - now + 999'999) / 1'000'000));
}

}  // namespace agentd
