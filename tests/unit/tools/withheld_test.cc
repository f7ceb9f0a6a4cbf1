// SPDX-License-Identifier: Apache-2.0
#include "core/tools/withheld.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

namespace fs = std::filesystem;

class WithheldFiles : public ::testing::Test {
 protected:
  WithheldFiles() {
    fs::create_directories(root() + "/secret/deep");
    fs::create_directories(root() + "/src");
    directory_.write("work/secret/deep/key", "x");
    directory_.write("work/src/a.c", "x");
    directory_.write("work/src/.env", "x");
    fs::create_directory_symlink(root() + "/secret", root() + "/link");
  }
  std::string root() const { return directory_.file("work"); }
  static PermissionRule rule(const std::string& text) {
    auto out = make_rule(*rule_parts(text), text, "here");
    EXPECT_TRUE(out) << text;
    return *out;
  }
  // For a call of grep.
  std::unique_ptr<RuleWithholds> made(const std::vector<std::string>& deny, const std::vector<std::string>& ask = {}) {
    PermissionRules rules;
    for (const std::string& each : deny) rules.deny.push_back(rule(each));
    for (const std::string& each : ask) rules.ask.push_back(rule(each));
    return std::make_unique<RuleWithholds>(rules, "grep", place_);
  }

  const testing::TempDir directory_;
  const std::string start_ = directory_.file("work");
  const std::vector<std::string> roots_{start_};
  const PathPlace place_{start_, {}, roots_};
};

TEST_F(WithheldFiles, RulesOfReadFileBind) {
  for (const bool asks : {false, true}) {
    const auto files = asks ? made({}, {"read_file(*.env)", "read_file(secret/**)"})
                            : made({"read_file(*.env)", "read_file(secret/**)"});
    EXPECT_FALSE(files->empty());
    EXPECT_TRUE(files->entry(root() + "/src/.env"));
    EXPECT_TRUE(files->entry(root() + "/src/./.env"));
    EXPECT_TRUE(files->entry(root() + "/secret/deep"));
    EXPECT_TRUE(files->path(root() + "/secret/deep/key"));
    EXPECT_FALSE(files->entry(root() + "/src/a.c"));
    EXPECT_FALSE(files->path(root() + "/src/a.c"));
    EXPECT_FALSE(files->entry(root() + "/src"));
  }
}

TEST_F(WithheldFiles, ALinkLeadsToNothingOfThem) {
  const auto files = made({"read_file(secret/**)"});
  EXPECT_TRUE(files->entry(root() + "/link/deep")) << "listed through a link";
  EXPECT_TRUE(files->path(root() + "/link/deep/key"));
  const auto written = made({"read_file(link/**)"});
  EXPECT_TRUE(written->entry(root() + "/secret/deep")) << "the rule goes through the link";
  EXPECT_TRUE(written->path(root() + "/secret/deep/key"));
  EXPECT_FALSE(written->entry(root() + "/src/a.c"));
}

TEST_F(WithheldFiles, OtherRulesDoNot) {
  EXPECT_TRUE(made({"read_file", "write_file(*.env)", "bash(cat:*)", "web_fetch(domain:example.org)"})->empty());
  EXPECT_TRUE(made({}, {"grep(secret/**)"})->empty()) << "it was asked about, and answered";
  EXPECT_TRUE(made({"grep(secret/**)"})->entry(root() + "/secret/deep")) << "a search from above";
}

}  // namespace
}  // namespace agentd
