// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "core/base/file.h"
#include "core/process/spawn.h"
#include "tests/unit/worker/test_worker.h"

namespace agentd::testing {
namespace {

WorkerStartOptions ending_puppet() {
  WorkerStartOptions options;
  options.module = AGENTD_WORKER_PLUGINS "/puppet.so";
  return options;
}

// How the worker ends when the hook does that.
struct Way {
  const char* command;
  int signal;        // 0 = none
  int code;          // of exit
  const char* says;  // on standard error
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.command; }

class Ends : public ::testing::TestWithParam<Way> {};

void expect_end(const Way& way, const WorkerStartOptions& options) {
  TestWorker worker(options);
  ASSERT_EQ(worker.create(), AGENTD_OK);
  EXPECT_EQ(worker.say(way.command), AGENTD_E_INTERNAL);
  const int status = worker.wait_end();
  if (way.signal != 0) {
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), way.signal);
    EXPECT_FALSE(WCOREDUMP(status));
  } else {
    ASSERT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), way.code);
  }
  const std::string output = worker.output();
  EXPECT_NE(output.find(way.says), std::string::npos) << output;
}

TEST_P(Ends, AreTheWorkersAlone) { expect_end(GetParam(), ending_puppet()); }

// An exception comes from another C++ library than the worker's own in both cases.
TEST_P(Ends, AreTheWorkersAloneWhenThePluginHasItsOwnLibrary) {
  WorkerStartOptions options;
  options.module = AGENTD_WORKER_PLUGINS "/puppet_static.so";
  expect_end(GetParam(), options);
}

INSTANTIATE_TEST_SUITE_P(Ways, Ends,
                         ::testing::Values(Way{"end abort", SIGABRT, 0, ""}, Way{"end exit", 0, 3, ""},
                                           Way{"end segv", SIGSEGV, 0, ""}, Way{"write_payload", SIGSEGV, 0, ""},
                                           Way{"end throw", SIGABRT, 0,
                                               "an exception left a function of the hook: over the border\n"},
                                           Way{"end throw_int", SIGABRT, 0,
                                               "an exception left a function of the hook: of an unknown type\n"}));

TEST(End, ComesWithTheSignalOfTheHostWhateverTheHookDoes) {
  TestWorker worker(ending_puppet());
  ASSERT_EQ(worker.create(), AGENTD_OK);
  std::thread killer([&] { ::kill(worker.pid(), SIGKILL); });
  EXPECT_EQ(worker.say("end spin"), AGENTD_E_INTERNAL);
  killer.join();
  EXPECT_EQ(WTERMSIG(worker.wait_end()), SIGKILL);
}

// A control group or everything of one name gets them: they are the host's to obey.
TEST(End, IsNotMadeOfSignalsThatAreMeantForTheHost) {
  TestWorker worker(ending_puppet());
  ASSERT_EQ(worker.create(), AGENTD_OK);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
    ASSERT_EQ(::kill(worker.pid(), number), 0);
    EXPECT_EQ(worker.ask("echo well"), "well") << number;
  }
  ::kill(worker.pid(), SIGKILL);
  EXPECT_EQ(WTERMSIG(worker.wait_end()), SIGKILL);
}

TEST(End, OfWhatAHookStartsComesWithThoseSignalsAsEver) {
  WorkerStartOptions options = ending_puppet();
  options.capabilities = {"processes"};
  TestWorker worker(options);
  ASSERT_EQ(worker.create(), AGENTD_OK);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    const std::string end = "signal " + std::to_string(number);
    EXPECT_EQ(worker.ask("signal_in_children " + std::to_string(number)), end + ", " + end);
  }
}

TEST(End, ComesWhenTheHostWritesGarbage) {
  TestWorker worker(ending_puppet());
  worker.send_garbage();
  const int status = worker.wait_end();
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 70);
  EXPECT_EQ(worker.output(), "agentd-hook-worker: the host sent a malformed message\n");
}

// Run by the test below in a process of its own.
TEST(End, DISABLED_OfAHostThatWaits) {
  TestWorker worker(ending_puppet());
  ASSERT_EQ(worker.create(), AGENTD_OK);
  ASSERT_TRUE(write_all(STDOUT_FILENO, "worker " + std::to_string(worker.pid()) + "\n"));
  for (;;) ::pause();
}

std::string read_until(int fd, std::string_view end) {
  std::string out;
  char byte = 0;
  while (!out.ends_with(end) && ::read(fd, &byte, 1) == 1) out += byte;
  return out;
}

bool ends_within_20_s(int pidfd) {
  pollfd ended{pidfd, POLLIN, 0};
  return ::poll(&ended, 1, 20'000) == 1;
}

TEST(End, ComesWithTheEndOfTheHost) {
  const std::vector<std::string> argv{"/proc/self/exe", "--gtest_also_run_disabled_tests",
                                      "--gtest_filter=End.DISABLED_OfAHostThatWaits"};
  const std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  auto host = spawn({argv, environment, ""});
  ASSERT_TRUE(host) << host.error().message;
  (void)read_until(host->output.get(), "worker ");
  const pid_t worker = std::atoi(read_until(host->output.get(), "\n").c_str());
  ASSERT_GT(worker, 0);
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, worker, 0)));
  ASSERT_TRUE(pidfd.valid());
  ASSERT_EQ(::kill(worker, 0), 0);
  ASSERT_EQ(::kill(host->pid, SIGKILL), 0);
  ::waitpid(host->pid, nullptr, 0);
  EXPECT_TRUE(ends_within_20_s(pidfd.get()));
}

// The one that started it ended before it could be watched.
TEST(End, ComesAtOnceForAnOrphan) {
  auto window = PayloadWindow::create();
  auto region = AnswerRegion::create(1);
  ASSERT_TRUE(window && region);
  const std::vector<std::string> argv{AGENTD_WORKER_PROGRAM, "puppet", "1"};
  const std::vector<std::string> environment;
  const int pass[] = {(*window)->fd(), (*window)->fd(), (*region)->fd()};
  SpawnRequest request{argv, environment, "/"};
  request.pass = pass;
  auto child = spawn(request);
  ASSERT_TRUE(child) << child.error().message;
  ASSERT_TRUE(ends_within_20_s(child->pidfd.get()));
  int status = 0;
  ::waitpid(child->pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 70);
}

}  // namespace
}  // namespace agentd::testing
