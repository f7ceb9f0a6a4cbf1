// SPDX-License-Identifier: Apache-2.0
// worker_plugin_test.cc - a hook in a worker says what it says in the process, and harms nobody
// when it does not.
#include "core/host/worker/worker_plugin.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "tests/unit/host/worker_fixture.h"

namespace agentd {
namespace {

using testing::alive;
using testing::children;
using testing::eventually;
using testing::How;
using testing::open_descriptors;
using testing::Said;
using testing::WorkerFixture;
using testing::workers;

class SaysTheSame : public ::testing::TestWithParam<const char*> {};

TEST_P(SaysTheSame, InTheProcessAndInAWorker) { testing::expect_same(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Moods, SaysTheSame,
                         ::testing::Values("bash", "nothing", "fail", "later", "later nothing",
                                           "scope", "json", "field", "store", "no store", "count",
                                           "illegal", "input", "calls"));

TEST(WorkerPlugin, RunsInAnotherProcess) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  ASSERT_TRUE(fixture.host->problems().empty()) << fixture.host->problems()[0].message;
  const Said said = fixture.ask("pid");
  EXPECT_NE(said.reason, std::to_string(::getpid()));
  EXPECT_EQ(said.reason, std::to_string(fixture.pid()));
  EXPECT_EQ(fixture.worker().isolation(), Isolation::kProcess);
  EXPECT_EQ(fixture.ask("isolation").reason, std::to_string(AGENTD_ISOLATION_PROCESS));
  EXPECT_EQ(fixture.worker().identity().version, "1.2.3");
}

TEST(WorkerPlugin, SeesTheStandardDescriptorsAndItsOwnModuleAlone) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  EXPECT_EQ(fixture.ask("descriptors").reason, "0 1 2 3");
}

TEST(WorkerPlugin, SeesNoKeyOfTheEnvironment) {
  ::setenv("ANTHROPIC_API_KEY", "sk-secret", 1);
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const std::string seen = fixture.ask("environment").reason;
  EXPECT_NE(seen.find("PATH=/usr/bin:/bin\n"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("secret"), std::string::npos) << seen;
  ::unsetenv("ANTHROPIC_API_KEY");
}

TEST(WorkerPlugin, WritesToTheLogWhatItPrints) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  (void)fixture.ask("print");
  EXPECT_TRUE(eventually([&] { return fixture.log.has("moods its output: to standard output"); }));
  EXPECT_TRUE(eventually([&] { return fixture.log.has("moods its output: to standard error"); }));
}

TEST(WorkerPlugin, OffersToolsThatRunThere) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  ASSERT_EQ(fixture.host->tools().tools().size(), 2u);
  const auto answer = fixture.call_tool("echo");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, R"(tag 11 {"a":1})");
}

TEST(WorkerPlugin, HandsItsStateToASuccessor) {
  WorkerFixture first;
  first.install("moods");
  first.load();
  for (int i = 0; i < 3; ++i) (void)first.ask("nothing");
  const auto state = first.worker().save_state();
  ASSERT_TRUE(state && *state);
  EXPECT_EQ(**state, "3");
  WorkerFixture second;
  second.install("moods");
  second.load();
  ASSERT_TRUE(second.worker().load_state("41", "1.0.0"));
  EXPECT_EQ(second.ask("calls").reason, "42");
}

TEST(WorkerPlugin, IsHeldByASaveOfItsStateThatOutlastsItsEnd) {
  WorkerFixture fixture;
  fixture.install("moods_concurrent", "moods");
  fixture.options.plugins["moods"].config_json = R"({"saves_after_end":1})";
  fixture.load();
  std::thread saver([&] {
    const auto state = fixture.worker().save_state();
    ASSERT_TRUE(state && *state);
    EXPECT_EQ(**state, std::to_string(AGENTD_OK));
  });
  ASSERT_TRUE(eventually([&] { return fixture.log.has("saves its state"); }));
  EXPECT_TRUE(fixture.worker().destroy());
  saver.join();
}

