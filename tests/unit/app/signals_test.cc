// SPDX-License-Identifier: Apache-2.0
#include "core/app/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

namespace agentd::app {
namespace {

// A machine that is busy may take the time of another wish between two signals: then once more.
template <typename Signals>
void send_together(Signals send) {
  using Clock = std::chrono::steady_clock;
  for (Clock::time_point start; Clock::now() - start > std::chrono::milliseconds(90);) {
    start = Clock::now();
    send();
  }
}

// Longer than the parts of one wish are apart.
void wait_like_a_human() { ::usleep(150'000); }

TEST(SignalScope, CancelsTheTokenOfTheWork) {
  SignalScope signals;
  const CancelToken token = signals.next();
  EXPECT_EQ(signals.caught(), 0);
  ::raise(SIGINT);
  EXPECT_EQ(signals.caught(), SIGINT);
  EXPECT_TRUE(token.cancelled());
}

TEST(SignalScope, TakesTheTwinOfASignalForOneWishAlsoAfterItWasHeard) {
  int caught = 0;
  bool cancelled = false;
  send_together([&] {
    SignalScope signals;
    ::raise(SIGINT);
    const CancelToken token = signals.next();
    ::raise(SIGINT);
    caught = signals.caught();
    cancelled = token.cancelled();
  });
  EXPECT_EQ(caught, 0);
  EXPECT_FALSE(cancelled);
}

TEST(SignalScope, HearsTheNextWishAfterOneThatWasHeard) {
  SignalScope signals;
  ::raise(SIGINT);
  const CancelToken token = signals.next();
  wait_like_a_human();
  ::raise(SIGINT);
  EXPECT_EQ(signals.caught(), SIGINT);
  EXPECT_TRUE(token.cancelled());
}

TEST(SignalScope, HearsTheFirstSignalWhateverAScopeBeforeItHeard) {
  {
    SignalScope before;
    ::raise(SIGINT);
  }
  SignalScope signals;
  ::raise(SIGINT);
  EXPECT_EQ(signals.caught(), SIGINT);
}

TEST(SignalScope, EndsTheProgramAtTheSecondWish) {
  EXPECT_EXIT(
      {
        SignalScope signals;
        ::raise(SIGINT);
        wait_like_a_human();
        ::raise(SIGTERM);
      },
      ::testing::ExitedWithCode(128 + SIGTERM), "");
}

}  // namespace
}  // namespace agentd::app
