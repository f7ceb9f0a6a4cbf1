// SPDX-License-Identifier: Apache-2.0
// worker_hostile_test.cc - a worker that does not keep to the rules is ended, and its host goes on.
#include <gtest/gtest.h>

#include <thread>

#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::children;
using testing::Said;
using testing::WorkerFixture;

// The rule that is broken is the name of the hook.
class HostileFixture : public WorkerFixture {
 public:
  explicit HostileFixture(const std::string& rule) : start(clock.monotonic_ns()) {
    options.worker.program = AGENTD_HOSTILE_WORKER;
    options.worker.start_time = Milliseconds(2'000);
    path = install("moods", rule);
    load();
  }
  std::string problem() const { return host->problems().empty() ? "" : host->problems()[0].message; }
  // Before a lane by itself gives up a body that has stopped, which is after 10 s.
  bool is_early() const { return clock.monotonic_ns() - start < 9'000'000'000u; }
  std::string path;
  const std::uint64_t start;
};

TEST(HostileWorker, ThatDiesEarlyIsAProblem) {
  const HostileFixture fixture("dies_early");
  EXPECT_EQ(fixture.problem(), fixture.path + " could not start: its worker ended by itself with status 3");
}

TEST(HostileWorker, ThatSaysNothingIsGivenUp) {
  HostileFixture fixture("silent");
  EXPECT_EQ(fixture.problem(), fixture.path + " could not start: its worker did not load the module within 2000 ms");
  fixture.host.reset();
  EXPECT_TRUE(children().empty());
}

TEST(HostileWorker, ThatStopsInTheMiddleOfItsStartIsGivenUpAtTheSameTime) {
  const HostileFixture fixture("stalls_at_start");
  EXPECT_EQ(fixture.problem(), fixture.path + " could not start: its worker did not load the module within 2000 ms");
  EXPECT_TRUE(fixture.is_early());
}

TEST(HostileWorker, ThatStartsWithGarbageIsRefused) {
  const HostileFixture fixture("garbage_boot");
  EXPECT_EQ(fixture.problem(),
            fixture.path + " could not start: its worker was killed: it sent a malformed message (in its start)");
}

TEST(HostileWorker, ThatNeverFindsAPlaceForTheWindowIsGivenUp) {
  const HostileFixture fixture("base_taken");
  EXPECT_EQ(fixture.problem(), fixture.path + " its base is taken");
}

TEST(HostileWorker, ThatFindsNoPlaceForTheWindowHasNoMoreTimeForIt) {
  const HostileFixture fixture("base_taken_slowly");
  EXPECT_EQ(fixture.problem(), fixture.path + " could not start: its worker did not load the module within 2000 ms");
}

class GarbageInACall : public ::testing::TestWithParam<const char*> {};

TEST_P(GarbageInACall, EndsTheWorkerAndFailsTheCall) {
  HostileFixture fixture(GetParam());
  ASSERT_EQ(fixture.problem(), "");
  const Said said = fixture.ask("bash");
  EXPECT_EQ(said.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(said.failure, "its worker was killed: it sent a malformed message (in its answer to a call)");
  EXPECT_TRUE(fixture.log.has("its worker is killed: it sent a malformed message"));
}

INSTANTIATE_TEST_SUITE_P(Rules, GarbageInACall, ::testing::Values("unknown_op", "garbage_service", "unknown_service"),
                         [](const auto& each) { return std::string(each.param); });

class TooMuchAtTheStart : public ::testing::TestWithParam<const char*> {};

TEST_P(TooMuchAtTheStart, IsRefused) {
  const HostileFixture fixture(GetParam());
  EXPECT_EQ(fixture.problem(),
            fixture.path + " could not start: its worker was killed: it sent a malformed message (in its start)");
}

INSTANTIATE_TEST_SUITE_P(Rules, TooMuchAtTheStart,
                         ::testing::Values("boots_with_many_rows", "boots_with_no_event", "boots_with_many_notes",
                                           "boots_with_no_concurrency", "boots_with_a_long_id", "boots_with_two_lines"),
                         [](const auto& each) { return std::string(each.param); });

TEST(HostileWorker, ThatNeverStopsAskingIsEndedAtTheDeadline) {
  HostileFixture fixture("floods");
  ASSERT_EQ(fixture.problem(), "");
  EXPECT_EQ(fixture.ask("bash", {Milliseconds(200), 0, {}}).status, AGENTD_E_DEADLINE);
}

TEST(HostileWorker, ThatNeverStopsAskingIsEndedWhenTheCallIsCancelled) {
  HostileFixture fixture("floods");
  ASSERT_EQ(fixture.problem(), "");
  testing::How how{Milliseconds(600'000), 0, {}};
  std::thread user([&] {
    ::usleep(30'000);
    how.cancel.cancel(AGENTD_CANCEL_USER);
  });
  EXPECT_EQ(fixture.ask("bash", how).status, AGENTD_E_CANCELLED);
  user.join();
}

class GarbageInTheDoorbell : public ::testing::TestWithParam<const char*> {};

TEST_P(GarbageInTheDoorbell, EndsTheWorkerAndFailsTheCall) {
  HostileFixture fixture(GetParam());
  ASSERT_EQ(fixture.problem(), "");
  const Said said = fixture.ask("bash");
  EXPECT_EQ(said.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(said.failure, "its worker was killed: it sent a malformed message (in its doorbell)");
}

INSTANTIATE_TEST_SUITE_P(Rules, GarbageInTheDoorbell,
                         ::testing::Values("rings_for_no_lane", "rings_as_if_it_had_ended", "rings_without_end"),
                         [](const auto& each) { return std::string(each.param); });

TEST(HostileWorker, ThatStopsInTheMiddleOfAnAnswerIsEndedAtTheDeadline) {
  HostileFixture fixture("stalls");
  ASSERT_EQ(fixture.problem(), "");
  const Said said = fixture.ask("bash", {Milliseconds(200), 0, {}});
  EXPECT_EQ(said.status, AGENTD_E_DEADLINE);
  EXPECT_EQ(said.failure, "it did not answer before its deadline");
  EXPECT_TRUE(fixture.is_early());
}

TEST(HostileWorker, ThatStopsInTheMiddleOfAnAnswerIsEndedWhenTheCallIsCancelled) {
  HostileFixture fixture("stalls");
  ASSERT_EQ(fixture.problem(), "");
  testing::How how{Milliseconds(60'000), 0, {}};
  std::thread user([&] {
    ::usleep(30'000);
    how.cancel.cancel(AGENTD_CANCEL_USER);
  });
  EXPECT_EQ(fixture.ask("bash", how).status, AGENTD_E_CANCELLED);
  user.join();
  EXPECT_TRUE(fixture.is_early());
}

TEST(HostileWorker, ThatScribblesWhileItsHostReadsHarmsNobody) {
  HostileFixture fixture("scribbles");
  ASSERT_EQ(fixture.problem(), "");
  const Said said = fixture.ask("bash", {Milliseconds(2'000), 0, {}});
  EXPECT_LT(said.status, 0);
  EXPECT_FALSE(said.blocked);
}

TEST(HostileWorker, ThatForgesTokensReachesNoCallOfAnother) {
  HostileFixture fixture("forges");
  ASSERT_EQ(fixture.problem(), "");
  // A call of another plugin, which is under way.
  const SlotLease slot(fixture.tokens);
  Dispatch event;
  event.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
  slot->announce(event.event, 1);
  (void)slot->open(&event);
  EXPECT_EQ(fixture.ask("bash").reason, "0 forged tokens were taken");
  EXPECT_TRUE(slot->take_answer().actions.empty());
  slot->close();
}

TEST(HostileWorker, HasOneBudgetForAllBodiesThatAreOnTheirWay) {
  HostileFixture fixture("hoards");
  ASSERT_EQ(fixture.problem(), "");
  EXPECT_EQ(fixture.ask("bash").reason, "0 " + std::to_string(AGENTD_E_TOO_BIG));
}

TEST(HostileWorker, ThatAsksForWhatItWasNotGrantedIsDenied) {
  HostileFixture fixture("asks_for_more");
  ASSERT_EQ(fixture.problem(), "");
  EXPECT_EQ(fixture.ask("bash").reason, std::to_string(AGENTD_E_DENIED));
}

}  // namespace
}  // namespace agentd
