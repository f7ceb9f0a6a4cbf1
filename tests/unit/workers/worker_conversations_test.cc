// SPDX-License-Identifier: Apache-2.0
// worker_conversations_test.cc - a worker with several calls inside, and one worker for each conversation.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/isolation/window.h"
#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::eventually;
using testing::Said;
using testing::WorkerFixture;
using testing::workers;

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
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { EXPECT_EQ(fixture.ask("meet").reason, "met"); });
  for (std::thread& each : threads) each.join();
}

TEST(ConcurrentWorker, ThatCrashesFailsAllCallsInItWithTheReason) {
  WorkerFixture fixture;
  fixture.install("moods_concurrent", "moods");
  fixture.load();
  std::thread other([&] { EXPECT_EQ(fixture.ask("obey").failure, "its worker was killed by signal 11 (SIGSEGV)"); });
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
    EXPECT_EQ(said.failure, "its worker was killed: a call did not return before its deadline");
  });
  wait_for_another_call(fixture);
  EXPECT_EQ(fixture.ask("hang", {Milliseconds(50), 0, {}}).status, AGENTD_E_DEADLINE);
  other.join();
}

// Eight lanes serve as many calls as come.
TEST(ConcurrentWorker, AnswersFarMoreCallsThanItHasLanes) {
  WorkerFixture fixture;
  fixture.install("moods_concurrent", "moods");
  fixture.load();
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) threads.emplace_back([&] { EXPECT_EQ(fixture.ask("meet").reason, "met"); });
  for (std::thread& each : threads) each.join();
}

TEST(SerialWorker, AnswersOneCallAfterAnother) {
  WorkerFixture fixture;
  fixture.install("moods");
  fixture.load();
  std::vector<std::thread> threads;
  for (agentd_conv i = 1; i <= 32; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round)
        EXPECT_EQ(fixture.ask("bash", {Milliseconds(10'000), i, {}}).reason, "no shell here");
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(fixture.ask("calls").reason, "321");
}

TEST(ConcurrentWorker, ThatHasAllCallsAndScopesOpenGetsNoFurtherCall) {
  WorkerFixture fixture;
  fixture.install("moods_concurrent", "moods");
  fixture.load();
  const CancelToken cancel;
  std::thread hoarder([&] { (void)fixture.ask("hoard scopes", {Milliseconds(60'000), 0, cancel}); });
  const std::string opened =
      "opened " + std::to_string(PayloadWindow::kLiveWords - 1) + " scopes, then got " + std::to_string(AGENTD_E_NOMEM);
  EXPECT_TRUE(eventually([&] { return fixture.log.has("scopes, then got"); }));
  EXPECT_TRUE(fixture.log.has(opened));
  const Said said = fixture.ask("bash");
  EXPECT_EQ(said.status, AGENTD_E_NOMEM);
  EXPECT_NE(said.failure.find(std::to_string(PayloadWindow::kLiveWords) + " calls and scopes open already"),
            std::string::npos)
      << said.failure;
  cancel.cancel(AGENTD_CANCEL_USER);
  hoarder.join();
  // The call that ended leaves one place, whoever keeps its scopes.
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
}

// ---- one for each conversation

// Calls that stay in their workers until they are cancelled, one for each conversation.
class BusyConversations {
 public:
  BusyConversations(WorkerFixture& fixture, agentd_conv many) {
    for (agentd_conv each = 1; each <= many; ++each) {
      cancels_.emplace_back();
      threads_.emplace_back([&fixture, each, cancel = cancels_.back()] {
        EXPECT_EQ(fixture.ask("obey", {Milliseconds(60'000), each, cancel}).status, AGENTD_E_CANCELLED);
      });
    }
    // With the one that belongs to no conversation.
    EXPECT_TRUE(eventually([&] { return fixture.worker().pids().size() == many + 1; }));
  }
  ~BusyConversations() {
    for (std::size_t i = 0; i < threads_.size(); ++i) end(i);
  }
  void end(std::size_t index) {
    if (!threads_[index].joinable()) return;
    cancels_[index].cancel(AGENTD_CANCEL_USER);
    threads_[index].join();
  }

 private:
  std::vector<CancelToken> cancels_;
  std::vector<std::thread> threads_;
};

TEST(WorkerForEachConversation, KeepsAllThatAreBusyAndNoMoreThanItMayAfterwards) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.options.worker.conversations_max = 3;
  fixture.load();
  {
    const BusyConversations busy(fixture, 6);
    EXPECT_EQ(fixture.worker().pids().size(), 7u);
  }
  EXPECT_EQ(fixture.worker().pids().size(), 3u);
  EXPECT_TRUE(eventually([] { return workers().size() == 3; }));
}

TEST(WorkerForEachConversation, LetsAFurtherOneWaitForAPlace) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.options.worker.conversations_busy_max = 2;
  fixture.load();
  BusyConversations busy(fixture, 2);
  const Said late = fixture.ask("bash", {Milliseconds(100), 3, {}});
  EXPECT_EQ(late.status, AGENTD_E_DEADLINE);
  EXPECT_NE(late.failure.find("its workers of 2 other conversations"), std::string::npos) << late.failure;
  const CancelToken cancel;
  cancel.cancel(AGENTD_CANCEL_USER);
  EXPECT_EQ(fixture.ask("bash", {Milliseconds(60'000), 3, cancel}).status, AGENTD_E_CANCELLED);
  // The one of no conversation needs no place.
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
  std::thread further([&] { EXPECT_EQ(fixture.ask("bash", {Milliseconds(60'000), 3, {}}).reason, "no shell here"); });
  busy.end(0);
  further.join();
  EXPECT_EQ(fixture.worker().pids().size(), 3u) << "the idle one made room";
}

TEST(WorkerForEachConversation, KeepsThemApart) {
  WorkerFixture fixture(Isolation::kProcessPerConversation);
  fixture.install("moods");
  fixture.load();
  std::set<std::string> pids;
  for (const agentd_conv conversation : {0u, 1u, 2u, 1u, 2u})
    pids.insert(fixture.ask("pid", {Milliseconds(10'000), conversation, {}}).reason);
  EXPECT_EQ(pids.size(), 3u);
  EXPECT_EQ(fixture.ask("isolation").reason, std::to_string(AGENTD_ISOLATION_PROCESS_PER_CONVERSATION));
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
  EXPECT_TRUE(fixture.log.has("evicted for another conversation: "));
}

}  // namespace
}  // namespace agentd
