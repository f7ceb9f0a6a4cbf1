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
#include <fstream>
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

// How many processes have such a command line; one that ended has an empty one.
template <typename Wanted>
std::size_t count_processes(Wanted wanted) {
  std::size_t out = 0;
  DIR* const all = ::opendir("/proc");
  while (const dirent* const entry = ::readdir(all))
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0 && wanted(command_of(entry->d_name))) ++out;
  ::closedir(all);
  return out;
}

// How many processes have that word among their arguments.
std::size_t processes_with(const std::string& word) {
  const std::string whole = '\0' + word + '\0';
  return count_processes([&](const std::string& command) { return command.find(whole) != std::string::npos; });
}

// How many are that nap itself, and not a program that is about to become one.
std::size_t naps_of(const std::string& time) {
  const std::string whole = std::string("sleep") + '\0' + time + '\0';
  return count_processes([&](const std::string& command) { return command == whole; });
}

// Its children that are there to end what it leaves behind.
std::size_t guards_of(pid_t host) {
  const std::string number = std::to_string(host);
  std::ifstream all("/proc/" + number + "/task/" + number + "/children");
  std::size_t out = 0;
  for (std::string pid; all >> pid;) out += static_cast<std::size_t>(command_of(pid).starts_with("process-guard"));
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
    const Finished next = program_.run(scripted({"run", "--no-hooks", "--follow", "go on"}, "- text: well\n"));
    EXPECT_EQ(next.code, 0) << next.err;
    EXPECT_EQ(next.out, "well\n");
  }

  Program program_;
};