TEST(WorkerPlugin, IsDestroyedAndLeavesNoProcess) {
  {
    WorkerFixture fixture;
    fixture.install("moods");
    fixture.load();
    EXPECT_EQ(workers().size(), 1u);
    fixture.host->shutdown();
    EXPECT_TRUE(fixture.log.has("moods destroyed"));
  }
  EXPECT_TRUE(children().empty());
}

TEST(WorkerPlugin, ThatIsNotInstalledIsToldInOneSentence) {
  WorkerFixture fixture;
  const std::string path = fixture.install("moods");
  fixture.options.worker.program = fixture.temp.file("nowhere");
  fixture.load();
  ASSERT_EQ(fixture.host->problems().size(), 1u);
  EXPECT_EQ(fixture.host->problems()[0].message,
            path +
                " is not loaded: the program agentd-hook-worker, in which it runs, is not there: "
                "install it "
                "beside agentd, or set hooks.moods.isolation to 'in-process'");
}

TEST(WorkerPlugin, ThatDoesNotStartSaysWhyAndLeavesNothing) {
  WorkerFixture fixture;
  const std::string path = fixture.install("moods");
  fixture.options.plugins["moods"].config_json = R"({"no_start":1})";
  fixture.load();
  ASSERT_EQ(fixture.host->problems().size(), 1u);
  EXPECT_EQ(fixture.host->problems()[0].message, path + " could not start: moods: not today");
  fixture.host.reset();
  EXPECT_TRUE(children().empty());
}

TEST(WorkerPlugin, ThatCrashesAtItsStartIsAProblemAndNoMore) {
  WorkerFixture fixture;
  const std::string path = fixture.install("moods");
  fixture.options.plugins["moods"].config_json = R"({"crash_at_start":1})";
  fixture.load();
  ASSERT_EQ(fixture.host->problems().size(), 1u);
  EXPECT_EQ(fixture.host->problems()[0].message,
            path + " could not start: moods: its worker was ended by signal 11 (SIGSEGV)");
}

// ---- it takes what no limit of a process counts

TEST(WorkerWithThreads, WithoutEndIsEnded) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const pid_t before = fixture.pid();
  EXPECT_EQ(fixture.ask("many threads").reason, "700");
  EXPECT_TRUE(eventually([&] { return !alive(before); }));
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here") << "a new one has taken its place";
}

TEST(WorkerWithThreads, AsAnyRuntimeHasLivesOn) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const pid_t before = fixture.pid();
  EXPECT_EQ(fixture.ask("some threads").reason, "200");
  ::usleep(700'000);  // they are counted four times a second
  EXPECT_EQ(fixture.pid(), before);
}

TEST(WorkerThatAnswersMuch, HasOneBudgetForAllAnswersOfACall) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(fixture.ask("answer much").reason, "4 " + std::to_string(AGENTD_E_TOO_BIG));
}

// ---- it ends

TEST(WorkerThatCrashes, FailsTheCallAndIsThereForTheNextOne) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const pid_t before = fixture.pid();
  const Said said = fixture.ask("crash");
  EXPECT_EQ(said.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(said.failure, "its worker was ended by signal 11 (SIGSEGV)");
  EXPECT_FALSE(said.blocked);
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  EXPECT_NE(fixture.pid(), before);
  EXPECT_TRUE(fixture.log.has("moods its worker was started again"));
}

TEST(WorkerThatCrashes, BlocksWhenItIsAGuard) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.plugins["moods"].on_failure = FailurePolicy::kClosed;
  fixture.load();
  const Said said = fixture.ask("crash");
  EXPECT_TRUE(said.blocked && said.by_failure);
  EXPECT_EQ(said.reason, "the guard 'moods' failed: its worker was ended by signal 11 (SIGSEGV)");
}

TEST(WorkerThatExits, IsToldWithItsStatus) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  EXPECT_EQ(fixture.ask("exit").failure, "its worker ended by itself with status 0");
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
}

