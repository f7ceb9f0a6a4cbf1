// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include <time.h>

#include <cstdio>

namespace agentd {

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

Milliseconds Deadline::left(const Clock& clock) const {
  if (at_ns == kNever) return std::chrono::hours(24 * 365);
  const std::uint64_t now = clock.monotonic_ns();
  if (now >= at_ns) return Milliseconds(0);
  return Milliseconds(static_cast<std::int64_t>((at_ns - now + 999'999) / 1'000'000));
}

}  // namespace agentd
