// SPDX-License-Identifier: Apache-2.0
// worker_parts_test.cc - what a worker plugin is made of: lines for the log, tokens, the
// supervisor.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/external/external_hook.h"
#include "core/process/family.h"
#include "core/process/spawn.h"
#include "core/workers/aside.h"
#include "core/workers/line_log.h"
#include "core/workers/supervisor.h"
#include "core/workers/token_ledger.h"
#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::children;
using testing::eventually;
using testing::RecordingLog;

TEST(LineLog, PutsLinesTogetherAndCutsLongOnes) {
  RecordingLog log;
  ManualClock clock;
  LineLog lines(log, clock, "lint");
  lines.add("one\ntw");
  EXPECT_TRUE(log.has("lint worker output: one"));
  EXPECT_FALSE(log.has("tw"));
  lines.add("o\n\n   \n" + std::string(10'000, 'x') + "\nlast");
  EXPECT_TRUE(log.has("lint worker output: two"));
  EXPECT_TRUE(log.has("xxx [cut off]"));
  EXPECT_FALSE(log.has(std::string(LineLog::kLineBytesMax + 1, 'x')));
  lines.finish();
  EXPECT_TRUE(log.has("lint worker output: last"));
}

TEST(LineLog, CountsWhatIsTooMuch) {
  RecordingLog log;
  ManualClock clock;
  LineLog lines(log, clock, "lint");
  for (std::uint32_t i = 0; i < LineLog::kLinesPerSecond + 7; ++i) lines.add("line " + std::to_string(i) + ".\n");
  EXPECT_TRUE(log.has("line " + std::to_string(LineLog::kLinesPerSecond - 1) + "."));
  EXPECT_FALSE(log.has("line " + std::to_string(LineLog::kLinesPerSecond) + "."));
  clock.advance(Milliseconds(1'000));
  lines.add("the next second\n");
  EXPECT_TRUE(log.has("7 lines of worker output were dropped"));
  EXPECT_TRUE(log.has("the next second"));
}

TEST(TokenLedger, KnowsTheTokensThatItWasGiven) {
  TokenLedger ledger;
  const agentd_live live{0, 0, UINT64_MAX};
  agentd_live mirror{0, 0, 0};
  ledger.add(5, live, &mirror, CancelToken());
  EXPECT_TRUE(TokenLedger::Use(ledger, 5));
  EXPECT_FALSE(TokenLedger::Use(ledger, 6));
  ledger.remove(5);
  EXPECT_FALSE(TokenLedger::Use(ledger, 5));
}

// Calls of many sessions that are pending in one worker: each hears of its own end.
TEST(TokenLedger, TellsEachOfManyPendingCalls) {
  constexpr agentd_token kCalls = 200;
  const SystemClock clock;
  TokenLedger ledger;
  const agentd_live live{0, 0, UINT64_MAX};
  agentd_live mirror{0, 0, 0};
  for (agentd_token token = 1; token <= kCalls; ++token) ledger.add(token, live, &mirror, CancelToken());
  std::vector<std::thread> threads;
  for (agentd_token token = 1; token <= kCalls; ++token)
    threads.emplace_back([&, token] {
      std::optional<agentd_status> status;
      while (!status) status = ledger.wait_completed(token, clock, Milliseconds(60'000));
      EXPECT_EQ(*status, static_cast<agentd_status>(token));
      ledger.remove(token);
    });
  for (agentd_token token = kCalls; token > 0; --token) {
    const TokenLedger::Use use(ledger, token);
    ledger.set_completed(token, static_cast<agentd_status>(token));
  }
  for (std::thread& each : threads) each.join();
}

TEST(TokenLedger, WakesAllThatWaitWhenTheWorkerHasEnded) {
  constexpr agentd_token kCalls = 20;
  const SystemClock clock;
  TokenLedger ledger;
  const agentd_live live{0, 0, UINT64_MAX};
  agentd_live mirror{0, 0, 0};
  std::atomic<agentd_token> waiting{kCalls};
  for (agentd_token token = 1; token <= kCalls; ++token) ledger.add(token, live, &mirror, CancelToken());
  std::vector<std::thread> threads;
  for (agentd_token token = 1; token <= kCalls; ++token)
    threads.emplace_back([&, token] {
      EXPECT_FALSE(ledger.wait_completed(token, clock, Milliseconds(3'600'000)));
      --waiting;
    });
  while (waiting.load() != 0) {
    ledger.wake();
    ::usleep(1'000);
  }
  for (std::thread& each : threads) each.join();
}

TEST(TokenLedger, DoesNotEndATokenThatIsInUse) {
  TokenLedger ledger;
  const agentd_live live{0, 0, UINT64_MAX};
  agentd_live mirror{0, 0, 0};
  ledger.add(5, live, &mirror, CancelToken());
  std::atomic<bool> removed{false};
  std::thread owner;
  {
    const TokenLedger::Use use(ledger, 5);
    owner = std::thread([&] {
      ledger.remove(5);
      removed.store(true);
    });
    // Nobody new gets it, and who has it keeps it.
    while (TokenLedger::Use(ledger, 5)) ::usleep(100);
    EXPECT_FALSE(removed.load());
  }
  owner.join();
  EXPECT_TRUE(removed.load());
}

TEST(TokenLedger, CancelsWhatIsDoneForATokenThatEnds) {
  TokenLedger ledger;
  const agentd_live live{0, 0, UINT64_MAX};
  agentd_live mirror{0, 0, 0};
  const CancelToken services, others;
  ledger.add(5, live, &mirror, services);
  ledger.add(6, live, &mirror, others);
  std::thread service;
  std::atomic<bool> begun{false};
  service = std::thread([&] {
    const TokenLedger::Use use(ledger, 5);
    begun.store(true);
    EXPECT_TRUE(eventually([&] { return services.cancelled(); }));
  });
  while (!begun.load()) ::usleep(100);
  ledger.remove(5);
  service.join();
  EXPECT_FALSE(others.cancelled());
}

TEST(TokenLedger, CancelsEverythingForAWorkerThatIsGivenUp) {
  TokenLedger ledger;
  const agentd_live live{0, 0, UINT64_MAX};
  agentd_live mirror{0, 0, 0};
  const CancelToken before, after;
  ledger.add(5, live, &mirror, before);
  ledger.cancel_all();
  ledger.add(6, live, &mirror, after);
  EXPECT_TRUE(before.cancelled());
  EXPECT_TRUE(after.cancelled());
}

TEST(TokenLedger, CopiesTheWordsAndKeepsACancelThatWasSet) {
  TokenLedger ledger;
  agentd_live live{0, 0, 700};
  agentd_live mirror{AGENTD_CANCEL_DEADLINE, 0, 0};
  ledger.add(5, live, &mirror, CancelToken());
  ledger.refresh(5);
  EXPECT_EQ(mirror.cancel, AGENTD_CANCEL_DEADLINE);
  EXPECT_EQ(mirror.deadline_ns, 700u);
  live = {AGENTD_CANCEL_USER, 0, 800};
  ledger.refresh(5);
  EXPECT_EQ(mirror.cancel, AGENTD_CANCEL_USER);
  EXPECT_EQ(mirror.deadline_ns, 800u);
}

TEST(TokenLedger, LimitsWhatOneTokenMakesItsHostKeep) {
  using Kept = TokenLedger::Kept;
  TokenLedger ledger;
  const agentd_live live{0, 0, UINT64_MAX};
  agentd_live mirror{0, 0, 0};
  ledger.add(5, live, &mirror, CancelToken());
  for (const auto& [kind, most] : {std::pair(Kept::kAnswers, TokenLedger::kAnswerBytesMax),
                                   std::pair(Kept::kResults, TokenLedger::kBytesMax - TokenLedger::kAnswerBytesMax)}) {
    EXPECT_TRUE(ledger.spend(5, kind, most - 1));
    EXPECT_FALSE(ledger.spend(5, kind, 2));
    EXPECT_TRUE(ledger.spend(5, kind, 1));
    EXPECT_FALSE(ledger.spend(5, kind, UINT64_MAX));
  }
}

TEST(TokenLedger, LimitsWhatAllTokensTogetherMakeTheirHostKeep) {
  using Kept = TokenLedger::Kept;
  TokenLedger ledger;
  const agentd_live live{0, 0, UINT64_MAX};
  agentd_live mirror{0, 0, 0};
  for (agentd_token token = 1; token < 10; ++token) ledger.add(token, live, &mirror, CancelToken());
  std::uint64_t kept = 0;
  for (agentd_token token = 1; token < 10; ++token)
    while (ledger.spend(token, Kept::kAnswers, 13u << 20)) kept += 13u << 20;
  EXPECT_LE(kept, TokenLedger::kBytesMax);
  EXPECT_GT(kept, TokenLedger::kBytesMax - (13u << 20));
  ledger.remove(1);
  EXPECT_TRUE(ledger.spend(9, Kept::kAnswers, 13u << 20)) << "what one token had is free again";
}

TEST(Aside, KeepsNobodyAndTakesNoMoreThanItMay) {
  std::atomic<bool> go_on{false};
  std::atomic<int> ended{0};
  const auto work = [&] {
    while (!go_on.load()) ::usleep(100);
    ended.fetch_add(1);
  };
  Aside aside(2);
  EXPECT_TRUE(aside.run(work));
  EXPECT_TRUE(aside.run(work));
  EXPECT_FALSE(aside.run(work));
  EXPECT_EQ(ended.load(), 0);
  go_on.store(true);
  aside.wait();
  EXPECT_EQ(ended.load(), 2);
  EXPECT_TRUE(aside.run(work));
  aside.wait();
  EXPECT_EQ(ended.load(), 3);
}

TEST(Aside, EndsAPieceThatThrowsAndNothingElse) {
  Aside aside(1);
  EXPECT_TRUE(aside.run([] { throw std::bad_alloc(); }));
  aside.wait();
  bool ran = false;
  EXPECT_TRUE(aside.run([&] { ran = true; }));
  aside.wait();
  EXPECT_TRUE(ran);
}

TEST(BackgroundRuns, EndARunThatThrowsAndWaitForNoneForEver) {
  BackgroundRuns runs;
  for (std::size_t i = 0; i < BackgroundRuns::kRunsMax * 2; ++i)
    while (!runs.start([](const CancelToken&) { throw std::runtime_error("no luck"); })) ::usleep(100);
  runs.finish(SystemClock(), Milliseconds(10));
}

TEST(WorkerSupervisor, TellsHowAProgramEnded) {
  RecordingLog log;
  SystemClock clock;
  WorkerSupervisor supervisor(log, clock);
  std::atomic<int> code{-2};
  // A shell that is given the name as a script.
  auto id = supervisor.start({"/bin/sh", "no-such-script", {}}, [&](const Exit& exit) { code.store(exit.code); });
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_TRUE(eventually([&] { return code.load() != -2; }));
  EXPECT_GT(code.load(), 0);
  EXPECT_TRUE(eventually([] { return children().empty(); }));
  EXPECT_EQ(supervisor.pid(*id), -1);
  EXPECT_TRUE(log.has("no-such-script worker output: "));
}

TEST(WorkerSupervisor, SaysThatThereIsNoSuchProgram) {
  RecordingLog log;
  SystemClock clock;
  WorkerSupervisor supervisor(log, clock);
  const auto id = supervisor.start({"/nowhere/worker", "lint", {}}, [](const Exit&) {});
  ASSERT_FALSE(id);
  EXPECT_NE(id.error().message.find("/nowhere/worker does not exist"), std::string::npos) << id.error().message;
}

TEST(WorkerSupervisor, LeavesNoProcessBehind) {
  RecordingLog log;
  SystemClock clock;
  std::atomic<int> ended{0};
  {
    WorkerSupervisor supervisor(log, clock);
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(supervisor.start({"/bin/sleep", "1000", {}}, [&](const Exit&) { ended.fetch_add(1); }));
  }
  EXPECT_TRUE(children().empty());
  EXPECT_EQ(ended.load(), 3);
}

TEST(WorkerSupervisor, HearsOfAnEndThatTheSystemForgets) {
  RecordingLog log;
  SystemClock clock;
  std::atomic<int> ended{0};
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  {
    WorkerSupervisor supervisor(log, clock);
    const auto id = supervisor.start({"/bin/sleep", "1000", {}}, [&](const Exit&) { ++ended; });
    ASSERT_TRUE(id);
    supervisor.end(*id);
    EXPECT_EQ(supervisor.pid(*id), -1);
  }
  ::signal(SIGCHLD, before);
  EXPECT_EQ(ended.load(), 1);
}

// How many warnings it gives of two workers; RLIMIT_RTTIME is not to be raised again, so this is for a process
// of its own.
int warnings_of_brands(bool limited) {
  const rlimit taken{1u << 30, 1u << 30};
  if (limited && ::setrlimit(RLIMIT_RTTIME, &taken) != 0) return -1;
  RecordingLog log;
  SystemClock clock;
  {
    WorkerSupervisor supervisor(log, clock);
    for (int i = 0; i < 2; ++i)
      if (!supervisor.start({"/bin/sleep", "1000", {}}, [](const Exit&) {})) return -1;
  }
  int out = 0;
  for (const std::string& line : log.lines())
    if (line.find("leaves behind may outlive it: RLIMIT_RTTIME") != std::string::npos) ++out;
  return out;
}

TEST(WorkerSupervisor, SaysOnceThatWhatAWorkerLeavesCannotBeKnown) {
  EXPECT_EXIT(std::_Exit(warnings_of_brands(true)), ::testing::ExitedWithCode(1), "");
  EXPECT_EXIT(std::_Exit(warnings_of_brands(false)), ::testing::ExitedWithCode(0), "");
}

TEST(Family, TellsWhenSomebodyIsLeft) {
  const std::vector<std::string> argv{"/bin/sleep", "1000"}, environment{"PATH=/usr/bin:/bin"};
  auto child = spawn({argv, environment, ""});
  ASSERT_TRUE(child) << child.error().message;
  Family family(child->pid, {});
  EXPECT_FALSE(family.kill_all(0));
  EXPECT_TRUE(family.kill_all(500));
  EXPECT_TRUE(reap(*child, "sleep", true));
}

TEST(WorkerSupervisor, EndsWhatAWorkerStarted) {
  RecordingLog log;
  SystemClock clock;
  WorkerSupervisor supervisor(log, clock);
  testing::TempDir temp;
  const std::string script = temp.write("s", "setsid sleep 1000 & echo $! > " + temp.file("pid") + "\nwait\n");
  auto id = supervisor.start({"/bin/sh", script, {}}, [](const Exit&) {});
  ASSERT_TRUE(id);
  std::string text;
  ASSERT_TRUE(eventually([&] {
    text = std::filesystem::exists(temp.file("pid")) ? temp.read("pid") : "";
    return text.ends_with("\n");
  }));
  const pid_t child = std::stoi(text);
  supervisor.end(*id);
  // Whoever inherited it may take its time to reap it.
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  EXPECT_TRUE(eventually([&] {
    std::ifstream in(stat);
    const std::string line{std::istreambuf_iterator<char>(in), {}};
    return line.empty() || line.find(") Z ") != std::string::npos;
  }));
}

TEST(WorkerEnvironment, KeepsHomeLanguageAndTimeZoneAlone) {
  const auto out = worker_environment({"PATH=/x", "HOME=/h", "LANG=C", "LC_ALL=C", "TZ=UTC", "TMPDIR=/t", "USER=u",
                                       "ANTHROPIC_API_KEY=secret", "LD_PRELOAD=/evil.so"});
  EXPECT_EQ(out,
            (std::vector<std::string>{"PATH=/usr/bin:/bin", "HOME=/h", "LANG=C", "LC_ALL=C", "TZ=UTC", "TMPDIR=/t"}));
}

}  // namespace
}  // namespace agentd
