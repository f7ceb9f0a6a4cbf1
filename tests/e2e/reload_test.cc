// SPDX-License-Identifier: Apache-2.0
// A plugin whose file is replaced in the middle of a run of the built program, by a tool that the
// model calls.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class ReloadTest : public ::testing::TestWithParam<const char*> {
 protected:
  ReloadTest() {
    program_.set("AGENTD_SANDBOX_LAYER=off");  // its commands replace hooks
    std::filesystem::create_directories(hooks());
  }
  std::string hooks() const { return program_.home() + "/hooks"; }
  std::string log() const { return program_.directory().file("log"); }
  bool in_process() const { return GetParam() == std::string("in-process"); }
  static std::string revision(int number) {
    return std::string(AGENTD_COUNTERS) + "/counter_" + std::to_string(number) + ".so";
  }
  void put(int number) const {
    std::filesystem::copy_file(revision(number), hooks() + "/counter.so",
                               std::filesystem::copy_options::overwrite_existing);
    ::chmod((hooks() + "/counter.so").c_str(), 0644);
  }
  // A worker may not write where it likes, so only an instance in the process keeps a log.
  void configure(bool dev) const {
    const std::string path = in_process() ? log() : "";
    program_.config("hooks:\n  dev: " + std::string(dev ? "true" : "false") +
                    "\n  counter:\n    isolation: " + GetParam() + "\n    config: {log: '" + path + "', say: 'yes'}\n");
  }
  // Three calls of a tool; the second one replaces the file.
  Finished replace_in_a_run(const std::string& by) {
    const std::string command = "cp " + by + " " + hooks() + "/.fresh; chmod 644 " + hooks() + "/.fresh; mv " +
                                hooks() + "/.fresh " + hooks() + "/counter.so";
    return program_.run({"run", "--allow", "bash", "--script",
                         program_.script("- calls: [{name: bash, input: {command: 'true'}}]\n"
                                         "- calls: [{name: bash, input: {command: '" +
                                         command +
                                         "'}}]\n"
                                         "- calls: [{name: bash, input: {command: 'true'}}]\n"
                                         "- calls: [{name: bash, input: {command: 'true'}}]\n"
                                         "- text: done\n"),
                         "go on"});
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::ifstream file(log());
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }
  static bool has(const Finished& ran, const std::string& text) { return ran.err.find(text) != std::string::npos; }

  Program program_;
};

TEST_P(ReloadTest, NewBuildTakesOverBetweenTwoTurnsWithTheState) {
  put(1);
  configure(true);
  const Finished ran = replace_in_a_run(revision(2));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "done\n");
  EXPECT_TRUE(has(ran, "the hook counter was reloaded (1.0.1 to 1.0.2")) << ran.err;
  for (const char* said : {"revision 1 call 1", "revision 1 call 2", "revision 2 call 3", "revision 2 call 4"})
    EXPECT_TRUE(has(ran, said)) << said << "\n" << ran.err;
  EXPECT_FALSE(has(ran, "revision 1 call 3")) << ran.err;
  if (!in_process()) return;
  EXPECT_EQ(lines(), (std::vector<std::string>{"1 created 0", "1 call 1", "1 call 2", "2 created 0", "1 destroyed 2",
                                               "2 call 3", "2 call 4", "2 destroyed 4"}));
}

TEST_P(ReloadTest, BytesThatNobodyTrustedAreRefusedLoudlyAndTheOldOneGoesOn) {
  put(1);
  configure(false);
  const Finished ran = replace_in_a_run(revision(2));
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::size_t told = ran.err.find("agentd hooks trust counter");
  EXPECT_NE(told, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("agentd hooks trust counter", told + 1), std::string::npos) << ran.err;
  EXPECT_TRUE(has(ran, "the version loaded before continues")) << ran.err;
  EXPECT_TRUE(has(ran, "revision 1 call 4")) << ran.err;
  EXPECT_FALSE(has(ran, "revision 2")) << ran.err;
}

TEST_P(ReloadTest, BrokenBuildLeavesTheOldOneInPlace) {
  put(1);
  configure(true);
  const std::string broken = program_.file("broken.so", "no module at all");
  const Finished ran = replace_in_a_run(broken);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran, "the version loaded before continues")) << ran.err;
  EXPECT_TRUE(has(ran, "revision 1 call 4")) << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ReloadTest, ::testing::Values("in-process", "process"), [](const auto& each) {
  return std::string(each.param) == "process" ? "Process" : "InProcess";
});

// `with` takes the guard's place in the middle of a run; whether the call behind that is carried out.
bool call_runs_when_the_guard_becomes(const std::string& with, Finished& ran) {
  Program program;
  program.set("AGENTD_SANDBOX_LAYER=off");  // its commands replace hooks
  const std::string hook = program.home() + "/hooks/turncoat.so", made = program.directory().file("made");
  std::filesystem::create_directories(program.home() + "/hooks");
  std::filesystem::copy_file(AGENTD_TURNCOAT, hook);
  ::chmod(hook.c_str(), 0644);
  program.config("hooks: {dev: true, guards: [turncoat]}\n");
  const std::string put = "cp " + with + " " + hook + ".new; chmod 644 " + hook + ".new; mv " + hook + ".new " + hook;
  ran = program.run(
      {"run", "--allow", "bash", "--script",
       program.script("- calls: [{name: bash, input: {command: '" + put +
                      "'}}]\n- calls: [{name: bash, input: {command: 'touch " + made + "'}}]\n- text: done\n"),
       "go on"});
  return std::filesystem::exists(made);
}

TEST(ReloadOfAGuard, ThatGuardsNothingAnyMoreBlocksWhatItGuarded) {
  Finished ran;
  EXPECT_FALSE(call_runs_when_the_guard_becomes(AGENTD_TURNCOAT, ran)) << ran.err;
  EXPECT_FALSE(call_runs_when_the_guard_becomes(AGENTD_TURNCOAT_THAT_GUARDS_NOTHING, ran)) << ran.err;
  EXPECT_NE(ran.err.find("was reloaded"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("its new version guards nothing"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace agentd::testing
