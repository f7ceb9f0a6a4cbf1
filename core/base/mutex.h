// SPDX-License-Identifier: Apache-2.0
#pragma once
// mutex.h - locks and conditions: with Clock and Thread the only ways to wait.
//
// Each is one word. Locking and unlocking a free mutex makes no call; a thread that must wait calls its Scheduler
// (scheduler.h). clang checks the members that a Mutex guards (thread_annotations.h). No lock is held while a hook is
// called.
//
// Threading: thread-safe; the thread that locked a mutex unlocks it. Not recursive.

#include "core/base/clock.h"
#include "core/base/thread_annotations.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define AGENTD_TELL_SANITIZER(what, ...) __tsan_mutex_##what(this, __VA_ARGS__)
#else
#define AGENTD_TELL_SANITIZER(what, ...) static_cast<void>(0)
#endif

namespace agentd {

class CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
#if defined(__SANITIZE_THREAD__)
  ~Mutex() { AGENTD_TELL_SANITIZER(destroy, 0); }
#endif

  void lock() ACQUIRE() {
    AGENTD_TELL_SANITIZER(pre_lock, 0);
    if (!take_free()) lock_taken();
    AGENTD_TELL_SANITIZER(post_lock, 0, 0);
  }
  bool try_lock() TRY_ACQUIRE(true) {
    AGENTD_TELL_SANITIZER(pre_lock, __tsan_mutex_try_lock);
    const bool taken = take_free();
    AGENTD_TELL_SANITIZER(post_lock, __tsan_mutex_try_lock | (taken ? 0 : __tsan_mutex_try_lock_failed), 0);
    return taken;
  }
  // False if the deadline passed first.
  bool lock_until(const Clock& clock, Deadline deadline) TRY_ACQUIRE(true) {
    AGENTD_TELL_SANITIZER(pre_lock, __tsan_mutex_try_lock);
    const bool taken = take_free() || lock_taken_until(clock, deadline);
    AGENTD_TELL_SANITIZER(post_lock, __tsan_mutex_try_lock | (taken ? 0 : __tsan_mutex_try_lock_failed), 0);
    return taken;
  }
  bool lock_for(const Clock& clock, Milliseconds at_most) TRY_ACQUIRE(true) {
    return lock_until(clock, Deadline::after(clock, at_most));
  }
  void unlock() RELEASE() {
    AGENTD_TELL_SANITIZER(pre_unlock, 0);
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) wake_next();
    AGENTD_TELL_SANITIZER(post_unlock, 0);
  }
  // Asserts that the mutex is held.
  void assert_held() const ASSERT_CAPABILITY(this);

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1, kAwaited = 2;

  bool take_free() {
    std::uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // Leaves the word at kAwaited in both cases, since other threads may be waiting.
  bool take_awaited() { return state_.exchange(kAwaited, std::memory_order_acquire) == kFree; }
  void lock_taken();
  bool lock_taken_until(const Clock& clock, Deadline deadline);
  void wake_next();

  WaitWord state_{kFree};
};

struct Adopt {};
constexpr Adopt kAdopt;

// Holds a mutex for its lifetime, except between unlock() and lock().
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // Takes over a mutex that the caller has locked.
  MutexLock(Mutex& mutex, Adopt) REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// A condition variable, always used with the same mutex. A wait may return without a notification, so callers check
// their predicate again. The mutex is held for the notification if a waiter may destroy the condition afterwards.
class Condition {
 public:
  constexpr Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void wait(Mutex& mutex) REQUIRES(mutex);
  // False if the deadline has passed.
  bool wait_until(Mutex& mutex, const Clock& clock, Deadline deadline) REQUIRES(mutex);
  bool wait_for(Mutex& mutex, const Clock& clock, Milliseconds at_most) REQUIRES(mutex) {
    return wait_until(mutex, clock, Deadline::after(clock, at_most));
  }
  void notify_one() { notify(false); }
  void notify_all() { notify(true); }

 private:
  void notify(bool all);

  WaitWord notified_{0};                   // the number of notifications
  std::atomic<std::uint32_t> waiting_{0};  // the number of waiters; grows under the mutex
};

}  // namespace agentd
