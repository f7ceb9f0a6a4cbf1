// SPDX-License-Identifier: Apache-2.0
#include "core/base/clock.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>

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

TEST(CancelToken, CopiesSeeTheSameReason) {
  const CancelToken token;
  const CancelToken copy = token;
  EXPECT_FALSE(copy.cancelled());
  token.cancel(2);
  EXPECT_EQ(copy.reason(), 2u);
  EXPECT_FALSE(CancelToken().cancelled());
}

TEST(CancelToken, LinkedWordGetsTheReason) {
  const CancelToken token;
  std::uint32_t word = 7;
  token.link(&word);
  EXPECT_EQ(word, 0u);
  token.cancel(1);
  EXPECT_EQ(word, 1u);
  token.unlink(&word);
  EXPECT_EQ(word, 0u);
}

TEST(CancelToken, WordThatIsLinkedLateGetsTheReasonAtOnce) {
  const CancelToken token;
  token.cancel(3);
  std::uint32_t word = 0;
  token.link(&word);
  EXPECT_EQ(word, 3u);
}

TEST(CancelToken, ChildIsCancelledWithItsParentAndMayBeAlone) {
  const CancelToken parent;
  const CancelToken one = parent.child();
  const CancelToken other = parent.child().child();
  one.cancel(3);
  EXPECT_EQ(one.reason(), 3u);
  EXPECT_FALSE(parent.cancelled());
  EXPECT_FALSE(other.cancelled());
  parent.cancel(2);
  EXPECT_EQ(other.reason(), 2u);
  EXPECT_EQ(one.reason(), 3u);
}

TEST(CancelToken, WordThatIsLinkedToAChildGetsTheReasonOfBoth) {
  const CancelToken parent;
  const CancelToken child = parent.child();
  std::uint32_t word = 9, other = 9;
  child.link(&word);
  EXPECT_EQ(word, 0u);
  parent.cancel(2);
  EXPECT_EQ(word, 2u);
  child.unlink(&word);
  EXPECT_EQ(word, 0u);
  child.link(&other);
  EXPECT_EQ(other, 2u);
  parent.cancel(4);
  EXPECT_EQ(word, 0u);
}

TEST(CancelToken, UnlinkedWordIsLeftAlone) {
  const CancelToken token;
  std::uint32_t word = 0;
  token.link(&word);
  token.unlink(&word);
  token.cancel(1);
  EXPECT_EQ(word, 0u);
}

TEST(CancelToken, PlacesAreFreeAgainAfterUnlink) {
  const CancelToken token;
  std::array<std::uint32_t, 40> words{};
  for (std::uint32_t& word : words) {
    token.link(&word);
    token.unlink(&word);
  }
  token.link(&words[0]);
  token.cancel(1);
  EXPECT_EQ(words[0], 1u);
}

TEST(CancelToken, MoreLinksThanPlacesAreHarmless) {
  const CancelToken token;
  std::array<std::uint32_t, 20> words{};
  for (std::uint32_t& word : words) token.link(&word);
  token.cancel(1);
  EXPECT_EQ(words[15], 1u);
  EXPECT_EQ(words[16], 0u);
  for (std::uint32_t& word : words) token.unlink(&word);
  token.link(&words[16]);
  EXPECT_EQ(words[16], 1u);
}

TEST(CancelToken, CancelOnAnotherThreadIsSeen) {
  const CancelToken token;
  std::thread other([token] { token.cancel(1); });
  while (!token.cancelled()) std::this_thread::yield();
  other.join();
  EXPECT_EQ(token.reason(), 1u);
}

}  // namespace
}  // namespace agentd
