// SPDX-License-Identifier: Apache-2.0
#include "core/base/cancel.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace agentd {
namespace {

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

TEST(CancelToken, EveryLinkedWordGetsTheReasonHoweverManyThereAre) {
  const CancelToken token;
  std::array<std::uint32_t, 100> words{};
  for (std::uint32_t& word : words) token.link(&word);
  token.cancel(1);
  for (const std::uint32_t word : words) EXPECT_EQ(word, 1u);
  for (std::uint32_t& word : words) token.unlink(&word);
  for (const std::uint32_t word : words) EXPECT_EQ(word, 0u);
}

// As in a process with many sessions: each has a token of its own, and one cancels them all.
TEST(CancelToken, OneCancelReachesThousandsOfChildren) {
  constexpr std::size_t kSessions = 3'000;
  const CancelToken process;
  std::vector<CancelToken> sessions;
  std::vector<std::uint32_t> words(kSessions, 9);
  for (std::uint32_t& word : words) sessions.emplace_back(process.child()).link(&word);
  for (std::size_t i = 0; i < kSessions; i += 3) sessions[i].unlink(&words[i]);
  sessions[1].cancel(4);
  EXPECT_EQ(words[1], 4u);
  EXPECT_EQ(words[2], 0u) << "a session cancels itself alone";
  process.cancel(2);
  for (std::size_t i = 0; i < kSessions; ++i) ASSERT_EQ(words[i], i % 3 == 0 ? 0u : 2u) << i;
  for (std::size_t i = 0; i < kSessions; ++i)
    if (i % 3 != 0) sessions[i].unlink(&words[i]);
  for (const std::uint32_t word : words) ASSERT_EQ(word, 0u);
}

// A second thread that does its part of every round at the same time.
class Beside {
 public:
  explicit Beside(std::function<void()> part)
      : thread_([this, part = std::move(part)] {
          for (std::uint32_t round = 1;; ++round) {
            while (started_.load() != round) {
              if (ended_.load()) return;
              std::this_thread::yield();
            }
            part();
            done_.store(round);
          }
        }) {}
  ~Beside() {
    ended_ = true;
    thread_.join();
  }
  void start() { ++started_; }
  void wait() const {
    while (done_.load() != started_.load()) std::this_thread::yield();
  }

 private:
  std::atomic<std::uint32_t> started_{0}, done_{0};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

constexpr int kRounds = 20'000;

TEST(CancelToken, CancelAtTheMomentOfALinkIsNotLost) {
  CancelToken token;
  Beside canceller([&] { token.cancel(1); });
  for (int round = 0; round < kRounds; ++round) {
    token = CancelToken();
    std::uint32_t word = 0;
    canceller.start();
    for (int i = 0; i < round % 64; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    token.link(&word);
    canceller.wait();
    ASSERT_EQ(std::atomic_ref(word).load(), 1u) << round;
    token.unlink(&word);
  }
}

TEST(CancelToken, CancelAtTheMomentOfAnUnlinkDoesNotReachTheWordAfterIt) {
  constexpr std::uint32_t kAnotherUse = 77;
  CancelToken parent, token;
  Beside canceller([&] { parent.cancel(1); });
  std::uint32_t word = 0;
  for (int round = 0; round < kRounds; ++round) {
    parent = CancelToken();
    token = parent.child();
    token.link(&word);
    canceller.start();
    for (int i = 0; i < round % 64; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
    token.unlink(&word);
    std::atomic_ref(word).store(kAnotherUse);
    canceller.wait();
    ASSERT_EQ(std::atomic_ref(word).exchange(0), kAnotherUse) << round;
  }
}

TEST(CancelToken, ThreadsThatLinkAtOnceAllGetTheReason) {
  for (int round = 0; round < 50; ++round) {
    const CancelToken token;
    std::vector<std::thread> threads;
    std::atomic<int> linked{0}, heard{0};
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&] {
        std::array<std::uint32_t, 20> words{};
        for (std::uint32_t& word : words) token.link(&word);
        ++linked;
        for (std::uint32_t& word : words) {
          while (std::atomic_ref(word).load() == 0) std::this_thread::yield();
          ++heard;
        }
        for (std::uint32_t& word : words) token.unlink(&word);
      });
    while (linked.load() < round % 7) std::this_thread::yield();
    token.cancel(2);
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(heard.load(), 120);
  }
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
