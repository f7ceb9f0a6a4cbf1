// SPDX-License-Identifier: Apache-2.0
#include "core/serve/idle_memory.h"

#include <gtest/gtest.h>

namespace agentd::serve {
namespace {

struct Memory {
  ManualClock clock;
  int given = 0;
  IdleMemory idle{clock, [this] { ++given; }};
};

TEST(IdleMemory, IsGivenBackOnceAfterWork) {
  Memory memory;
  memory.idle.look(0, false);
  EXPECT_EQ(memory.given, 0) << "nothing was done";
  memory.idle.look(5, true);
  EXPECT_EQ(memory.given, 0) << "it works";
  memory.idle.look(5, false);
  EXPECT_EQ(memory.given, 1);
  memory.clock.advance(IdleMemory::kBetween);
  memory.idle.look(5, false);
  EXPECT_EQ(memory.given, 1) << "nothing was done since";
  memory.idle.look(6, false);
  EXPECT_EQ(memory.given, 2);
}

TEST(IdleMemory, IsNotGivenBackAllTheTime) {
  Memory memory;
  for (std::uint64_t done = 1; done <= 100; ++done) memory.idle.look(done, false);
  EXPECT_EQ(memory.given, 1);
  memory.clock.advance(IdleMemory::kBetween - Milliseconds(1));
  memory.idle.look(101, false);
  EXPECT_EQ(memory.given, 1);
  memory.clock.advance(Milliseconds(1));
  memory.idle.look(101, false);
  EXPECT_EQ(memory.given, 2) << "what was done meanwhile counts";
}

TEST(IdleMemory, IsGivenBackWhileSomethingAlwaysWorks) {
  Memory memory;
  memory.clock.advance(IdleMemory::kBetweenUnderLoad - Milliseconds(1));
  memory.idle.look(1, true);
  EXPECT_EQ(memory.given, 0);
  memory.clock.advance(Milliseconds(1));
  memory.idle.look(1, true);
  EXPECT_EQ(memory.given, 1);
  memory.clock.advance(IdleMemory::kBetween);
  memory.idle.look(2, true);
  EXPECT_EQ(memory.given, 1);
}

}  // namespace
}  // namespace agentd::serve
