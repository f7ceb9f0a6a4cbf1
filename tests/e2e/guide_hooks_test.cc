// SPDX-License-Identifier: Apache-2.0
// docs/guide/hooks.md, run: every hook that it shows is put where it says and does what it says.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <string>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

constexpr std::string_view kHooks = "# ~/.agent/hooks/";
constexpr std::string_view kConfig = "# ~/.agent/config.yaml";

// Blocks of the page by the file that their comment names.
std::map<std::string, std::string> files_of(const std::string& page) {
  std::map<std::string, std::string> out;
  for (std::size_t at = page.find("\n```"); at != std::string::npos; at = page.find("\n```", at)) {
    const std::size_t begin = page.find('\n', at + 1) + 1;
    const std::size_t end = page.find("\n```", begin);
    const std::string block = page.substr(begin, end + 1 - begin);
    at = end + 4;
    const std::size_t named = block.find(kHooks);
    if (named != std::string::npos) {
      const std::size_t from = named + kHooks.size();
      out[block.substr(from, block.find('\n', from) - from)] = block;
    } else if (block.find(kConfig) != std::string::npos) {
      out["config.yaml"] = block;
    }
  }
  return out;
}

class GuideHooks : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto page = read_file(AGENTD_GUIDE, 1u << 20);
    ASSERT_TRUE(page);
    files_ = files_of(*page);
    ASSERT_EQ(files_.size(), 5u);
    ASSERT_TRUE(make_directories(program_.home() + "/hooks"));
    for (const auto& [name, text] : files_) {
      if (name == "config.yaml") continue;
      const unsigned mode = text.starts_with("#!") ? 0755 : 0644;
      ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/" + name, text, mode));
    }
  }
  Finished run(const std::string& script, const std::string& message = "x") {
    return program_.run({"run", message, "--allow", "*", "--script", program_.script(script)});
  }

  Program program_;
  std::map<std::string, std::string> files_;
};

TEST_F(GuideHooks, AllOfThemAreListedAndOn) {
  ASSERT_EQ(run("- text: hello\n").code, 0);
  const std::string list = program_.run({"hooks", "list", "--json"}).out;
  for (const char* const name : {"no_force_push", "smart_compact", "stamp", "keep_out"})
    EXPECT_NE(list.find("\"name\":\"" + std::string(name) + "\""), std::string::npos) << list;
  EXPECT_EQ(list.find("\"state\":\"waits\""), std::string::npos) << list;
}

TEST_F(GuideHooks, TheYamlGuardBlocksAForcedPushOnly) {
  EXPECT_NE(run("- calls: [{name: bash, input: {command: \"git push --force\"}}]\n- text: done\n")
                .err.find("force pushes are done by hand here"),
            std::string::npos);
  EXPECT_EQ(run("- calls: [{name: bash, input: {command: \"echo git push\"}}]\n- text: done\n").err.find("by hand"),
            std::string::npos);
}

TEST_F(GuideHooks, TheShellHookAddsItsContext) {
  const Finished done = run("- text: fine\n  expect: {contains: The build machine is called anvil.}\n");
  EXPECT_EQ(done.code, 0) << done.err;
}

TEST_F(GuideHooks, ThePythonHookKeepsToolsOutOfEtc) {
  const Finished done = run("- calls: [{name: read_file, input: {path: /etc/passwd}}]\n- text: done\n");
  EXPECT_NE(done.err.find("nothing below /etc is touched"), std::string::npos) << done.err;
}

TEST_F(GuideHooks, TheConfigurationIsAccepted) {
  program_.config(files_.at("config.yaml"));
  EXPECT_EQ(program_.run({"config", "show"}).code, 0);
}

TEST_F(GuideHooks, OneHookIsTestedWithoutARun) {
  const Finished tested = program_.run({"hooks", "test", "no_force_push", "--event", "before_tool_call"});
  EXPECT_EQ(tested.code, 0) << tested.err;
  EXPECT_NE(tested.out.find("no_force_push"), std::string::npos);
}

// ---- what happened, afterwards

TEST_F(GuideHooks, TraceWhyAndReplayTellWhatWasDecided) {
  ASSERT_EQ(run("- calls: [{name: bash, input: {command: \"git push --force\"}}]\n- text: done\n").code, 0);
  const Finished trace = program_.run({"hooks", "trace"});
  EXPECT_NE(trace.out.find("before_tool_call  no_force_push"), std::string::npos) << trace.out;
  EXPECT_NE(trace.out.find("→ blocked"), std::string::npos) << trace.out;
  const Finished why = program_.run({"hooks", "why", "call_1_1"});
  EXPECT_EQ(why.code, 0) << why.err;
  EXPECT_NE(why.out.find("no_force_push blocked it"), std::string::npos) << why.out;
  EXPECT_NE(why.out.find("\"command\":\"git push --force\""), std::string::npos) << why.out;
  EXPECT_EQ(program_.run({"hooks", "why", "nothing-of-this-name"}).code, 4);
}

TEST_F(GuideHooks, ReplayDecidesAnewWithOtherHooksAndChangesNothing) {
  ASSERT_EQ(::unlink((program_.home() + "/hooks/no_force_push.yaml").c_str()), 0);
  ASSERT_EQ(run("- calls: [{name: bash, input: {command: \"echo one\"}}, {name: bash, input: {command: "
                "\"echo two\"}}]\n- text: done\n")
                .code,
            0);
  const std::string before = program_.record_types(program_.newest());
  ASSERT_TRUE(write_file_atomically(program_.home() + "/hooks/later.yaml",
                                    "on: before_tool_call\nwhen: tool.input.command matches \"two\"\n"
                                    "do: {action: block, reason: not two}\n",
                                    0644));
  const Finished replay = program_.run({"hooks", "replay", "--hook", "later"});
  EXPECT_EQ(replay.code, 0) << replay.err;
  EXPECT_NE(replay.out.find("would be blocked: block: not two"), std::string::npos) << replay.out;
  EXPECT_NE(replay.out.find("blocked 1 of 2 events"), std::string::npos) << replay.out;
  EXPECT_EQ(program_.record_types(program_.newest()), before);
  const Finished none = program_.run({"hooks", "replay", "--hook", "nobody"});
  EXPECT_EQ(none.code, 4);
}

}  // namespace
}  // namespace agentd::testing
