// SPDX-License-Identifier: Apache-2.0
// ring_listener_test.cc - who hears a ring, and what a worker can do to the others by ringing.
#include "core/workers/ring_listener.h"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::eventually;

std::shared_ptr<AnswerRegion> make_region() {
  auto region = AnswerRegion::create(1);
  EXPECT_TRUE(region) << region.error().message;
  return std::move(*region);
}

class Ear final : public RingListener::Ear {
 public:
  bool on_rings(LaneEnd end, std::uint32_t lanes) override {
    if (end != LaneEnd::kMessage) broken = true;
    heard |= lanes;
    ++rings;
    return !leaves;
  }
  bool on_look() override {
    ++looks;
    return true;
  }
  std::atomic<std::uint32_t> heard{0};
  std::atomic<int> rings{0}, looks{0};
  std::atomic<bool> broken{false}, leaves{false};
};

class RingListenerTest : public ::testing::Test {
 protected:
  ~RingListenerTest() override {
    listener_.remove(first_);
    listener_.remove(second_);
  }
  RingListener listener_;
  std::shared_ptr<AnswerRegion> one_ = make_region(), other_ = make_region();
  Ear first_, second_;
};

TEST_F(RingListenerTest, TellsTheOneThatWasRungFor) {
  ASSERT_TRUE(listener_.add(one_, first_));
  one_->ring(2);
  EXPECT_TRUE(eventually([&] { return first_.heard == 0b100u; }));
  ASSERT_TRUE(listener_.add(other_, second_));
  other_->ring(0);
  EXPECT_TRUE(eventually([&] { return second_.heard == 0b1u; }));
  EXPECT_EQ(first_.heard, 0b100u);
  EXPECT_FALSE(first_.broken || second_.broken);
}

TEST_F(RingListenerTest, LooksNowAndThen) {
  ASSERT_TRUE(listener_.add(one_, first_));
  EXPECT_TRUE(eventually([&] { return first_.looks >= 3; }));
  EXPECT_EQ(first_.rings, 0);
}

TEST_F(RingListenerTest, TellsNothingToWhoWasRemovedOrHasLeft) {
  ASSERT_TRUE(listener_.add(one_, first_));
  ASSERT_TRUE(listener_.add(other_, second_));
  listener_.remove(first_);
  second_.leaves = true;
  one_->ring(0);
  other_->ring(0);
  EXPECT_TRUE(eventually([&] { return second_.rings == 1; }));
  other_->ring(1);
  Ear third;
  const auto last = make_region();
  ASSERT_TRUE(listener_.add(last, third));
  last->ring(3);
  EXPECT_TRUE(eventually([&] { return third.heard == 0b1000u; }));
  listener_.remove(third);
  EXPECT_EQ(first_.rings, 0);
  EXPECT_EQ(second_.rings, 1);
}

// The word of one region is waked, and set and taken back, without end.
TEST_F(RingListenerTest, HearsTheOthersWhileOneWakesItForNothing) {
  constexpr std::size_t kPage = 4096, kWord = 64;
  auto* const memory = static_cast<char*>(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, one_->fd(), 0));
  ASSERT_NE(memory, MAP_FAILED);
  std::atomic_ref<std::uint32_t> word(*reinterpret_cast<std::uint32_t*>(memory + kWord));
  ASSERT_TRUE(listener_.add(one_, first_));
  ASSERT_TRUE(listener_.add(other_, second_));
  std::atomic<bool> enough{false};
  std::thread hostile([&] {
    while (!enough) {
      word.fetch_or(1);
      word.fetch_and(0);
      ::syscall(SYS_futex, memory + kWord, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
    }
  });
  for (int i = 1; i <= 100; ++i) {
    other_->ring(0);
    EXPECT_TRUE(eventually([&] { return second_.rings == i; })) << i;
  }
  enough = true;
  hostile.join();
  ::munmap(memory, kPage);
}

}  // namespace
}  // namespace agentd
