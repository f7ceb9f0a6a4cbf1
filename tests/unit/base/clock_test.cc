// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "core/base/file.h"
#include "core/base/scheduler.h"
#include "core/base/thread.h"

namespace agentd {
namespace {

TEST(Deadline, PassesWhenTheClockReachesIt) {
  ManualClock clock;
  const Deadline deadline = Deadline::after(clock, Milliseconds(10));
  EXPECT_FALSE(deadline.passed(clock));
  EXPECT_EQ(deadline.left(clock), Milliseconds(10));
  clock.advance(Milliseconds(9));
  EXPECT_FALSE(deadline.passed(clock));
  clock.advance(Milliseconds(1));
  EXPECT_TRUE(deadline.passed(clock));
  EXPECT_EQ(deadline.left(clock), Milliseconds(0));
}

TEST(Deadline, NoneNeverPasses) {
  ManualClock clock;
  clock.advance(std::chrono::hours(1'000'000));
  EXPECT_FALSE(Deadline{}.passed(clock));
  EXPECT_GT(Deadline{}.left(clock), std::chrono::hours(24));
}

TEST(Clock, SystemTimeDoesNotGoBack) {
  const SystemClock clock;
  std::uint64_t last = clock.monotonic_ns();
  for (int i = 0; i < 1'000; ++i) {
    const std::uint64_t now = clock.monotonic_ns();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(clock.wall_ms(), 1'700'000'000'000);
}

TEST(Clock, SleepSeesACancellationAtOnce) {
  const SystemClock clock;
  CancelToken cancel;
  cancel.cancel(1);
  EXPECT_FALSE(clock.sleep(std::chrono::hours(1), cancel));
  EXPECT_TRUE(clock.sleep(Milliseconds(1), CancelToken()));
}

TEST(Clock, SleepEndsWhenItIsCancelled) {
  const SystemClock clock;
  const CancelToken cancel;
  Thread canceller([&] {
    clock.pause(Milliseconds(10));
    cancel.cancel(1);
  });
  EXPECT_FALSE(clock.sleep(std::chrono::hours(1), cancel));
}

TEST(Clock, OneThatIsTurnedEndsWaitsForIt) {
  ManualClock clock;
  std::atomic<bool> slept{false};
  // A turn before the sleep has read the clock would only move its end.
  Thread turner([&] {
    while (!slept) {
      clock.advance(std::chrono::hours(2));
      SystemClock().pause(Milliseconds(1));
    }
  });
  EXPECT_TRUE(clock.sleep(std::chrono::hours(1), CancelToken()));
  slept = true;
}

TEST(Clock, OneThatStandsStillHoldsNobodyUp) {
  const ManualClock clock;
  EXPECT_TRUE(clock.sleep(Milliseconds(2), CancelToken()));
  pollfd none{-1, POLLIN, 0};
  EXPECT_EQ(clock.poll_for({&none, 1}, Milliseconds(2)), 0);
}

TEST(Clock, PollSaysWhatIsReady) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  pollfd read{read_end.get(), POLLIN, 0};
  EXPECT_EQ(SystemClock().poll_for({&read, 1}, Milliseconds(1)), 0);
  ASSERT_EQ(::write(write_end.get(), "x", 1), 1);
  EXPECT_EQ(SystemClock().poll({&read, 1}, Deadline{}), 1);
  EXPECT_EQ(read.revents, POLLIN);
  EXPECT_TRUE(is_ready(read_end.get(), POLLIN));
}

}  // namespace
}  // namespace agentd
