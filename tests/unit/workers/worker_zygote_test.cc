// SPDX-License-Identifier: Apache-2.0
// worker_zygote_test.cc - workers come from a process that is ready, and from the program where there is none.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/required.h"
#include "tests/unit/workers/worker_fixture.h"

namespace agentd {
namespace {

using testing::children;
using testing::eventually;
using testing::WorkerFixture;
using testing::workers;

std::vector<pid_t> zygotes() {
  std::vector<pid_t> out = children();
  const std::vector<pid_t> others = workers();
  std::erase_if(out, [&](pid_t pid) { return std::find(others.begin(), others.end(), pid) != others.end(); });
  return out;
}

// As those who list processes see it.
std::string arguments_of(pid_t pid) {
  std::string line = testing::proc_file(pid, "cmdline");
  line.resize(line.find_last_not_of('\0') + 1);
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

// How many filters of system calls bind it.
int filters_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("Seccomp_filters:")) return std::stoi(line.substr(16));
  return -1;
}

class WorkerZygote : public ::testing::Test {
 protected:
  void SetUp() override {
    fixture_.options.worker.crashes_max = 1'000;
    fixture_.options.worker.first_pause = fixture_.options.worker.pause_max = Milliseconds(1);
    fixture_.install("moods");
    fixture_.load();
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a program with the threads of a sanitizer cannot be forked: workers are executed";
#endif
    ASSERT_FALSE(zygotes().empty());
  }
  WorkerFixture fixture_;
};

TEST_F(WorkerZygote, IsTheSameForAWorkerAndThoseAfterIt) {
  const std::vector<pid_t> first = zygotes();
  ASSERT_EQ(first.size(), 1u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(fixture_.ask("crash").status, AGENTD_E_INTERNAL);
    EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
  }
  EXPECT_EQ(zygotes(), first);
  ASSERT_EQ(workers().size(), 1u);
  EXPECT_EQ(arguments_of(fixture_.pid()), std::string(AGENTD_HOOK_WORKER) + " moods " + std::to_string(::getpid()));
  EXPECT_EQ(::getsid(fixture_.pid()), fixture_.pid());
}

TEST_F(WorkerZygote, HasEnteredHalfOfTheSandboxAndItsWorkerTheOtherHalf) {
  const int own = filters_of(::getpid());
  if (own < 0 || filters_of(zygotes().at(0)) == own)
    AGENTD_TEST_NEEDS_MORE("this kernel has no filters of system calls");
  EXPECT_EQ(filters_of(zygotes().at(0)), own + 1);
  EXPECT_EQ(filters_of(fixture_.pid()), own + 2);
}

TEST_F(WorkerZygote, ThatEndsLeavesItsWorkersAndTheNextIsExecuted) {
  const pid_t worker = fixture_.pid();
  ASSERT_EQ(::kill(zygotes().at(0), SIGKILL), 0);
  ASSERT_TRUE(eventually([] { return zygotes().empty(); }));
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
  EXPECT_EQ(fixture_.pid(), worker);
  EXPECT_EQ(fixture_.ask("crash").status, AGENTD_E_INTERNAL);
  EXPECT_EQ(fixture_.ask("bash").reason, "no shell here");
  EXPECT_NE(fixture_.pid(), worker);
  EXPECT_TRUE(zygotes().empty());
  EXPECT_EQ(workers().size(), 1u);
}

TEST(WorkerZygotes, EndWithWhatUsesThem) {
  {
    WorkerFixture fixture;
    fixture.install("moods");
    fixture.load();
    EXPECT_FALSE(children().empty());
  }
  EXPECT_TRUE(children().empty());
}

TEST(WorkerWithoutAZygote, IsExecuted) {
  WorkerFixture fixture;
  fixture.options.worker.zygote = false;
  fixture.install("moods");
  fixture.load();
  EXPECT_TRUE(zygotes().empty());
  EXPECT_EQ(workers().size(), 1u);
  EXPECT_EQ(fixture.ask("bash").reason, "no shell here");
}

}  // namespace
}  // namespace agentd