TEST(WorkerThatCrashes, WhereTheSystemForgetsHowIsToldAsSuch) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(fixture.ask("crash").failure, "its worker ended; nobody can tell how");
  ::signal(SIGCHLD, before);
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
}

TEST(WorkerThatCrashes, InAToolFailsTheToolAndKeepsTheOthers) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const auto answer = fixture.call_tool("boom");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "boom: its worker was ended by signal 11 (SIGSEGV)");
  EXPECT_EQ(fixture.host->tools().tools().size(), 2u);
  const auto again = fixture.call_tool("echo");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->content, R"(tag 11 {"a":1})");
  EXPECT_EQ(fixture.host->tools().tools().size(), 2u);
}

// ---- what it started ends with it, whatever it did to get away

class Daemon : public ::testing::TestWithParam<const char*> {
 protected:
  void start(WorkerFixture& fixture) {
    fixture.install("moods_processes");
    fixture.load();
    ASSERT_EQ(fixture.host->plugins().size(), 1u) << fixture.host->problems().at(0).message;
    pid_ = std::atoi(fixture.ask(GetParam()).reason.c_str());
    ASSERT_GT(pid_, 1);
    ASSERT_TRUE(alive(pid_));
  }
  void TearDown() override {
    if (pid_ > 1 && alive(pid_)) ::kill(pid_, SIGKILL);
  }
  pid_t pid_ = 0;
};

TEST_P(Daemon, OfAWorkerLivesAsLongAsTheWorker) {
  WorkerFixture fixture;
  start(fixture);
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  EXPECT_TRUE(alive(pid_));
}

TEST_P(Daemon, OfAWorkerEndsWhenTheWorkerIsEnded) {
  {
    WorkerFixture fixture;
    start(fixture);
  }
  EXPECT_TRUE(eventually([&] { return !alive(pid_); }));
}

TEST_P(Daemon, OfAWorkerEndsWhenTheWorkerCrashes) {
  WorkerFixture fixture;
  start(fixture);
  (void)fixture.ask("crash");
  EXPECT_TRUE(eventually([&] { return !alive(pid_); }));
}

TEST_P(Daemon, OfAnotherWorkerIsLeftAlone) {
  WorkerFixture fixture;
  start(fixture);
  {
    WorkerFixture other;
    other.install("moods_processes");
    other.load();
    const pid_t of_other = std::atoi(other.ask(GetParam()).reason.c_str());
    ASSERT_TRUE(alive(of_other));
    other.host.reset();
    EXPECT_TRUE(eventually([&] { return !alive(of_other); }));
  }
  EXPECT_TRUE(alive(pid_));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Daemon, ::testing::Values("daemon", "daemon exec"),
                         [](const auto& each) {
                           return std::string(each.param == std::string_view("daemon")
                                                  ? "Forked"
                                                  : "Executed");
                         });

// ---- what a repository brings opens nothing by itself

Said ask_for_a_process(Precedence precedence, const char* name,
                       const std::optional<std::set<std::string>>& grants) {
  WorkerFixture fixture;
  fixture.options.directories = {{fixture.hooks(), precedence}};
  fixture.options.plugins[name].grants = grants;
  fixture.install("moods_processes");
  fixture.load();
  if (fixture.host->plugins().size() != 1) return {};
  Said said = fixture.ask("daemon");
  if (std::atoi(said.reason.c_str()) > 1) said.reason = "a process";
  return said;
}

TEST(CapabilitiesOfAHook, HoldForWhatTheUserPutThere) {
  EXPECT_EQ(ask_for_a_process(Precedence::kUser, "moods_processes", {}).reason, "a process");
}

TEST(CapabilitiesOfAHook, NeedAGrantWhenARepositoryBringsIt) {
  constexpr const char* kName = "project/moods_processes";
  EXPECT_EQ(ask_for_a_process(Precedence::kProject, kName, {}).reason, "EPERM");
  EXPECT_EQ(ask_for_a_process(Precedence::kProject, kName, {{"network", "agentd.store"}}).reason,
            "EPERM");
  EXPECT_EQ(ask_for_a_process(Precedence::kProject, kName, {{"processes"}}).reason, "a process");
}

