// SPDX-License-Identifier: Apache-2.0
#pragma once
// clock.h - time, deadlines, and waiting for them. A wait also takes a CancelToken.
//
// All time comes from a Clock, so tests and a simulator can set it. Deadlines use monotonic time; wall time is shown to
// people and never orders anything.
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

// An absolute time of Clock::monotonic_ns(); kNever = none.
struct Deadline {
  static constexpr std::uint64_t kNever = UINT64_MAX;
  std::uint64_t at_ns = kNever;

  static Deadline after(const Clock& clock, Milliseconds time);
  bool passed(const Clock& clock) const;
  // The remaining time, at least 0; a year without a deadline.
  Milliseconds left(const Clock& clock) const;
};

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since an arbitrary start; never goes back.
  virtual std::uint64_t monotonic_ns() const = 0;
  // Milliseconds since 1970, UTC.
  virtual std::int64_t wall_ms() const = 0;

  // These functions wait through the calling thread's scheduler (scheduler.h). A clock with another time than the
  // scheduler's is read again every few milliseconds; no wait takes longer than it would in the scheduler's time.

  // False if `cancel` was set before the time was over; noticed within 50 ms.
  virtual bool sleep(Milliseconds time, const CancelToken& cancel) const;
  // Waits for the whole time, which should be short: for changes that wake no waiter.
  void pause(Milliseconds time) const;
  // Waits until a descriptor is ready; returns the result of poll(2), including EINTR.
  virtual int poll(std::span<pollfd> descriptors, Deadline deadline) const;
  int poll_for(std::span<pollfd> descriptors, Milliseconds at_most) const {
    return this->poll(descriptors, Deadline::after(*this, at_most));
  }
  // For Mutex and Condition: waits while the word is `seen`, or until it is woken. May return early. False if the
  // deadline has passed.
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

// For tests: moves only by advance().
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
