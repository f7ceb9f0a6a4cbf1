// SPDX-License-Identifier: Apache-2.0
#include "core/base/linker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "core/base/thread.h"

namespace agentd {
namespace {

TEST(LinkerTurn, IsOneThreadsAtATime) {
  std::atomic<int> inside{0}, most{0}, taken{0};
  std::vector<Thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        const LinkerTurn turn;
        if (++inside > 1) ++most;
        ++taken;
        --inside;
      }
    });
  for (Thread& thread : threads) thread.join();
  EXPECT_EQ(most, 0);
  EXPECT_EQ(taken, 2000);
}

}  // namespace
}  // namespace agentd