TEST(WorkerThatIsKilled, WhileNobodyCallsIsReplacedByTheNextCall) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const pid_t before = fixture.pid();
  ASSERT_EQ(::kill(before, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return fixture.pid() != before; }));
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
}

// The worker is killed while its host is in a service that ends only when it is told to.
void expect_service_is_cancelled(const char* mood) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const pid_t pid = fixture.pid();
  std::atomic<bool> cancelled{false};
  fixture.services.on_compact = [&](const ServiceCaller& caller) {
    ::kill(pid, SIGKILL);
    cancelled.store(eventually([&] { return caller.cancel.cancelled(); }));
  };
  const Said said = fixture.ask(mood);
  EXPECT_TRUE(cancelled.load());
  EXPECT_EQ(said.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(said.failure, "its worker was ended by signal 9 (SIGKILL)");
}

TEST(WorkerThatDies, EndsTheServiceThatItsCallWaitsFor) { expect_service_is_cancelled("compact"); }

TEST(WorkerThatDies, EndsTheServiceThatAThreadOfItsCallWaitsFor) {
  expect_service_is_cancelled("compact apart");
}

TEST(WorkerThatIsCancelled, EndsTheServiceThatItsCallWaitsFor) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  How how;
  std::atomic<bool> cancelled{false};
  fixture.services.on_compact = [&](const ServiceCaller& caller) {
    how.cancel.cancel(AGENTD_CANCEL_USER);
    cancelled.store(caller.cancel.reason() == AGENTD_CANCEL_USER);
  };
  (void)fixture.ask("compact", how);
  EXPECT_TRUE(cancelled.load());
}

TEST(WorkerThatCrashes, FiftyTimesLeavesNoDescriptorAndNoZombie) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.crashes_max = 1'000;
  fixture.options.worker.first_pause = Milliseconds(0);
  fixture.load();
  (void)fixture.ask("crash");
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(fixture.ask("crash").status, AGENTD_E_INTERNAL) << i;
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  EXPECT_TRUE(eventually([&] { return workers().size() == 1; })) << workers().size();
  EXPECT_EQ(open_descriptors(), before);
}

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
            "is set aside: it hung its worker 3 times in 60 s (a call of it did not answer before "
            "its deadline); mend it, or run 'agentd hooks release moods'");
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
            "is set aside: it crashed or hung its worker 3 times in 60 s (signal 11); mend it, or "
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
  EXPECT_EQ(said.failure, "its worker was ended by signal 11 (SIGSEGV)");
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

// ---- it crashes again and again

TEST(WorkerThatKeepsCrashing, IsSetAsideAtTheThirdTime) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.options.worker.first_pause = Milliseconds(1);
  fixture.options.quarantine_directory = fixture.temp.file("quarantine");
  fixture.load();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(fixture.ask("crash").failure, "its worker was ended by signal 11 (SIGSEGV)") << i;
  const Said said = fixture.ask("bash");
  EXPECT_EQ(said.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(said.failure,
            "is set aside: it crashed its worker 3 times in 60 s (signal 11); mend it, or run "
            "'agentd hooks "
            "release moods'");
  EXPECT_TRUE(fixture.log.has("is set aside"));
  EXPECT_TRUE(eventually([] { return workers().empty(); }));
  // And it is not loaded the next time.
  WorkerFixture next;
  next.options.directories = fixture.options.directories;
  next.options.quarantine_directory = fixture.options.quarantine_directory;
  next.load();
  ASSERT_EQ(next.host->problems().size(), 1u);
  EXPECT_NE(next.host->problems()[0].message.find("crashed its worker 3 times in 60 s (signal 11)"),
            std::string::npos)
      << next.host->problems()[0].message;
}

