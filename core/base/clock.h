// SPDX-License-Identifier: Apache-2.0
#pragma once
// clock.h - time, and the value that says "give up".
//
// Time comes only from a Clock, so that tests and the simulator turn it by hand. Monotonic time measures
// deadlines; wall time is information for people, never order.
//
// Threading: Clock is thread-safe; CancelToken is thread-safe.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

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

// Shared between the one who may cancel and those who work: copies see the same flag. A default token
// is never cancelled by anybody else. cancel() may be called in a signal handler.
class CancelToken {
 public:
  CancelToken() : state_(std::make_shared<State>()) {}
  // 0 = go on; otherwise an AGENTD_CANCEL_ reason of hook_types.h.
  std::uint32_t reason() const;
  bool cancelled() const { return reason() != 0; }
  void cancel(std::uint32_t reason) const;
  // Another one that is cancelled with this one, and may be cancelled alone.
  CancelToken child() const;

  // Links a word that gets the reason too, for code that can only poll memory. The word must stay
  // readable until the process ends. Beyond 16 links at once the word is set only if the token is
  // cancelled already.
  void link(std::uint32_t* word) const;
  void unlink(std::uint32_t* word) const;

 private:
  struct State {
    std::atomic<std::uint32_t> reason{0};
    std::array<std::atomic<std::uint32_t*>, 16> links{};
    std::shared_ptr<State> parent;  // null for most
  };
  // Shared by every copy: canceller and workers end in any order.
  std::shared_ptr<State> state_;
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