TEST_F(Processes, AnInterruptEndsAHookThatHangs) {
  program_.drop_hook(AGENTD_HANG_HOOK);
  Running running =
      program_.start(scripted({"run", "--allow", "*", "look"},
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
  Running running = program_.start(
      scripted({"run", "--allow", "*", "wait"}, "- calls: [{name: bash, input: {command: \"trap '' INT TERM; sleep " +
                                                    nap() + " & sleep " + nap() + "\"}}]\n- text: never\n"));
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

// Whatever hides from its parents, too: a kill leaves no time to end anything.
TEST_F(Processes, WhatAKilledRunHasStartedEndsWithIt) {
  const std::string naps =
      "sleep " + nap() + " & (setsid env -i sleep " + nap() + " >/dev/null 2>&1 &); sleep " + nap();
  for (const bool hook : {false, true}) {
    if (hook) {
      const std::string hooks = program_.home() + "/hooks";
      ASSERT_TRUE(make_directories(hooks));
      ASSERT_TRUE(
          write_file_atomically(hooks + "/naps.yaml", "on: before_tool_call\ncommand: \"" + naps + "\"\n", 0600));
    }
    Running running =
        program_.start(scripted({"run", "--allow", "*", "wait"},
                                "- calls: [{name: bash, input: {command: \"" + naps + "\"}}]\n- text: never\n"));
    for (int i = 0; i < 10'000 && naps_of(nap()) < 3; ++i) ::usleep(1'000);
    ASSERT_EQ(naps_of(nap()), 3u) << running.err();
    EXPECT_EQ(guards_of(running.pid()), 1u);
    running.signal(SIGKILL);
    EXPECT_EQ(running.wait().code, 128 + SIGKILL);
    for (int i = 0; i < 10'000 && processes_with(nap()) > 0; ++i) ::usleep(1'000);
    EXPECT_EQ(processes_with(nap()), 0u);
  }
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
  const Finished ran =
      program_.run({"run", "hi", "--set", "base_url=" + server.url(), "--set",
                    "providers.anthropic.idle_timeout_ms=25000", "--set", "providers.anthropic.max_retries=0"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "hello\n");
  EXPECT_EQ(server.requests().size(), 2u);
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(15));
}

TEST_F(Processes, ACommandFindsNoKeyInTheEnvironmentOfAgentd) {
  program_.set("ANTHROPIC_API_KEY=sk-of-the-user");
  program_.set("SOME_SERVICE_TOKEN=also-of-the-user");
  program_.set("AGENTD_SANDBOX_LAYER=off");  // in which agentd's environment cannot be read at all
  const Finished ran =
      program_.run(scripted({"run", "x", "--json", "--allow", "bash"},
                            "- calls: [{name: bash, input: {command: \"tr '\\\\0' ',' </proc/$PPID/environ\"}}]\n"
                            "- text: done\n"));
  EXPECT_EQ(ran.out.find("of-the-user"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("PATH="), std::string::npos) << ran.out;
}

#if !defined(AGENTD_SANITIZED_BUILD)  // whose shadow memory no limit leaves room for
// At whatever moment there is no more memory or no further thread.
TEST_F(Processes, TooLittleMemoryIsOneSentenceAndNothingIsBlamedForIt) {
  const std::string script = program_.script("- calls: [{name: bash, input: {command: echo ran}}]\n- text: end\n");
  const std::string place = "cd " + program_.project() + " && HOME=" + program_.directory().path() +
                            " AGENTD_HOME=" + program_.home() + " PATH=/usr/bin:/bin ";
  bool some_ended = false, some_failed = false, crashed = false;
  for (int megabytes = 60; megabytes <= 260; megabytes += 4) {
    const std::string errors = program_.directory().file("errors");
    const std::string command = place + "sh -c 'ulimit -v " + std::to_string(megabytes * 1024) + "; exec " +
                                AGENTD_BINARY + " run go --allow bash --script " + script + "' > /dev/null 2> " +
                                errors;
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status));
    const int code = WEXITSTATUS(status);
    std::ifstream in(errors);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    // The loader of programs has a code and a sentence of its own, and RapidJSON 1.1 uses memory that it did not get.
    const bool by_library = code == 127 || code == 128 + SIGSEGV;
    EXPECT_TRUE(code == 0 || code == 1 || code == 6 || by_library) << megabytes << " MB: " << code << "\n" << text;
    EXPECT_EQ(text.find("terminate called"), std::string::npos) << megabytes << " MB: " << text;
    crashed = crashed || code == 128 + SIGSEGV;
    some_ended = some_ended || code == 0;
    some_failed = some_failed || code != 0;
  }
  EXPECT_TRUE(some_ended && some_failed);
  const Finished after = program_.run({"run", "go", "--allow", "bash", "--script", script});
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_TRUE(crashed || after.err.find("quarantined") == std::string::npos) << after.err;
}
#endif

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

// ---- commands of the session

TEST_F(Processes, ABackgroundCommandEndsWithTheRun) {
  const std::string call = "- calls: [{name: bash, input: {command: \"(setsid env -i sleep " + nap() +
                           " >/dev/null 2>&1 &); sleep " + nap() + "\", background: true}}]\n";
  const Finished ran = program_.run(scripted({"run", "--allow", "*", "serve"},
                                             call + "- calls: [{name: bash_output, input: {id: 1}}]\n- text: done\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "done\n");
  EXPECT_TRUE(has(ran.err, "ended a background command of the session")) << ran.err;
  EXPECT_EQ(processes_with(nap()), 0u);
}

TEST_F(Processes, AChatListsTheBackgroundCommandsOfItsSession) {
  const Finished ran = program_.run(
      scripted({"chat", "--allow", "*"},
               "- calls: [{name: bash, input: {command: \"exec sleep " + nap() +
                   "\", background: true}}, {name: bash, input: {command: \"exit 0\", background: true}}]\n"
                   "- text: done\n- text: more\n"),
      "go\n/status\ngo on\n/status\n/clear\n/status\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string line = "command 1 runs: bash -c exec sleep " + nap() + "\n";
  const std::size_t first = ran.out.find(line);
  ASSERT_NE(first, std::string::npos) << ran.out;
  EXPECT_TRUE(has(ran.out, "command 2 has ended (exited): bash -c exit 0\n")) << ran.out;
  const std::size_t second = ran.out.find(line, first + 1);
  EXPECT_NE(second, std::string::npos) << "it continues between the messages";
  EXPECT_EQ(ran.out.find(line, second + 1), std::string::npos) << "/clear has ended it";
  EXPECT_EQ(processes_with(nap()), 0u);
}

// The control of the first test.
TEST_F(Processes, ARunWithoutBackgroundCommandsTellsNothing) {
  const Finished ran = program_.run(
      scripted({"run", "--allow", "*", "look"}, "- calls: [{name: bash, input: {command: \"true\"}}]\n- text: done\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(has(ran.err, "background command")) << ran.err;
}

TEST_F(Processes, WhatACommandLeavesBehindEndsWithIt) {
  const Finished ran = program_.run(
      scripted({"run", "--allow", "*", "go"}, "- calls: [{name: bash, input: {command: \"(setsid env -i sleep " +
                                                  nap() + " >/dev/null 2>&1 &); echo left\"}}]\n- text: done\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(processes_with(nap()), 0u);
}

TEST_F(Processes, ALongOutputIsInAFileThatALaterRunReads) {
  const Finished ran = program_.run(scripted({"run", "--json", "--allow", "*", "count"},
                                             "- calls: [{name: bash, input: {command: \"seq 100000\"}}]\n"
                                             "- text: done\n"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::string start = program_.home() + "/spill/" + program_.newest() + "/";
  const std::size_t at = ran.out.find(start);
  ASSERT_NE(at, std::string::npos) << ran.out;
  const std::string path = ran.out.substr(at, ran.out.find(".out", at) + 4 - at);
  ASSERT_TRUE(exists(path));
  const Finished next = program_.run(
      scripted({"run", "--json", "--follow", "read it"},
               "- calls: [{name: read_file, input: {path: '" + path + "', offset: 50000, limit: 1}}]\n- text: ok\n"));
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_TRUE(has(next.out, "50000\\t50000")) << next.out;
  // Another conversation does not see it, and a deleted one has none.
  const std::string conversation = program_.newest();
  const Finished other =
      program_.run(scripted({"run", "--json", "read it"}, "- calls: [{name: read_file, input: {path: '" + path +
                                                              "', offset: 50000, limit: 1}}]\n- text: ok\n"));
  EXPECT_TRUE(has(other.out, "outside of the workspace")) << other.out;
  EXPECT_EQ(program_.run({"conversation", "delete", conversation, "--yes"}).code, 0);
  EXPECT_FALSE(exists(path));
}

}  // namespace
}  // namespace agentd::testing
