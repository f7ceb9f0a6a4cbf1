// SPDX-License-Identifier: Apache-2.0
#include "core/base/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/base/thread.h"

namespace agentd {
namespace {

const SystemClock kClock;

bool is_free(Mutex& mutex) {
  if (!mutex.try_lock()) return false;
  mutex.unlock();
  return true;
}

bool is_free_within(Mutex& mutex, Milliseconds time) {
  if (!mutex.lock_for(kClock, time)) return false;
  mutex.unlock();
  return true;
}

bool take(Mutex& mutex, int way) TRY_ACQUIRE(true, mutex) {
  if (way == 0) return mutex.try_lock();
  if (way == 1) return mutex.lock_until(kClock, {kClock.monotonic_ns() + 1'000});
  return mutex.lock_for(kClock, std::chrono::minutes(1));
}

TEST(Mutex, IsTakenOnce) {
  Mutex mutex;
  MutexLock lock(mutex);
  Thread([&] {
    EXPECT_FALSE(is_free(mutex));
    EXPECT_FALSE(is_free_within(mutex, Milliseconds(1)));
  }).join();
  lock.unlock();
  EXPECT_TRUE(is_free(mutex));
}

TEST(Mutex, WakesWhoWaits) {
  Mutex mutex;
  MutexLock lock(mutex);
  bool taken = false;
  Thread waiter([&] { taken = is_free_within(mutex, std::chrono::minutes(1)); });
  kClock.pause(Milliseconds(20));  // most often it waits by now; the promise holds either way
  lock.unlock();
  waiter.join();
  EXPECT_TRUE(taken);
}

// One that gave up must not take the wake-up of the next with it.
TEST(Mutex, ForgetsWhoGaveUp) {
  Mutex mutex;
  MutexLock lock(mutex);
  Thread impatient([&] { EXPECT_FALSE(is_free_within(mutex, Milliseconds(5))); });
  Thread patient([&] { const MutexLock mine(mutex); });
  impatient.join();
  lock.unlock();
  patient.join();
  EXPECT_TRUE(is_free(mutex));
}

TEST(Mutex, LetsOneInAtATimeWhateverTheyDo) {
  Mutex mutex, sum;
  int inside = 0, most = 0;
  long count = 0, wanted = 0;
  std::vector<Thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      long mine = 0;
      const auto enter = [&] {
        ++mine;
        most = std::max(most, ++inside);
        ++count;
        --inside;
      };
      for (int i = 0; i < 20'000; ++i) {
        if ((i + t) % 4 == 3) {
          const MutexLock lock(mutex);
          enter();
        } else if (take(mutex, (i + t) % 4)) {
          const MutexLock lock(mutex, kAdopt);
          enter();
        }
      }
      const MutexLock lock(sum);
      wanted += mine;
    });
  for (Thread& each : threads) each.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(count, wanted);
}

TEST(Condition, WakesOneOrAll) {
  Mutex mutex;
  Condition changed;
  int tickets = 0, waiting = 0;
  std::vector<Thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      const MutexLock lock(mutex);
      ++waiting;
      while (tickets == 0) changed.wait(mutex);
      --tickets;
    });
  const auto give = [&](int count) {
    const MutexLock lock(mutex);
    tickets += count;
  };
  give(1);
  changed.notify_one();
  give(2);
  changed.notify_all();
  threads.clear();
  EXPECT_EQ(tickets, 0);
  EXPECT_EQ(waiting, 3);
}

TEST(Condition, GivesUpAtTheDeadlineAndHoldsTheMutexAgain) {
  Mutex mutex;
  Condition never;
  const MutexLock lock(mutex);
  const Deadline deadline = Deadline::after(kClock, Milliseconds(5));
  while (never.wait_until(mutex, kClock, deadline)) continue;
  EXPECT_TRUE(deadline.passed(kClock));
  Thread([&] { EXPECT_FALSE(mutex.try_lock()); }).join();
}

// Two that hand a turn to and fro: a wake that is lost would leave both standing.
TEST(Condition, LosesNoWake) {
  Mutex mutex;
  Condition changed;
  int turn = 0;
  const auto play = [&](int mine) {
    for (int i = 0; i < 20'000; ++i) {
      MutexLock lock(mutex);
      while (turn != mine) changed.wait(mutex);
      turn = 1 - mine;
      lock.unlock();
      changed.notify_one();
    }
  };
  Thread other([&] { play(1); });
  play(0);
  other.join();
  EXPECT_EQ(turn, 0);
}

TEST(CallTogether, CallsEachNumberOnceAndOthersWhileThisThreadIsBusy) {
  std::vector<std::atomic<int>> calls(100);
  std::atomic<int> done{0};
  call_together(
      calls.size(), 3,
      [&](std::size_t i) {
        ++calls[i];
        ++done;
      },
      [&] {
        while (done < 100) std::this_thread::yield();
      });
  for (const auto& each : calls) EXPECT_EQ(each, 1);
}

TEST(CallTogether, WithoutOtherThreadsThisOneCallsInOrder) {
  std::vector<std::size_t> order;
  call_together(3, 0, [&](std::size_t i) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
  call_together(0, 2, [&](std::size_t i) { order.push_back(i); });
  EXPECT_EQ(order.size(), 3u);
}

}  // namespace
}  // namespace agentd
