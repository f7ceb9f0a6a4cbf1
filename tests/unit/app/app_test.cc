// SPDX-License-Identifier: Apache-2.0
#include "core/app/app.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/app/exit_codes.h"
#include "core/validate/rules.h"
#include "tests/unit/app/app_support.h"

namespace agentd::app {
namespace {

using testing::Ran;
using testing::TestApp;

std::string file(const std::string& path) {
  std::ifstream in(std::string(AGENTD_SOURCE_DIR) + "/" + path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(AppTest, WithoutWordsPrintsHelpAndFails) {
  const Ran ran = TestApp().run({});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_NE(ran.err.find("Usage: agentd COMMAND"), std::string::npos);
}

TEST(AppTest, HelpIsPrintedForProgramGroupAndCommand) {
  EXPECT_NE(TestApp().run({"--help"}).out.find("Commands:"), std::string::npos);
  EXPECT_NE(TestApp().run({"run", "--help"}).out.find("Examples:"), std::string::npos);
  EXPECT_NE(TestApp().run({"help", "compact"}).out.find("--dry-run"), std::string::npos);
  EXPECT_NE(TestApp().run({"conversation", "--help"}).out.find("conversation list"), std::string::npos);
  EXPECT_EQ(TestApp().run({"conversation", "show", "-h"}).code, kExitOk);
}

TEST(AppTest, AnUnknownCommandNamesTheNearest) {
  const Ran ran = TestApp().run({"conversatoin"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.err, "agentd: unknown command 'conversatoin': did you mean 'conversation'?\n");
  EXPECT_EQ(TestApp().run({"conversation", "lst"}).err,
            "agentd: unknown command 'conversation lst': did you mean 'list'?\n");
  EXPECT_EQ(TestApp().run({"zebra"}).err, "agentd: unknown command 'zebra'; see 'agentd --help'\n");
}

TEST(AppTest, AGroupMayHaveGroups) {
  EXPECT_NE(TestApp().run({"auth", "--help"}).out.find("  auth token add "), std::string::npos);
  const Ran alone = TestApp().run({"auth", "token"});
  EXPECT_EQ(alone.code, kExitUsage);
  EXPECT_EQ(alone.err.find("Usage: agentd auth token COMMAND"), 0u) << alone.err;
  EXPECT_EQ(alone.err.find("auth set"), std::string::npos) << alone.err;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"help", "auth", "token", "add"},
                                             {"auth", "help", "token", "add"},
                                             {"auth", "token", "help", "add"},
                                             {"auth", "token", "--help", "add"},
                                             {"auth", "token", "add", "--help"}}) {
    const Ran ran = TestApp().run(words);
    EXPECT_EQ(ran.code, kExitOk) << ran.err;
    EXPECT_EQ(ran.out.find("agentd auth token add - "), 0u) << ran.out;
  }
  EXPECT_EQ(TestApp().run({"help", "auth", "token"}).out, TestApp().run({"auth", "token", "-h"}).out);
  EXPECT_EQ(TestApp().run({"auth", "token", "ad"}).err,
            "agentd: unknown command 'auth token ad': did you mean 'add'?\n");
  EXPECT_EQ(TestApp().run({"auth", "tokn"}).err, "agentd: unknown command 'auth tokn': did you mean 'token'?\n");
}

TEST(AppTest, AnUnknownOptionOfTheProgramIsRefused) {
  const Ran ran = TestApp().run({"--verson"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_NE(ran.err.find("did you mean '--version'?"), std::string::npos) << ran.err;
  EXPECT_EQ(TestApp().run({"--plugins=xml"}).code, kExitUsage);
}

TEST(AppTest, VersionReadsNoConfiguration) {
  TestApp app;
  app.user_config("nonsense: true\n");
  EXPECT_EQ(app.run({"--version"}).code, kExitOk);
  EXPECT_EQ(app.run({"--version"}).out.substr(0, 7), "agentd ");
}

TEST(AppTest, ABadConfigurationIsAUsageError) {
  TestApp app;
  app.user_config("compactions: {}\n");
  const Ran ran = app.run({"config", "show"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.err,
            "agentd: " + app.home + "/config.yaml:1:1: unknown key 'compactions': did you mean 'compaction'?\n");
}

TEST(AppTest, ConfigShowNamesTheOriginOfEachValue) {
  TestApp app;
  app.user_config("compaction:\n  compact_at: 0.6\nhooks: {guard: {enabled: true, config: {token: s3cret}}}\n");
  app.environment["AGENTD_MODEL"] = "m1";
  const Ran ran = app.run({"config", "show"});
  ASSERT_EQ(ran.code, kExitOk) << ran.err;
  EXPECT_NE(ran.out.find("  # AGENTD_MODEL\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("  # " + app.home + "/config.yaml:2\n"), std::string::npos);
  EXPECT_EQ(ran.out.find("s3cret"), std::string::npos);
}

TEST(AppTest, ConfigShowIsItselfAConfiguration) {
  TestApp app;
  app.user_config("compaction:\n  compact_at: 0.6\npermissions: {allow: [bash, \"mcp:*\"]}\nmodel: \"x y\"\n");
  const std::string shown = app.run({"config", "show"}).out;
  app.user_config(shown);
  const Ran again = app.run({"config", "show", "--set-only"});
  EXPECT_EQ(again.code, kExitOk) << again.err;
  EXPECT_NE(again.out.find("\"mcp:*\""), std::string::npos) << again.out;
}

TEST(AppTest, ExplainTellsWhoWon) {
  TestApp app;
  app.system_config("model: low\n");
  app.user_config("model: high\n");
  const Ran ran = app.run({"config", "explain", "model"});
  ASSERT_EQ(ran.code, kExitOk);
  EXPECT_EQ(ran.out.substr(0, 13), "model = high\n");
  EXPECT_NE(ran.out.find("    system (" + app.etc + "/config.yaml:1): low\n  * user (" + app.home +
                         "/config.yaml:1): high\n"),
            std::string::npos)
      << ran.out;
}

TEST(AppTest, ExplainOfAnUnknownKeyNamesTheNearest) {
  const Ran ran = TestApp().run({"config", "explain", "modle"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_EQ(ran.err, "agentd: unknown key 'modle': did you mean 'model'?\n");
}

TEST(AppTest, HomelessIsToldWhatToSet) {
  TestApp app;
  app.home = "";
  const Ran ran = app.run({"config", "path"});
  EXPECT_EQ(ran.code, kExitUsage);
  EXPECT_NE(ran.err.find("set AGENTD_HOME"), std::string::npos);
}

TEST(AppTest, WithoutACurrentDirectoryWhatNeedsAProjectSaysSo) {
  TestApp app;
  app.no_cwd = true;
  const std::vector<std::vector<std::string>> commands{{"conversation", "list"},
                                                       {"compact", "--follow", "--diff"},
                                                       {"hooks", "trace"},
                                                       {"hooks", "list"},
                                                       {"hooks", "new", "foo", "--lang", "bash"},
                                                       {"recipe", "list"},
                                                       {"run", "hello"},
                                                       {"store", "backup", "copy"}};
  for (const std::vector<std::string>& words : commands) {
    const Ran ran = app.run(words);
    EXPECT_EQ(ran.code, kExitFailure) << words[0] << " " << words[1];
    EXPECT_EQ(ran.err.find("agentd: the current directory no longer exists; change to another one"), 0u) << ran.err;
  }
  EXPECT_EQ(app.run({"conversation", "list", "--all"}).code, kExitOk);
  const Ran doctor = app.run({"doctor"});
  EXPECT_EQ(doctor.code, kExitFailure);
  EXPECT_NE(doctor.out.find("the current directory no longer exists"), std::string::npos) << doctor.out;
}

TEST(Documents, TheConfigurationPageIsTheTable) {
  EXPECT_EQ(file("docs/reference/config.md"), TestApp().run({"config", "reference"}).out)
      << "print it again: agentd config reference > docs/reference/config.md";
}

TEST(Documents, TheCommandLinePageIsTheTable) {
  EXPECT_EQ(file("docs/reference/cli.md"), cli_reference())
      << "print it again: agentd_pages cli > docs/reference/cli.md";
}

TEST(Documents, ThePageOfRulesIsTheTable) {
  EXPECT_EQ(file("docs/reference/abi-rules.md"), validation::rules_reference())
      << "print it again: agentd_pages abi-rules > docs/reference/abi-rules.md";
}

}  // namespace
}  // namespace agentd::app
