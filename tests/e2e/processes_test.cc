// SPDX-License-Identifier: Apache-2.0
// processes_test.cc - workers and commands of a run: how it ends when they do not, and with a parent
// that ignores the ends of its children.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/program.h"
#include "tests/support/anthropic_wire.h"
#include "tests/support/loopback_server.h"

namespace agentd::testing {
namespace {

std::string command_of(const std::string& pid) {
  const UniqueFd file(::open(("/proc/" + pid + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  const ssize_t got = file.valid() ? ::read(file.get(), buffer, sizeof buffer) : 0;
  return std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
}

// How many processes have that word among their arguments; one that ended has none.
std::size_t processes_with(const std::string& word) {
  std::size_t out = 0;
  const std::string whole = '\0' + word + '\0';
  DIR* const all = ::opendir("/proc");
  while (const dirent* const entry = ::readdir(all))
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0 &&
        command_of(entry->d_name).find(whole) != std::string::npos)
      ++out;
  ::closedir(all);
  return out;
}

class Processes : public ::testing::Test {
 protected:
  // Nothing but an interrupt ends what hangs.
  void SetUp() override { program_.config("hooks:\n  deadline_ms: 3600000\n"); }
  std::vector<std::string> scripted(std::vector<std::string> words, const std::string& script) {
    words.insert(words.begin() + 1, {"--script", program_.script(script)});
    return words;
  }
  // A word that no other process has.
  static std::string nap() { return "600." + std::to_string(::getpid()); }
  // A worker has the number of its host among its arguments.
  static std::size_t workers_of(pid_t host) { return processes_with(std::to_string(host)); }

  // The diagnostic log of the program says it; false after ten seconds.
  bool wait_for_log(const std::string& text) const {
    for (int i = 0; i < 2'000; ++i) {
      const auto log = read_file(program_.home() + "/agentd.log", 1u << 20);
      if (log && log->find(text) != std::string::npos) return true;
      ::usleep(5'000);
    }
    return false;
  }

  // Of the way from the signal to the end; nothing depends on it.
  static void tell_time(std::chrono::steady_clock::time_point start) {
    const auto took = std::chrono::steady_clock::now() - start;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
    RecordProperty("ms", std::to_string(ms));
  }

  void expect_resumable() {
    const Finished next =
        program_.run(scripted({"run", "--no-hooks", "--follow", "go on"}, "- text: well\n"));
    EXPECT_EQ(next.code, 0) << next.err;
    EXPECT_EQ(next.out, "well\n");
  }

  Program program_;
};

TEST_F(Processes, AnInterruptEndsAHookThatHangs) {
  program_.drop_hook(AGENTD_HANG_HOOK);
  Running running = program_.start(
      scripted({"run", "--allow", "*", "look"},
               "- text: I look.\n  calls: [{name: glob, input: {pattern: '*'}}]\n- text: never\n"));
  ASSERT_TRUE(wait_for_log("it hangs now")) << running.err();
  const pid_t host = running.pid();
  ASSERT_EQ(workers_of(host), 1u);
  const auto start = std::chrono::steady_clock::now();
  running.signal(SIGINT);
  const Finished ran = running.wait();
  tell_time(start);
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_EQ(ran.out, "I look.\n");
  EXPECT_EQ(workers_of(host), 0u);
  expect_resumable();
}

TEST_F(Processes, AnInterruptEndsAHookThatHangsBeforeTheFirstTurn) {
  program_.drop_hook(AGENTD_HANG_HOOK);
  Running running = program_.start(scripted({"run", "please hang"}, "- text: never\n"));
  ASSERT_TRUE(wait_for_log("it hangs now")) << running.err();
  const pid_t host = running.pid();
  running.signal(SIGINT);
  EXPECT_EQ(running.wait().code, 130);
  EXPECT_EQ(workers_of(host), 0u);
}

TEST_F(Processes, AnInterruptEndsACommandThatHangs) {
  program_.drop_hook(AGENTD_HANG_HOOK);
  Running running = program_.start(scripted(
      {"run", "--allow", "*", "wait"},
      "- calls: [{name: bash, input: {command: \"trap '' INT TERM; sleep " + nap() + " & sleep " +
          nap() + "\"}}]\n- text: never\n"));
  ASSERT_TRUE(running.wait_for_err("• bash")) << running.err();
  const pid_t host = running.pid();
  for (int i = 0; i < 10'000 && processes_with(nap()) < 2; ++i) ::usleep(1'000);
  ASSERT_EQ(processes_with(nap()), 2u);
  const auto start = std::chrono::steady_clock::now();
  running.signal(SIGINT);
  EXPECT_EQ(running.wait().code, 130);
  tell_time(start);
  EXPECT_EQ(processes_with(nap()), 0u);
  EXPECT_EQ(workers_of(host), 0u);
  expect_resumable();
}

// What a supervisor or a shell has set is inherited; children then end without a trace.
// The model never answers what the hook asks: only the end of its worker ends the request.
TEST_F(Processes, AServiceEndsWithTheWorkerThatAskedForIt) {
  LoopbackServer server([](const RecordedRequest& request) {
    if (request.body.find("For the deserter.") != std::string::npos) return Reply().stall();
    AnthropicWire wire;
    return Reply::stream(wire.start().text({"hello"}).finish("end_turn").bytes());
  });
  program_.set("ANTHROPIC_API_KEY=k");
  program_.set("NO_PROXY=127.0.0.1");
  program_.drop_hook(AGENTD_DESERTER_HOOK);
  const auto from = std::chrono::steady_clock::now();
  const Finished ran = program_.run({"run", "hi", "--set", "base_url=" + server.url(), "--set",
                                     "providers.anthropic.idle_timeout_ms=25000", "--set",
                                     "providers.anthropic.max_retries=0"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "hello\n");
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(15));
}

TEST_F(Processes, ACommandFindsNoKeyInTheEnvironmentOfAgentd) {
  program_.set("ANTHROPIC_API_KEY=sk-of-the-user");
  program_.set("SOME_SERVICE_TOKEN=also-of-the-user");
  const Finished ran = program_.run(
      scripted({"run", "x", "--json", "--allow", "bash"},
               "- calls: [{name: bash, input: {command: \"tr '\\\\0' ',' </proc/$PPID/environ\"}}]\n"
               "- text: done\n"));
  EXPECT_EQ(ran.out.find("of-the-user"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("PATH="), std::string::npos) << ran.out;
}

TEST_F(Processes, AParentThatIgnoresItsChildrenChangesNothing) {
  program_.drop_hook(AGENTD_REFUSE_HOOK);
  const auto words = [&] {
    return scripted({"run", "--allow", "*", "try"},
                    "- calls: [{name: bash, input: {command: 'echo out; exit 3'}}]\n"
                    "- text: done\n  expect: {contains: 'exit code 3'}\n");
  };
  const Finished usual = program_.run(words());
  ASSERT_EQ(usual.code, 0) << usual.err;
  program_.ignore_child_signals();
  const Finished ran = program_.run(words());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, usual.out);
  EXPECT_EQ(program_.run(scripted({"run", "a forbidden word"}, "- text: never\n")).code, 3);
}

}  // namespace
}  // namespace agentd::testing