TEST(WorkerThatKeepsCrashing, WaitsLongerBeforeEachNewOne) {
  WorkerOptions options;
  options.crashes_max = 100;
  ManualClock clock;
  CrashBook book(options, clock);
  EXPECT_EQ(book.next_start_ns(), 0u);
  const std::uint64_t now = clock.monotonic_ns();
  const std::uint64_t ms = 1'000'000;
  for (const std::uint64_t pause :
       {std::uint64_t{0}, 100 * ms, 400 * ms, 1'600 * ms, 6'400 * ms, 10'000 * ms}) {
    EXPECT_FALSE(book.note(now, EndKind::kCrash, "signal 11"));
    EXPECT_EQ(book.next_start_ns(), pause == 0 ? 0 : now + pause);
  }
}

TEST(WorkerThatKeepsHanging, WaitsLikeOneThatCrashes) {
  WorkerOptions options;
  options.crashes_max = 100;
  ManualClock clock;
  CrashBook book(options, clock);
  const std::uint64_t now = clock.monotonic_ns();
  for (const EndKind kind : {EndKind::kHang, EndKind::kCutShort})
    EXPECT_FALSE(book.note(now, kind, "no answer"));
  EXPECT_EQ(book.next_start_ns(), now + 100'000'000u);
}

TEST(WorkerThatKeepsBeingCutShort, IsNotSetAsideAndWhatItsHostEndedIsNoFault) {
  WorkerOptions options;
  options.crashes_max = 1;
  ManualClock clock;
  CrashBook book(options, clock);
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(book.note(clock.monotonic_ns(), EndKind::kWanted, "it was not needed"));
  EXPECT_EQ(book.next_start_ns(), 0u);
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(book.note(clock.monotonic_ns(), EndKind::kCutShort, "it was cancelled"));
  EXPECT_EQ(book.set_aside(), "");
  EXPECT_TRUE(book.note(clock.monotonic_ns(), EndKind::kHang, "no answer"));
  EXPECT_EQ(book.set_aside(), "hung its worker 1 time in 60 s (no answer)");
}

TEST(WorkerThatKeepsCrashing, IsForgivenWhatIsLongerAgoThanTheWindow) {
  WorkerOptions options;
  ManualClock clock;
  CrashBook book(options, clock);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(book.note(clock.monotonic_ns(), EndKind::kCrash, "signal 11"));
    clock.advance(Milliseconds(31'000));
  }
  EXPECT_EQ(book.set_aside(), "");
  clock.advance(Milliseconds(61'000));
  EXPECT_EQ(book.next_start_ns(), 0u);
}

// ---- what is held against it

// Its program is a link that a test turns to something else.
class WorkerProgram : public ::testing::Test {
 protected:
  WorkerProgram() {
    turn_to(AGENTD_HOOK_WORKER);
    fixture_.install("moods");
    fixture_.options.worker.program = link_;
    fixture_.options.worker.zygote = false;  // which would be the program of before
    fixture_.options.worker.crashes_max = 1;
    fixture_.options.worker.first_pause = fixture_.options.worker.pause_max = Milliseconds(1);
    fixture_.options.quarantine_directory = fixture_.temp.file("quarantine");
  }
  void turn_to(const std::string& program) const {
    std::filesystem::remove(link_);
    std::filesystem::create_symlink(program, link_);
  }
  void turn_to_script(const std::string& line) {
    fixture_.temp.write("script", "#!/bin/sh\n" + line + "\n");
    std::filesystem::permissions(fixture_.temp.file("script"), std::filesystem::perms::owner_all);
    turn_to(fixture_.temp.file("script"));
  }
  // As who ends all processes of a service does, when the hook has taken away what the worker does about it.
  void terminate() {
    ASSERT_EQ(fixture_.ask("no handlers").status, AGENTD_OK);
    const pid_t pid = fixture_.pid();
    ASSERT_EQ(::kill(pid, SIGTERM), 0);
    ASSERT_TRUE(eventually([&] { return fixture_.pid() != pid; }));
  }

  WorkerFixture fixture_;
  const std::string link_ = fixture_.temp.file("worker");
};

TEST_F(WorkerProgram, ThatSomebodyElseEndedIsNotSetAside) {
  fixture_.load();
  for (int i = 0; i < 3; ++i) {
    terminate();
    EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
  }
  terminate();
  fixture_.host->shutdown();
  EXPECT_FALSE(std::filesystem::exists(fixture_.options.quarantine_directory));
}

TEST_F(WorkerProgram, ThatCannotBeStartedIsNotSetAside) {
  fixture_.load();
  terminate();
  std::filesystem::remove(link_);
  for (int i = 0; i < 4; ++i) {
    const Said said = fixture_.ask("bash");
    EXPECT_NE(said.failure.find("could not get a worker"), std::string::npos) << said.failure;
  }
  turn_to(AGENTD_HOOK_WORKER);
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
}

TEST_F(WorkerProgram, ThatHasNoTimeToStartIsNotSetAside) {
  fixture_.options.worker.start_time = Milliseconds(3'000);
  fixture_.load();
  terminate();
  turn_to_script("exec sleep 600");
  const Said said = fixture_.ask("bash");
  EXPECT_NE(said.failure.find("did not load it within 3000 ms"), std::string::npos) << said.failure;
  turn_to(AGENTD_HOOK_WORKER);
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
}

TEST_F(WorkerProgram, ThatEndsAtItsStartIsSetAside) {
  fixture_.load();
  terminate();
  turn_to_script("exit 3");
  const Said said = fixture_.ask("bash");
  EXPECT_NE(said.failure.find("ended by itself with status 3"), std::string::npos) << said.failure;
  turn_to(AGENTD_HOOK_WORKER);
  EXPECT_EQ(fixture_.ask("bash").failure,
            "is set aside: it crashed its worker 1 time in 60 s (it did not start); mend it, or "
            "run 'agentd hooks release moods'");
}

TEST_F(WorkerProgram, ThatHangsInItsOnlyCallIsNotLoadedAgain) {
  fixture_.options.worker.hang_time = Milliseconds(0);
  fixture_.load();
  (void)fixture_.ask("hang", {Milliseconds(50), 0, {}});
  fixture_.host->shutdown();
  fixture_.load();
  ASSERT_EQ(fixture_.host->problems().size(), 1u);
  EXPECT_NE(fixture_.host->problems()[0].message.find("hung its worker 1 time in 60 s"),
            std::string::npos)
      << fixture_.host->problems()[0].message;
}

TEST_F(WorkerProgram, ThatCrashesAtItsEndIsNotLoadedAgain) {
  fixture_.options.plugins["moods"].config_json = R"({"crash_at_end":1})";
  fixture_.load();
  fixture_.host->shutdown();
  fixture_.load();
  ASSERT_EQ(fixture_.host->problems().size(), 1u);
  EXPECT_NE(fixture_.host->problems()[0].message.find("crashed its worker 1 time in 60 s"),
            std::string::npos)
      << fixture_.host->problems()[0].message;
}

TEST(WorkerForEachConversation, ThatIsSlowToMakeRoomHasNotHung) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.options.plugins["moods"].config_json = R"({"hang_at_end":1})";
  fixture.options.quarantine_directory = fixture.temp.file("quarantine");
  fixture.options.worker.conversations_max = 2;
  fixture.options.worker.eviction_time = Milliseconds(100);
  fixture.options.worker.hang_time = Milliseconds(0);
  fixture.load();
  for (const agentd_conv conversation : {1u, 2u})
    (void)fixture.ask("bash", {Milliseconds(10'000), conversation, {}});
  EXPECT_TRUE(eventually([&] { return fixture.log.has("making room for another conversation: "); }));
  EXPECT_FALSE(std::filesystem::exists(fixture.options.quarantine_directory));
  for (const pid_t pid : fixture.worker().pids()) (void)::kill(pid, SIGKILL);
}

// ---- several at once

// Returns when the worker has had a call that is not one of these.
void wait_for_another_call(WorkerFixture& fixture) {
  for (int own = 1; fixture.ask("calls").reason == std::to_string(own); ++own) ::usleep(1'000);
}

TEST(ConcurrentWorker, HasEightCallsInsideAtOnce) {
  WorkerFixture fixture;
  fixture.install("moods_concurrent", "moods");
  fixture.load();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { EXPECT_EQ(fixture.ask("meet").reason, "met"); });
  for (std::thread& each : threads) each.join();
}

TEST(ConcurrentWorker, ThatCrashesFailsAllCallsInItWithTheReason) {
  WorkerFixture fixture;
  fixture.install("moods_concurrent", "moods");
  fixture.load();
  std::thread other([&] {
    EXPECT_EQ(fixture.ask("obey").failure, "its worker was ended by signal 11 (SIGSEGV)");
  });
  wait_for_another_call(fixture);
  (void)fixture.ask("crash");
  other.join();
}

TEST(ConcurrentWorker, ThatIsEndedForOneCallTellsTheOthers) {
  WorkerFixture fixture;
  fixture.install("moods_concurrent", "moods");
  fixture.load();
  std::thread other([&] {
    const Said said = fixture.ask("obey");
    EXPECT_EQ(said.status, AGENTD_E_INTERNAL);
    EXPECT_EQ(said.failure,
              "its worker was ended: a call of it did not answer before its deadline");
  });
  wait_for_another_call(fixture);
  EXPECT_EQ(fixture.ask("hang", {Milliseconds(50), 0, {}}).status, AGENTD_E_DEADLINE);
  other.join();
}

// ---- one for each conversation

TEST(WorkerForEachConversation, KeepsThemApart) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.load();
  std::set<std::string> pids;
  for (const agentd_conv conversation : {0u, 1u, 2u, 1u, 2u})
    pids.insert(fixture.ask("pid", {Milliseconds(10'000), conversation, {}}).reason);
  EXPECT_EQ(pids.size(), 3u);
  EXPECT_EQ(fixture.ask("isolation").reason,
            std::to_string(AGENTD_ISOLATION_PROCESS_PER_CONVERSATION));
  (void)fixture.ask("crash", {Milliseconds(10'000), 1, {}});
  EXPECT_TRUE(pids.contains(fixture.ask("pid", {Milliseconds(10'000), 2, {}}).reason));
  EXPECT_FALSE(pids.contains(fixture.ask("pid", {Milliseconds(10'000), 1, {}}).reason));
}

TEST(WorkerForEachConversation, RunsItsToolsThere) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.load();
  const auto answer = fixture.call_tool("echo", 7);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, R"(tag 11 {"a":1})");
  EXPECT_EQ(fixture.host->tools().tools().size(), 2u);
  EXPECT_EQ(fixture.ask("calls", {Milliseconds(10'000), 7, {}}).reason, "2");
  EXPECT_EQ(fixture.ask("calls").reason, "1");
}

TEST(WorkerForEachConversation, EndsTheOneUsedLongestAgo) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.options.worker.conversations_max = 3;
  fixture.load();
  for (const agentd_conv conversation : {1u, 2u, 1u, 3u})
    (void)fixture.ask("nothing", {Milliseconds(10'000), conversation, {}});
  EXPECT_EQ(fixture.worker().pids().size(), 3u);
  EXPECT_EQ(fixture.ask("calls", {Milliseconds(10'000), 1, {}}).reason, "3");
  EXPECT_EQ(fixture.ask("calls", {Milliseconds(10'000), 2, {}}).reason, "1");  // a new one
  EXPECT_TRUE(eventually([] { return workers().size() == 3; }));
}

TEST(WorkerForEachConversation, EndsAllOfThemAtOnce) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.options.plugins["moods"].config_json = R"({"waits_at_end":1})";
  fixture.options.worker.control_time = Milliseconds(6'000);
  fixture.options.worker.grace = Milliseconds(30'000);
  fixture.load();
  for (const agentd_conv conversation : {1u, 2u, 3u})
    (void)fixture.ask("nothing", {Milliseconds(10'000), conversation, {}});
  fixture.host->shutdown();
  // Each of them waits until its time is over: all have begun before the first one goes.
  std::string order;
  for (const std::string& line : fixture.log.lines()) {
    if (line.find("waits at its end") != std::string::npos) order += "w";
    if (line.find("destroyed") != std::string::npos) order += "d";
  }
  EXPECT_EQ(order, "wwwwdddd");
}

TEST(WorkerForEachConversation, MakesRoomWithoutKeepingTheCallThatNeedsIt) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.options.plugins["moods"].config_json = R"({"waits_at_end":1})";
  fixture.options.worker.conversations_max = 2;
  fixture.options.worker.eviction_time = Milliseconds(60'000);
  fixture.load();
  const std::string first = fixture.ask("pid", {Milliseconds(10'000), 1, {}}).reason;
  EXPECT_EQ(fixture.ask("bash", {Milliseconds(10'000), 2, {}}).reason, "no shell here");
  EXPECT_EQ(::kill(std::stoi(first), 0), 0) << "it was waited for";
  EXPECT_TRUE(eventually([&] { return fixture.log.has("waits at its end"); }));
  // Nobody waits for its time to be over here either.
  (void)::kill(std::stoi(first), SIGKILL);
  for (const pid_t pid : fixture.worker().pids()) (void)::kill(pid, SIGKILL);
  fixture.host.reset();
  EXPECT_TRUE(fixture.log.has("making room for another conversation: "));
}

// ---- which place

Isolation placed(const PluginHostOptions& options, bool bundled, std::string_view recommends) {
  HookFile file;
  file.name = "lint";
  file.bundled = bundled;
  Manifest manifest;
  manifest.isolation = recommends;
  return isolation_of(options, file, manifest);
}

TEST(PlaceOfAHook, IsWhatTheUserSaysOfItByName) {
  PluginHostOptions options;
  options.plugins["lint"].isolation = Isolation::kInProcess;
  EXPECT_EQ(placed(options, false, "process-per-conversation"), Isolation::kInProcess);
  options.plugins["lint"].isolation = Isolation::kProcess;
  EXPECT_EQ(placed(options, true, ""), Isolation::kProcess);
}

TEST(PlaceOfAHook, IsTheProcessForBundledOnesAlone) {
  const PluginHostOptions options;
  EXPECT_EQ(placed(options, true, ""), Isolation::kInProcess);
  EXPECT_EQ(placed(options, false, ""), Isolation::kProcess);
}

TEST(PlaceOfAHook, FollowsAManifestThatAsksForMoreWallsAndNotForFewer) {
  PluginHostOptions options;
  EXPECT_EQ(placed(options, false, "in-process"), Isolation::kProcess);
  EXPECT_EQ(placed(options, false, "process-per-conversation"), Isolation::kProcessPerConversation);
  options.isolation = Isolation::kInProcess;
  EXPECT_EQ(placed(options, false, "process-per-conversation"), Isolation::kInProcess);
}

// The watchdog, who waits in the call and who waits for its end: none of them counts the host's own time.
TEST(WorkerThatIsServed, HasTheTimeThatWasLeftWhenTheServiceBegan) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.services.on_compact = [](const ServiceCaller& caller) {
    std::this_thread::sleep_for(Milliseconds(700));
    EXPECT_FALSE(caller.cancel.cancelled());
  };
  fixture.load();
  fixture.tokens.watch(fixture.clock);
  const pid_t before = fixture.pid();
  const Said served = fixture.ask("compact", {Milliseconds(300), 0, {}});
  EXPECT_EQ(served.status, AGENTD_E_IO) << served.failure;  // what the service said
  // Here another thread is served, and the call waits to be told that its time is over.
  const auto start = std::chrono::steady_clock::now();
  const Said apart = fixture.ask("compact apart", {Milliseconds(300), 0, {}});
  EXPECT_EQ(apart.status, AGENTD_E_DEADLINE);
  EXPECT_GE(std::chrono::steady_clock::now() - start, Milliseconds(700));
  EXPECT_EQ(fixture.pid(), before);
}

}  // namespace
}  // namespace agentd
