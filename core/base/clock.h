// SPDX-License-Identifier: Apache-2.0
#pragma once
// clock.h - time, and waiting for it. The value that says "give up" comes along with it: who waits needs both.
//
// Time comes only from a Clock, so that tests and the simulator turn it by hand. Monotonic time
// measures deadlines; wall time is information for people, never order.
//
// Threading: Clock is thread-safe.

#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/cancel.h"
#include "core/base/futex.h"

namespace agentd {

using Milliseconds = std::chrono::milliseconds;

class Clock;

// An absolute point on Clock::monotonic_ns(); kNever = none.
struct Deadline {
  static constexpr std::uint64_t kNever = UINT64_MAX;
  std::uint64_t at_ns = kNever;

  static Deadline after(const Clock& clock, Milliseconds time);
  bool passed(const Clock& clock) const;
  // Time left, at least 0; a year when there is no deadline.
  Milliseconds left(const Clock& clock) const;
};

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since an arbitrary start; never goes back.
  virtual std::uint64_t monotonic_ns() const = 0;
  // Milliseconds since 1970, UTC.
  virtual std::int64_t wall_ms() const = 0;

  // Waiting, by the scheduler of the calling thread (scheduler.h). A clock whose time is not the scheduler's looks at
  // itself every few milliseconds, and lets nobody wait for longer than it would have taken in the scheduler's time.

  // False when `cancel` was set before the time was over, which is seen within 50 ms.
  virtual bool sleep(Milliseconds time, const CancelToken& cancel) const;
  // The whole time, which is short: for what nobody can wake anybody of.
  void pause(Milliseconds time) const;
  // Until one of the descriptors is ready; returns what poll(2) does, EINTR included.
  virtual int poll(std::span<pollfd> descriptors, Deadline deadline) const;
  int poll_for(std::span<pollfd> descriptors, Milliseconds at_most) const {
    return this->poll(descriptors, Deadline::after(*this, at_most));
  }
  // For Mutex and Condition: while the word is `seen`, or until it is woken, or for no reason. False when the deadline
  // has passed.
  virtual bool wait(const WaitWord& word, std::uint32_t seen, Deadline deadline) const;
};

// The machine's own clock.
class SystemClock : public Clock {
 public:
  std::uint64_t monotonic_ns() const override;
  std::int64_t wall_ms() const override;
  int poll(std::span<pollfd> descriptors, Deadline deadline) const override;
  bool wait(const WaitWord& word, std::uint32_t seen, Deadline deadline) const override;
};

// "2026-01-31T09:05:07.123Z" of milliseconds since 1970.
std::string iso_time(std::int64_t wall_ms);

// For tests: moves only when told.
class ManualClock : public Clock {
 public:
  std::uint64_t monotonic_ns() const override { return monotonic_ns_.load(); }
  std::int64_t wall_ms() const override { return wall_ms_.load(); }
  void advance(Milliseconds by);

 private:
  std::atomic<std::uint64_t> monotonic_ns_{1'000'000'000};
  std::atomic<std::int64_t> wall_ms_{1'700'000'000'000};
};

}  // namespace agentd
