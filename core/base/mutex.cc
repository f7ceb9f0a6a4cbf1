// SPDX-License-Identifier: Apache-2.0
#include "core/base/mutex.h"

#include "core/base/result.h"
#include "core/base/scheduler.h"

namespace agentd {

void Mutex::lock_taken() {
  Scheduler& scheduler = Scheduler::current();
  while (!take_awaited()) scheduler.wait(state_, kAwaited, Deadline::kNever);
}

bool Mutex::lock_taken_until(const Clock& clock, Deadline deadline) {
  while (!take_awaited())
    if (!clock.wait(state_, kAwaited, deadline)) return take_awaited();
  return true;
}

void Mutex::assert_held() const { AGENTD_ASSERT(state_.load(std::memory_order_relaxed) != kFree); }

void Mutex::wake_next() { Scheduler::current().wake(state_, false); }

void Condition::wait(Mutex& mutex) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t seen = notified_.load(std::memory_order_relaxed);
  mutex.unlock();
  Scheduler::current().wait(notified_, seen, Deadline::kNever);
  mutex.lock();
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

bool Condition::wait_until(Mutex& mutex, const Clock& clock, Deadline deadline) {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t seen = notified_.load(std::memory_order_relaxed);
  mutex.unlock();
  const bool in_time = clock.wait(notified_, seen, deadline);
  mutex.lock();
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return in_time;
}

// A waiting thread was counted under the mutex, before its condition could change.
void Condition::notify(bool all) {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  notified_.fetch_add(1, std::memory_order_relaxed);
  Scheduler::current().wake(notified_, all);
}

}  // namespace agentd
