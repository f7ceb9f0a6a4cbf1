// SPDX-License-Identifier: Apache-2.0
#include "core/base/timed_mutex.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

namespace agentd {
namespace {

using std::chrono::milliseconds;

TEST(TimedMutex, IsTakenOnce) {
  TimedMutex mutex;
  ASSERT_TRUE(mutex.try_lock());
  std::thread([&] {
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_for(milliseconds(1)));
  }).join();
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(TimedMutex, WakesAWaiter) {
  TimedMutex mutex;
  mutex.lock();
  bool taken = false;
  std::thread waiter([&] {
    taken = mutex.try_lock_for(std::chrono::minutes(1));
    if (taken) mutex.unlock();
  });
  std::this_thread::sleep_for(
      milliseconds(20));  // most often the thread waits by now; the result is the same either way
  mutex.unlock();
  waiter.join();
  EXPECT_TRUE(taken);
}

// A waiter that gave up must not consume the next one's wake-up.
TEST(TimedMutex, ForgetsAWaiterThatGaveUp) {
  TimedMutex mutex;
  mutex.lock();
  std::thread impatient([&] { EXPECT_FALSE(mutex.try_lock_for(milliseconds(5))); });
  std::thread patient([&] {
    mutex.lock();
    mutex.unlock();
  });
  impatient.join();
  mutex.unlock();
  patient.join();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(TimedMutex, LetsOneInAtATimeWhateverTheyDo) {
  TimedMutex mutex;
  int inside = 0, most = 0;
  long count = 0, wanted = 0;
  std::mutex sum;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      long mine = 0;
      for (int i = 0; i < 20'000; ++i) {
        const int way = (i + t) % 4;
        const bool taken = way == 0   ? (mutex.lock(), true)
                           : way == 1 ? mutex.try_lock()
                           : way == 2 ? mutex.try_lock_for(std::chrono::microseconds(1))
                                      : mutex.try_lock_for(std::chrono::minutes(1));
        if (!taken) continue;
        ++mine;
        most = std::max(most, ++inside);
        ++count;
        --inside;
        mutex.unlock();
      }
      const std::lock_guard lock(sum);
      wanted += mine;
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(count, wanted);
}

}  // namespace
}  // namespace agentd
