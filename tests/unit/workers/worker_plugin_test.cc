// SPDX-License-Identifier: Apache-2.0
// worker_plugin_test.cc - a hook in a worker says what it says in the process, and harms nobody
// when it does not.
#include "core/workers/worker_plugin.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "tests/unit/workers/worker_fixture.h"

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
                         ::testing::Values("bash", "nothing", "fail", "later", "later nothing", "scope", "json",
                                           "field", "store", "no store", "count", "illegal", "input", "calls"));

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
  EXPECT_TRUE(eventually([&] { return fixture.log.has("moods worker output: to standard output"); }));
  EXPECT_TRUE(eventually([&] { return fixture.log.has("moods worker output: to standard error"); }));
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
                " is not loaded: its program agentd-hook-worker is missing: install it next to agentd, or set "
                "hooks.moods.isolation to 'in-process'");
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
            path + " could not start: moods: its worker was killed by signal 11 (SIGSEGV)");
}

// ---- beside others

// Workers are started before modules in the process are opened, which changes nothing of who is loaded.
TEST(WorkerBesideOthers, OfTwoWithOneIdTheFirstIsLoadedWhereverTheyRun) {
  for (const bool first_apart : {false, true}) {
    WorkerFixture fixture(Isolation::kInProcess);
    const std::string first = fixture.install("moods", "a"), second = fixture.install("moods", "b");
    fixture.options.plugins[first_apart ? "a" : "b"].isolation = Isolation::kProcess;
    fixture.load();
    ASSERT_EQ(fixture.host->plugins().size(), 1u);
    EXPECT_EQ(fixture.host->plugins()[0]->path(), first);
    ASSERT_EQ(fixture.host->problems().size(), 1u);
    EXPECT_NE(fixture.host->problems()[0].message.find(second + " has the same id"), std::string::npos)
        << fixture.host->problems()[0].message;
  }
}

TEST(WorkerBesideOthers, OfTwoWithOneIdTheSecondIsLoadedWhenTheFirstCannotBe) {
  WorkerFixture fixture(Isolation::kInProcess);
  fixture.install("moods", "a");
  const std::string second = fixture.install("moods", "b");
  fixture.options.plugins["a"].isolation = Isolation::kProcess;
  fixture.options.plugins["a"].config_json = R"({"crash_at_start":1})";
  fixture.load();
  ASSERT_EQ(fixture.host->plugins().size(), 1u);
  EXPECT_EQ(fixture.host->plugins()[0]->path(), second);
}

TEST(WorkerBesideOthers, PluginsKeepTheOrderOfTheirFiles) {
  WorkerFixture fixture(Isolation::kInProcess);
  fixture.install("moods", "b");
  fixture.install_from(AGENTD_BROKEN_HOOKS, "good", "a");
  fixture.options.plugins["b"].isolation = Isolation::kProcess;
  fixture.load();
  ASSERT_EQ(fixture.host->plugins().size(), 2u) << fixture.host->problems().at(0).message;
  EXPECT_EQ(fixture.host->plugins()[0]->identity().name, "a");
  EXPECT_EQ(fixture.host->plugins()[1]->identity().name, "b");
}

// ---- it takes what no limit of a process counts

#if !defined(AGENTD_THREAD_SANITIZED_BUILD)  // whose runtime does not survive threads that it has not seen start

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
#endif

TEST(WorkerThatAnswersMuch, HasOneBudgetForAllAnswersOfACall) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(fixture.ask("answer much").reason, "4 " + std::to_string(AGENTD_E_TOO_BIG));
}

// ---- it ends

TEST(WorkerThatCrashes, FailsTheCallAndIsThereForTheNextOne) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const pid_t before = fixture.pid();
  const Said said = fixture.ask("crash");
  EXPECT_EQ(said.status, AGENTD_E_INTERNAL);
  EXPECT_EQ(said.failure, "its worker was killed by signal 11 (SIGSEGV)");
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
  EXPECT_EQ(said.reason, "the guard 'moods' failed: its worker was killed by signal 11 (SIGSEGV)");
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
  EXPECT_EQ(fixture.ask("crash").failure, "its worker ended; cause unknown");
  ::signal(SIGCHLD, before);
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
}

TEST(WorkerThatCrashes, InAToolFailsTheToolAndKeepsTheOthers) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  const auto answer = fixture.call_tool("boom");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "boom: its worker was killed by signal 11 (SIGSEGV)");
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

INSTANTIATE_TEST_SUITE_P(Kinds, Daemon, ::testing::Values("daemon", "daemon exec"), [](const auto& each) {
  return std::string(each.param == std::string_view("daemon") ? "Forked" : "Executed");
});

// ---- what a repository brings opens nothing by itself

Said ask_for_a_process(Precedence precedence, const char* name, const std::optional<std::set<std::string>>& grants) {
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
  EXPECT_EQ(ask_for_a_process(Precedence::kProject, kName, {{"network", "agentd.store"}}).reason, "EPERM");
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
  EXPECT_EQ(said.failure, "its worker was killed by signal 9 (SIGKILL)");
}

TEST(WorkerThatDies, EndsTheServiceThatItsCallWaitsFor) { expect_service_is_cancelled("compact"); }

TEST(WorkerThatDies, EndsTheServiceThatAThreadOfItsCallWaitsFor) { expect_service_is_cancelled("compact apart"); }

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
  // Closed behind the end of each, while calls go on.
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; })) << open_descriptors() << " were " << before;
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
