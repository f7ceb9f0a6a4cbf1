// SPDX-License-Identifier: Apache-2.0
// worker_hooks_test.cc - what a user sees of a native hook whose worker hangs or crashes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class WorkerHooks : public ::testing::Test {
 protected:
  WorkerHooks() { program_.drop_hook(AGENTD_TROUBLE_HOOK); }
  std::string hook() const { return program_.home() + "/hooks/trouble.so"; }
  Finished talk() { return program_.run({"run", "hello", "--script", program_.script("- text: a\n")}); }
  // Other bytes, the same code.
  void mend() const { std::ofstream(hook(), std::ios::app | std::ios::binary) << "mended"; }

  Program program_;
};

TEST_F(WorkerHooks, TimeoutOfOneHookEndsItsCall) {
  // An hour for the event: without the hook's own time this test does not end.
  program_.config("hooks: {deadline_ms: 3600000, trouble: {timeout_ms: 200, config: {do: sleep}}}\n");
  const Finished ran = talk();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.err, "trouble")) << ran.err;
  EXPECT_TRUE(has(ran.err, "it did not answer before its deadline")) << ran.err;
}

TEST_F(WorkerHooks, CrashesOfRunsThatFollowEachOtherSetItAside) {
  program_.config("hooks: {trouble: {config: {do: crash}}}\n");
  for (int run = 1; run <= 3; ++run) {
    const Finished ran = talk();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(has(ran.err, "SIGSEGV")) << run << ": " << ran.err;
  }
  const Finished fourth = talk();
  EXPECT_EQ(fourth.code, 0) << fourth.err;
  EXPECT_TRUE(has(fourth.err, "trouble.so is quarantined since ")) << fourth.err;
  EXPECT_TRUE(has(fourth.err, "it crashed its worker 3 times in 60 s (signal 11)")) << fourth.err;
  EXPECT_FALSE(has(fourth.err, "SIGSEGV")) << fourth.err;

  EXPECT_EQ(program_.run({"hooks", "release", "trouble"}).code, 0);
  const Finished released = talk();
  EXPECT_TRUE(has(released.err, "SIGSEGV")) << released.err;
  EXPECT_FALSE(has(talk().err, "is quarantined")) << "the crashes from before the release still count";
}

TEST_F(WorkerHooks, HangsOfRunsThatFollowEachOtherSetItAside) {
  program_.config("hooks: {trouble: {timeout_ms: 300, config: {do: sleep}}}\n");
  for (int run = 1; run <= 3; ++run) {
    const Finished ran = talk();
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(has(ran.err, "it did not answer before its deadline")) << run << ": " << ran.err;
  }
  const Finished fourth = talk();
  EXPECT_EQ(fourth.code, 0) << fourth.err;
  EXPECT_TRUE(has(fourth.err, "trouble.so is quarantined since ")) << fourth.err;
  EXPECT_TRUE(has(fourth.err, "it hung its worker 3 times in 60 s (a call did not return before its deadline)"))
      << fourth.err;
}

TEST_F(WorkerHooks, SlowEndOfASessionIsNoHang) {
  program_.drop_hook(AGENTD_LINGER_HOOK);
  const Finished ran = talk();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.err, "it did not answer before its deadline")) << ran.err;
  std::error_code none;  // no directory: nothing was quarantined, ever
  for (const auto& kept : std::filesystem::directory_iterator(program_.home() + "/quarantine", none))
    ADD_FAILURE() << "it is held against the hook: " << kept.path();
}

TEST_F(WorkerHooks, CrashesOfOtherBytesDoNotCount) {
  program_.config("hooks: {dev: true, trouble: {config: {do: crash}}}\n");
  for (int run = 1; run <= 4; ++run) {
    const Finished ran = talk();
    EXPECT_TRUE(has(ran.err, "SIGSEGV")) << run << ": " << ran.err;
    EXPECT_FALSE(has(ran.err, "is quarantined")) << run << ": " << ran.err;
    mend();
  }
}

// The program where nothing lies beside it.
class Alone {
 public:
  Alone() {
    std::filesystem::create_directory(directory_.file("bin"));
    std::filesystem::copy_file(AGENTD_BINARY, directory_.file("bin") + "/agentd");
    ::setenv("AGENTD_E2E_BINARY", (directory_.file("bin") + "/agentd").c_str(), 1);
  }
  ~Alone() { ::unsetenv("AGENTD_E2E_BINARY"); }

 private:
  TempDir directory_;
};

TEST_F(WorkerHooks, MissingWorkerIsToldWhereverHooksAre) {
  const Alone alone;
  const std::string sentence =
      "trouble.so is not loaded: its program agentd-hook-worker is missing: install it next to agentd, or set "
      "hooks.trouble.isolation to 'in-process'";
  const std::vector<std::vector<std::string>> commands{
      {"--plugins"}, {"--plugins=verify"}, {"--plugins=json"}, {"doctor"}, {"hooks", "list"}};
  for (const auto& command : commands) {
    const Finished told = program_.run(command);
    EXPECT_TRUE(has(told.out, sentence)) << command.back() << ": " << told.out << told.err;
    EXPECT_FALSE(has(told.out, "verdict: ok")) << command.back() << ": " << told.out;
  }
  EXPECT_TRUE(has(talk().err, sentence)) << "and the run says something else";
}

TEST_F(WorkerHooks, MissingWorkerOfAGuardBreaksTheDoctor) {
  EXPECT_EQ(program_.run({"doctor", "--set", "provider=scripted"}).code, 0);
  program_.config("hooks: {trouble: {on_failure: closed}}\n");
  const Alone alone;
  const Finished told = program_.run({"doctor", "--set", "provider=scripted"});
  EXPECT_EQ(told.code, 1) << told.out;
  EXPECT_TRUE(has(told.out, "BROKEN  guard trouble: ")) << told.out;
}

TEST_F(WorkerHooks, MissingWorkerIsNothingToAHookOfTheProcess) {
  const Alone alone;
  program_.config("hooks: {trouble: {isolation: in-process}}\n");
  EXPECT_TRUE(has(program_.run({"--plugins"}).out, "verdict: ok"));
}

}  // namespace
}  // namespace agentd::testing
