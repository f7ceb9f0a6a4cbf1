// SPDX-License-Identifier: Apache-2.0
#pragma once
// timed_mutex.h - a mutex that one can wait for with a limit.
//
// What std::timed_mutex promises. That one waits by a call of the C library that the thread sanitizer of GCC 12 does
// not see, so that every lock which was waited for would hide the races behind it and be reported itself.
//
// Threading: thread-safe; unlock() on the thread that has locked. Not recursive.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace agentd {

class TimedMutex {
 public:
  TimedMutex() = default;
  TimedMutex(const TimedMutex&) = delete;
  TimedMutex& operator=(const TimedMutex&) = delete;

  bool try_lock() {
    std::uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void lock() {
    if (try_lock()) return;
    std::unique_lock waiting(mutex_);
    freed_.wait(waiting, [this] { return take_awaited(); });
  }
  // False when it was not free until then.
  template <typename Rep, typename Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time) {
    return try_lock_until(std::chrono::steady_clock::now() + time);
  }
  template <typename Time>
  bool try_lock_until(std::chrono::time_point<std::chrono::steady_clock, Time> until) {
    if (try_lock()) return true;
    std::unique_lock waiting(mutex_);
    return freed_.wait_until(waiting, until, [this] { return take_awaited(); });
  }
  void unlock() {
    if (state_.exchange(kFree, std::memory_order_release) != kAwaited) return;
    const std::lock_guard lock(mutex_);  // the thread that set kAwaited waits by now, or looks again
    freed_.notify_one();
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kAwaited = 2;

  // Leaves the word at kAwaited whether it succeeds or not, because others may wait.
  bool take_awaited() { return state_.exchange(kAwaited, std::memory_order_acquire) == kFree; }

  std::atomic<std::uint32_t> state_{kFree};
  std::mutex mutex_;
  std::condition_variable freed_;
};

}  // namespace agentd
