// SPDX-License-Identifier: Apache-2.0
#include "core/app/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "core/base/file.h"

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

TEST(WaitForOutput, EndsWhereAWriteWouldNotWait) {
  EXPECT_TRUE(wait_for_output(-1)) << "closed from the start";
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd reads(ends[0]), writes(ends[1]);
  EXPECT_TRUE(wait_for_output(writes.get()));
  const std::string page(4'096, 'x');
  while (::write(writes.get(), page.data(), page.size()) > 0) continue;
  SignalScope signals;
  const CancelToken token = signals.next();
  ::raise(SIGINT);
  EXPECT_FALSE(wait_for_output(writes.get())) << "nobody reads, and a signal was caught";
}

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
