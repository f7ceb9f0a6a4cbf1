// SPDX-License-Identifier: Apache-2.0
#pragma once
// clock.h - time. The value that says "give up" comes along with it: who waits needs both.
//
// Time comes only from a Clock, so that tests and the simulator turn it by hand. Monotonic time
// measures deadlines; wall time is information for people, never order.
//
// Threading: Clock is thread-safe.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "core/base/cancel.h"

namespace agentd {

using Milliseconds = std::chrono::milliseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since an arbitrary start; never goes back.
  virtual std::uint64_t monotonic_ns() const = 0;
  // Milliseconds since 1970, UTC.
  virtual std::int64_t wall_ms() const = 0;
};

// The machine's own clock.
class SystemClock final : public Clock {
 public:
  std::uint64_t monotonic_ns() const override;
  std::int64_t wall_ms() const override;
};

// "2026-01-31T09:05:07.123Z" of milliseconds since 1970.
std::string iso_time(std::int64_t wall_ms);

// For tests: moves only when told.
class ManualClock final : public Clock {
 public:
  std::uint64_t monotonic_ns() const override { return monotonic_ns_.load(); }
  std::int64_t wall_ms() const override { return wall_ms_.load(); }
  void advance(Milliseconds by);

 private:
  std::atomic<std::uint64_t> monotonic_ns_{1'000'000'000};
  std::atomic<std::int64_t> wall_ms_{1'700'000'000'000};
};

// An absolute point on Clock::monotonic_ns(); kNever = none.
struct Deadline {
  static constexpr std::uint64_t kNever = UINT64_MAX;
  std::uint64_t at_ns = kNever;

  static Deadline after(const Clock& clock, Milliseconds time);
  bool passed(const Clock& clock) const { return at_ns != kNever && clock.monotonic_ns() >= at_ns; }
  // Time left, at least 0; a year when there is no deadline.
  Milliseconds left(const Clock& clock) const;
};

}  // namespace agentd
