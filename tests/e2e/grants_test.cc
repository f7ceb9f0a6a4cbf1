// SPDX-License-Identifier: Apache-2.0
// grants_test.cc - a plugin that is not granted what it asks for: every place names the grant, and the lines that it
// shows work as they stand.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class GrantsTest : public ::testing::Test {
 protected:
  GrantsTest() { program_.file("s.txt", "three little words"); }

  std::string config_file() const { return program_.home() + "/config.yaml"; }
  std::string hook() const { return program_.home() + "/hooks/word_count.so"; }
  void drop(const std::string& module) const {
    program_.drop_hook(module);
    const auto from = program_.home() + "/hooks/" + std::filesystem::path(module).filename().string();
    if (from != hook()) std::filesystem::rename(from, hook());
  }
  Finished run() {
    return program_.run({"run", "--json", "x", "--allow", "*", "--script",
                         program_.script("- calls: [{name: word_count, input: {path: s.txt}}]\n- text: done\n")});
  }
  // The tool's result, and the warnings about grants, a line each.
  struct Told {
    std::string result, warnings;
  };
  Told told(const Finished& ran) const {
    Told out;
    EXPECT_EQ(ran.code, 0) << ran.err;
    for (const JsonDocument& line : json_lines(ran.out)) {
      const std::string type(line.root()["type"].string_or(""));
      const std::string text(line.root()["text"].string_or(line.root()["message"].string_or("")));
      if (type == "tool_result") out.result = line.root()["content"].string_or("");
      if (type == "warning" && has(text, "granted")) out.warnings += text + "\n";
    }
    return out;
  }
  // Pastes the end of a line into the settings, as deep as it belongs there.
  void paste(const std::string& line, const std::string& behind, const std::string& indentation) {
    const std::size_t at = line.find(behind);
    ASSERT_NE(at, std::string::npos) << line;
    const std::string lines = line.substr(at + behind.size(), line.find('\n', at) - at - behind.size());
    const std::string before = read_file(config_file(), 1u << 20).value_or("");
    program_.config(before + indentation + lines + "\n");
  }
  void expect_works() {
    const Told now = told(run());
    EXPECT_EQ(now.result, "3 words\n");
    EXPECT_EQ(now.warnings, "");
  }

  Program program_;
};

TEST_F(GrantsTest, AGrantThatIsMissingIsNamedWhereverOneLooks) {
  drop(AGENTD_WORD_COUNT);
  const std::string how = "agentd.workspace/1, which is not granted; to grant it, add to " + config_file() +
                          ": hooks: {word_count: {grant: [agentd.workspace/1, store]}}";
  const Told first = told(run());
  EXPECT_EQ(first.warnings, hook() + " asks for " + how + "\n");
  EXPECT_EQ(first.result, "s.txt cannot be read: denied\n(the plugin word_count asks for " + how + ")");
  EXPECT_TRUE(has(program_.run({"hooks", "list"}).out, "    asks for " + how + "\n"));
  EXPECT_TRUE(has(program_.run({"hooks", "list", "--json"}).out, R"("not_granted":"asks for agentd.workspace/1,)"));
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "  warn    word_count asks for " + how + "\n"));
  EXPECT_TRUE(has(program_.run({"--plugins"}).out, "it asks for " + how + "\n"));
  EXPECT_TRUE(has(program_.run({"--plugins=json"}).out, R"("not_granted": "asks for agentd.workspace/1,)"));
  const Finished judged = program_.run({"hooks", "validate", hook()});
  EXPECT_EQ(judged.code, 0) << judged.out;
  EXPECT_TRUE(has(judged.out, "grant agentd.workspace/1: to grant it, add to config.yaml: hooks: {word_count: "))
      << judged.out;
  paste(first.warnings, config_file() + ": ", "");
  expect_works();
  EXPECT_FALSE(has(program_.run({"hooks", "list"}).out, "granted"));
}

TEST_F(GrantsTest, TheLinesFitIntoTheSettingsThatAreThere) {
  for (const char* const isolation : {"process", "in-process"}) {
    drop(AGENTD_WORD_COUNT);
    program_.config("hooks:\n  isolation: " + std::string(isolation) + "\n");
    paste(told(run()).warnings, " under hooks: ", "  ");
    expect_works();
    program_.config("hooks:\n");  // without a value
    paste(told(run()).warnings, " under hooks: ", "  ");
    expect_works();
    program_.config("hooks:\n  word_count:\n    isolation: " + std::string(isolation) + "\n");
    paste(told(run()).warnings, " under hooks.word_count: ", "    ");
    expect_works();
  }
}

TEST_F(GrantsTest, AGrantOnPurposeIsNoMistake) {
  drop(AGENTD_WORD_COUNT);
  program_.config("hooks: {word_count: {grant: []}}\n");
  const Told nothing = told(run());
  EXPECT_EQ(nothing.warnings, "");
  EXPECT_EQ(nothing.result, "s.txt cannot be read: denied");
  EXPECT_TRUE(has(program_.run({"doctor"}).out, "  note    word_count asks for agentd.workspace/1, store, which are"));
  // One that the plugin does not ask for is, and so is one that does not exist.
  program_.config("hooks: {word_count: {grant: [agentd.process/1]}}\n");
  EXPECT_TRUE(
      has(told(run()).warnings, "set hooks.word_count.grant in " + config_file() + " to: [agentd.workspace/1, store]"));
  program_.config("hooks: {word_count: {grant: [agentd.workspce/1]}}\n");
  const Finished misspelt = run();
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_TRUE(has(misspelt.err, "did you mean 'agentd.workspace/1'?")) << misspelt.err;
}

TEST_F(GrantsTest, AModuleIsNotLoadedWithoutWhatItRequires) {
  drop(AGENTD_WORD_COUNT_REQUIRES);
  const std::string how = "is not loaded: it requires agentd.workspace/1, which is not granted; to grant it, add to " +
                          config_file() + ": hooks: {word_count: {grant: [agentd.workspace/1, store]}}";
  const Told first = told(run());
  EXPECT_EQ(first.warnings, hook() + " " + how + "\n");
  const std::string list = program_.run({"hooks", "list"}).out;
  EXPECT_TRUE(has(list, "broken")) << list;
  EXPECT_TRUE(has(list, how)) << list;
  EXPECT_TRUE(has(program_.run({"doctor"}).out, how));
  paste(first.warnings, config_file() + ": ", "");
  expect_works();
}

TEST_F(GrantsTest, ANewPluginIsToldWithItsTools) {
  drop(AGENTD_WORD_COUNT);
  const Finished ran = program_.run({"run", "x", "--script", program_.script("- text: done\n")});
  EXPECT_TRUE(has(ran.err, ") offers the tool word_count: native, in a process of its own")) << ran.err;
  EXPECT_FALSE(has(ran.err, "no event")) << ran.err;
}

}  // namespace
}  // namespace agentd::testing
