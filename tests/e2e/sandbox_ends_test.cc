// SPDX-License-Identifier: Apache-2.0
// sandbox_ends_test.cc - however `agentd sandbox run` ends, what its command did that it may not is undone, and nothing
// of the command goes on.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

class SandboxEnds : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    program_.set("HOME=" + program_.directory().file("user"));
    ASSERT_TRUE(make_directories(program_.directory().file("user")));
    if (program_.run(words("true")).code != 0) GTEST_SKIP() << "this machine cannot make the layer";
  }
  static std::vector<std::string> words(const std::string& script) {
    return {"sandbox", "run", "--layer", GetParam(), "--", "bash", "-c", script};
  }
  bool there(const std::string& name) const { return exists(program_.project() + "/" + name); }
  void wait_for(const std::string& name) const {
    for (int i = 0; i < 3'000 && !there(name); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(there(name)) << name;
  }
  // A command that has made what it may not, and writes into "beats" until it is ended.
  Running start() {
    Running out =
        program_.start(words("echo evil > .mcp.json; trap '' TERM HUP INT; echo >> beats; touch did; while true; do "
                             "echo >> beats; sleep 0.02; done"));
    wait_for("did");
    return out;
  }
  // True once nothing is written any more.
  bool has_ended() const {
    const auto size = [&] { return fs::file_size(program_.project() + "/beats"); };
    for (int i = 0; i < 300; ++i) {
      const auto before = size();
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      if (size() == before) return true;
    }
    return false;
  }

  Program program_;
};

TEST_P(SandboxEnds, BySignalsThatItUndoesAfter) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    Running running = start();
    running.signal(signal);
    const Finished done = running.wait();
    EXPECT_EQ(done.code, 128 + signal);
    EXPECT_TRUE(has(done.err, ".mcp.json was made by the command")) << done.err;
    EXPECT_FALSE(there(".mcp.json"));
    EXPECT_TRUE(has_ended());
    fs::remove(program_.project() + "/did");
  }
}

TEST_P(SandboxEnds, ShowsTheOutputAsItComes) {
  Running running = program_.start(words("echo first; until test -e go; do sleep 0.01; done; echo second; exit 7"));
  EXPECT_TRUE(running.wait_for_out("first\n"));
  EXPECT_FALSE(has(running.out(), "second"));
  program_.file("go", "");
  const Finished done = running.wait();
  EXPECT_EQ(done.code, 7);
  EXPECT_EQ(done.out, "first\nsecond\n");
}

TEST_P(SandboxEnds, ByAKillThatTheNextOneUndoesAfter) {
  {
    Running running = start();
    running.signal(SIGKILL);
    EXPECT_EQ(running.wait().code, 128 + SIGKILL);
  }
  EXPECT_TRUE(has_ended()) << "a command outlives agentd";
  EXPECT_TRUE(there(".mcp.json")) << "the control: nobody was left to undo it";
  const Finished next = program_.run(words("[ ! -e .mcp.json ] && echo gone"));
  EXPECT_EQ(next.code, 0);
  EXPECT_EQ(next.out, "gone\n");
  EXPECT_TRUE(has(next.err, ".mcp.json was made by a command of an agentd that was killed")) << next.err;
  const Finished third = program_.run(words("true"));
  EXPECT_EQ(third.err, "");
  EXPECT_TRUE(fs::is_empty(program_.home() + "/cage"));
}

// The one that ends first undoes a change of the other, in whichever process.
TEST_P(SandboxEnds, WhileAnotherAgentdRunsOne) {
  program_.file(".vscode", "mine\n");
  Running running = program_.start(words("echo evil > .mcp.json; touch did; until [ -e go ]; do sleep 0.02; done"));
  wait_for("did");
  const Finished second = program_.run(words("true"));
  EXPECT_EQ(second.code, 1);
  EXPECT_TRUE(has(second.err, ".mcp.json was made while this command and others ran")) << second.err;
  EXPECT_FALSE(there(".mcp.json"));
  program_.file("go", "");
  const Finished first = running.wait();
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.err, "");
  EXPECT_TRUE(there(".vscode"));
  EXPECT_EQ(program_.run(words("true")).err, "") << "the control";
}

// What was restored by one is no change for the other.
TEST_P(SandboxEnds, AfterAnotherAgentdHasRestoredWhatItChanged) {
  if (std::string(GetParam()) != "landlock") GTEST_SKIP() << "nothing that exists can be changed there";
  program_.file(".mcp.json", "mine\n");
  Running running = program_.start(words("echo evil > .mcp.json; touch did; until [ -e go ]; do sleep 0.02; done"));
  wait_for("did");
  EXPECT_EQ(program_.run(words("true")).code, 1);
  EXPECT_EQ(read_file(program_.project() + "/.mcp.json", 100).value_or(""), "mine\n");
  program_.file("go", "");
  EXPECT_EQ(running.wait().err, "");
  EXPECT_EQ(read_file(program_.project() + "/.mcp.json", 100).value_or(""), "mine\n");
}

// At once: the next one waits for the keeper of the one before.
TEST_P(SandboxEnds, ByAKillJustBeforeTheNextOne) {
  for (int round = 0; round < 3; ++round) {
    {
      Running running = start();
      running.signal(SIGKILL);
    }
    const Finished next = program_.run(words("[ ! -e .mcp.json ] && echo gone"));
    EXPECT_EQ(next.out, "gone\n") << next.err;
    EXPECT_FALSE(there(".mcp.json"));
    fs::remove(program_.project() + "/did");
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, SandboxEnds, ::testing::Values("bubblewrap", "landlock"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace agentd::testing
