// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include <gtest/gtest.h>

#include <cstdint>

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

}  // namespace
}  // namespace agentd
