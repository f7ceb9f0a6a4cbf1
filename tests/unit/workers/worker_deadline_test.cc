// SPDX-License-Identifier: Apache-2.0
// worker_deadline_test.cc - a hook in a worker that does not answer in time, or answers later.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::How;
using testing::Said;
using testing::WorkerFixture;

// ---- it does not answer

TEST(WorkerThatHangs, IsEndedAtTheDeadlineAndReportedAsATimeout) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const pid_t before = fixture.pid();
  const Said said = fixture.ask("hang", {Milliseconds(100), 0, {}});
  EXPECT_EQ(said.status, AGENTD_E_DEADLINE);
  EXPECT_EQ(said.failure, "it did not answer before its deadline");
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  EXPECT_NE(fixture.pid(), before);
}

TEST(WorkerThatHangs, IsEndedAtTheTimeThatItsHookHas) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  std::vector<Subscription> all = fixture.host->subscriptions();
  for (Subscription& each : all) each.timeout = Milliseconds(200);
  fixture.dispatcher.publish(std::move(all));
  const pid_t before = fixture.pid();
  const Said said = fixture.ask("hang", {Milliseconds(3'600'000), 0, {}});  // the event's time is an hour
  EXPECT_EQ(said.status, AGENTD_E_DEADLINE);
  EXPECT_EQ(said.failure, "it did not answer before its deadline");
  fixture.dispatcher.publish(fixture.host->subscriptions());  // a new worker has its time to start
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  EXPECT_NE(fixture.pid(), before);
}

TEST(WorkerThatHangs, AgainAndAgainIsSetAside) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.first_pause = Milliseconds(1);
  fixture.options.worker.grace = Milliseconds(5);
  fixture.options.worker.hang_time = Milliseconds(0);
  fixture.load();
  for (int i = 0; i < 3; ++i) {
    (void)fixture.ask("bash");  // a new worker has its time to start
    EXPECT_EQ(fixture.ask("hang", {Milliseconds(100), 0, {}}).status, AGENTD_E_DEADLINE) << i;
  }
  EXPECT_EQ(fixture.ask("bash").failure,
            "is quarantined: it hung its worker 3 times in 60 s (a call did not return before its deadline); fix it, "
            "or run 'agentd hooks release moods'");
}

TEST(WorkerThatHangs, ForWantOfTimeIsNotSetAside) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.first_pause = fixture.options.worker.pause_max = Milliseconds(1);
  fixture.options.worker.grace = Milliseconds(5);
  fixture.options.worker.hang_time = Milliseconds(60'000);
  fixture.load();
  for (int i = 0; i < 4; ++i) {
    (void)fixture.ask("bash");
    EXPECT_EQ(fixture.ask("hang", {Milliseconds(20), 0, {}}).status, AGENTD_E_DEADLINE);
  }
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
}

TEST(WorkerThatHangs, IsJudgedByTheTimeOfItsCallAndNotByItsGrace) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.crashes_max = 1;
  fixture.options.worker.grace = Milliseconds(200);
  fixture.options.worker.hang_time = Milliseconds(150);
  fixture.load();
  EXPECT_EQ(fixture.ask("hang", {Milliseconds(50), 0, {}}).status, AGENTD_E_DEADLINE);
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
}

TEST(WorkerThatHangs, AndCrashesInTurnIsSetAsideForBoth) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.hang_time = Milliseconds(0);
  fixture.options.worker.first_pause = Milliseconds(1);
  fixture.load();
  (void)fixture.ask("crash");
  (void)fixture.ask("bash");
  (void)fixture.ask("hang", {Milliseconds(100), 0, {}});
  (void)fixture.ask("crash");
  EXPECT_EQ(fixture.ask("bash").failure,
            "is quarantined: it crashed or hung its worker 3 times in 60 s (signal 11); fix it, or "
            "run 'agentd hooks release moods'");
}

TEST(WorkerThatObeys, TheCancelWordAtItsDeadlineLivesOn) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.grace = Milliseconds(5'000);
  fixture.load();
  const pid_t before = fixture.pid();
  EXPECT_EQ(fixture.ask("obey", {Milliseconds(50), 0, {}}).status, AGENTD_E_DEADLINE);
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  EXPECT_EQ(fixture.pid(), before);
}

TEST(WorkerThatIsCancelled, ReturnsWhenItIsTold) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.grace = Milliseconds(5'000);
  fixture.load();
  const pid_t before = fixture.pid();
  How how;
  std::thread user([&] {
    ::usleep(30'000);
    how.cancel.cancel(AGENTD_CANCEL_USER);
  });
  EXPECT_EQ(fixture.ask("obey", how).status, AGENTD_E_CANCELLED);
  user.join();
  EXPECT_EQ(fixture.pid(), before);
}

TEST(WorkerThatIsCancelled, AndDoesNotReturnIsEnded) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const pid_t before = fixture.pid();
  How how;
  std::thread user([&] {
    ::usleep(30'000);
    how.cancel.cancel(AGENTD_CANCEL_USER);
  });
  EXPECT_EQ(fixture.ask("hang", how).status, AGENTD_E_CANCELLED);
  user.join();
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  EXPECT_NE(fixture.pid(), before);
}

TEST(WorkerThatIsCancelled, AndDoesNotReturnIsNotSetAsideForIt) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.first_pause = fixture.options.worker.pause_max = Milliseconds(1);
  fixture.options.worker.grace = Milliseconds(5);
  fixture.load();
  for (int i = 0; i < 5; ++i) {
    How how;
    std::thread user([&] {
      ::usleep(30'000);
      how.cancel.cancel(AGENTD_CANCEL_USER);
    });
    EXPECT_EQ(fixture.ask("hang", how).status, AGENTD_E_CANCELLED);
    user.join();
  }
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
}

// ---- calls that are answered later

TEST(PendingCall, FreesTheLaneForTheNextOne) {
  WorkerFixture fixture;  // a serial plugin has one lane
  fixture.install("moods");
  fixture.load();
  How how{Milliseconds(60'000), 0, {}};
  std::atomic<bool> ended{false};
  std::thread waiting([&] {
    EXPECT_EQ(fixture.ask("later never", how).status, AGENTD_E_CANCELLED);
    ended.store(true);
  });
  // It is inside once the plugin has counted one call more than those from here.
  for (int asked = 1;; ++asked) {
    const Said said = fixture.ask("calls", {Milliseconds(5'000), 0, {}});
    EXPECT_EQ(said.status, AGENTD_OK);
    if (said.status != AGENTD_OK || said.reason != std::to_string(asked)) break;
  }
  EXPECT_FALSE(ended.load());
  how.cancel.cancel(AGENTD_CANCEL_USER);
  waiting.join();
}

TEST(PendingCall, EndsAtOnceWhenItsWorkerCrashes) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const std::uint64_t start = fixture.clock.monotonic_ns();
  const Said said = fixture.ask("later crash", {Milliseconds(60'000), 0, {}});
  EXPECT_EQ(said.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(said.failure, "its worker was killed by signal 11 (SIGSEGV)");
  EXPECT_LT(fixture.clock.monotonic_ns() - start, 50'000'000'000u);  // not at its deadline
}

TEST(PendingCall, ThatGivesUpWhenItIsToldKeepsItsWorker) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const pid_t before = fixture.pid();
  EXPECT_EQ(fixture.ask("later obey", {Milliseconds(50), 0, {}}).status, AGENTD_E_DEADLINE);
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  EXPECT_EQ(fixture.pid(), before);
}

}  // namespace
}  // namespace agentd
