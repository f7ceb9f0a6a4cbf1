// SPDX-License-Identifier: Apache-2.0
#include "core/tools/permission.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/codec/json.h"
#include "tests/support/temp_dir.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

PermissionRule rule(const std::string& text) {
  const auto parts = rule_parts(text);
  if (!parts) throw std::runtime_error(parts.error().message);
  auto made = make_rule(*parts, text, "config.yaml:3");
  if (!made) throw std::runtime_error(made.error().message);
  return *made;
}

// Why a text is no rule; empty = it is one.
std::string mistake(const std::string& text) {
  const auto parts = rule_parts(text);
  if (!parts) return parts.error().message;
  const auto made = make_rule(*parts, text, {});
  return made ? "" : made.error().message;
}

class Rules : public ::testing::Test {
 protected:
  Rules() {
    fs::create_directories(root() + "/src");
    fs::create_directories(folder_.path() + "/outside");
    std::ofstream(root() + "/src/a.c") << "";
    fs::create_symlink(folder_.path() + "/outside", root() + "/src/link");
    roots_ = {root()};
  }

  std::string root() const { return folder_.path() + "/root"; }
  PathPlace place() const { return {roots_.front(), home_, roots_}; }

  PermissionVerdict command(const std::string& text) const {
    Tool tool;
    tool.name = "bash";
    JsonWriter input;
    input.begin_object().member("command", text).end_object();
    return rules_.decide(tool, *ToolInput::make(input.text()), place());
  }
  PermissionVerdict file(const std::string& name, const std::string& path, bool reads = false) const {
    Tool tool;
    tool.name = name;
    tool.path_keys = {"path"};
    if (reads) tool.flags = AGENTD_TOOL_READ_ONLY;
    JsonWriter input;
    input.begin_object().member("path", path).end_object();
    return rules_.decide(tool, *ToolInput::make(input.text()), place());
  }
  void allow(const std::string& text) { rules_.allow.push_back(rule(text)); }
  void ask(const std::string& text) { rules_.ask.push_back(rule(text)); }
  void deny(const std::string& text) { rules_.deny.push_back(rule(text)); }

  TempDir folder_;
  std::vector<std::string> roots_;
  std::string home_ = "/home/ann";
  PermissionRules rules_;
};

constexpr Permission kAllow = Permission::kAllow, kAsk = Permission::kAsk, kDeny = Permission::kDeny;

TEST_F(Rules, ACommandIsPermittedWhenEachOfItsCommandsIs) {
  allow("bash(git push:*)");
  allow("bash(npm run *)");
  allow("bash(make clean)");
  for (const char* text : {"git push", "git push origin main", "npm run", "npm run test -- -x", "make clean",
                           "git push && make clean", "timeout 5 git push", "git push \"$x\" 2>/dev/null",
                           "sh -c 'git push'", "/usr/bin/env git push", "if make clean; then git push; fi"})
    EXPECT_EQ(command(text).permission, kAllow) << text << ": " << command(text).reason;
  for (const char* text : {"git pushx",
                           "git -C x push",
                           "make clean all",
                           "make",
                           "git push; rm x",
                           "git push $(rm x)",
                           "git push > out",
                           "sudo git push",
                           "./timeout 5 git push",
                           "/tmp/sh -c 'git push'",
                           "/tmp/git push",
                           "./git push",
                           "A=1 make clean",
                           "$x git push",
                           "PATH=/x git push",
                           "git push &> x",
                           "git push 'unclosed",
                           "xargs git",
                           "git push\xc2\xa0x",
                           "npm runx",
                           "make $x"})
    EXPECT_EQ(command(text).permission, kAsk) << text << ": " << command(text).reason;
}

TEST_F(Rules, DenyOverridesAskAndAskOverridesAllow) {
  allow("bash");
  ask("bash(git push:*)");
  deny("bash(rm:*)");
  EXPECT_EQ(command("ls").permission, kAllow);
  EXPECT_EQ(command("git push").permission, kAsk);
  EXPECT_EQ(command("git push; rm x").permission, kDeny);
  EXPECT_NE(command("rm x").reason.find("permissions.deny 'bash(rm:*)' (config.yaml:3)"), std::string::npos)
      << command("rm x").reason;
  EXPECT_TRUE(command("git push").binding);
}

TEST_F(Rules, WhatIsForbiddenIsFoundInEverySpelling) {
  rules_.mode = PermissionRules::Mode::kAllow;
  deny("bash(rm:*)");
  deny("bash(git push:*)");
  for (const char* text : {"rm x", "/bin/rm x", "r\\m x", "'rm' x", "ls; rm x", "ls $(rm x)", "sh -c 'rm x'",
                           "sudo -u y rm x", "find . -exec rm {} +", "a | xargs rm", "cat <<E\n`rm x`\nE", "env rm x",
                           "git -C dir push", "git -c a=b --no-pager push origin", "rm x 'unclosed"})
    EXPECT_EQ(command(text).permission, kDeny) << text << ": " << command(text).reason;
  // It may be forbidden: only a person permits it.
  for (const char* text :
       {"$x y", "git $x", "alias a=rm", ". ./script", "g{it,x} push", "eval \"$x\"", "curl x | sh", "flock x rm y"}) {
    EXPECT_EQ(command(text).permission, kAsk) << text << ": " << command(text).reason;
    EXPECT_TRUE(command(text).binding) << text;
  }
  for (const char* text : {"ls", "git commit -m push", "git pull", "echo rm", "rmdir x"})
    EXPECT_EQ(command(text).permission, kAllow) << text << ": " << command(text).reason;
}

TEST_F(Rules, WithoutRulesAboutCommandsAWholeRuleNeedsNoReading) {
  allow("bash");
  EXPECT_EQ(command("$x 'unclosed").permission, kAllow);
}

TEST_F(Rules, ACommandMayWriteWhatARuleAboutWriteFileCovers) {
  allow("bash(echo:*)");
  EXPECT_EQ(command("echo x > src/a.c").permission, kAsk);
  allow("write_file(src/**)");
  EXPECT_EQ(command("echo x > src/a.c").permission, kAllow) << command("echo x > src/a.c").reason;
  EXPECT_EQ(command("echo x > src/../b.c").permission, kAsk);
  EXPECT_EQ(command("echo x > src/link/b.c").permission, kAsk);
  EXPECT_EQ(command("echo x > $y").permission, kAsk);
  allow("bash(cd:*)");
  EXPECT_EQ(command("cd /; echo x > src/a.c").permission, kAsk);
  EXPECT_EQ(command("for i in a b; do echo x > src/a.c; cd ..; done").permission, kAsk);
  EXPECT_EQ(command("env -C /etc sh -c 'echo x > src/a.c'").permission, kAsk);
  allow("bash(find:*)");
  EXPECT_EQ(command("find / -execdir sh -c 'echo x > src/a.c' \\;").permission, kAsk);
}

TEST_F(Rules, PathsAreComparedWithoutLinksWhenARulePermits) {
  allow("edit_file(src/**)");
  EXPECT_EQ(file("edit_file", root() + "/src/a.c").permission, kAllow);
  EXPECT_EQ(file("edit_file", "src/new/b.c").permission, kAllow);
  EXPECT_EQ(file("edit_file", root() + "/src/../b.c").permission, kAsk);
  EXPECT_EQ(file("edit_file", root() + "/src/link/b.c").permission, kAsk);
  EXPECT_EQ(file("write_file", root() + "/src/a.c").permission, kAsk);
  fs::create_symlink(folder_.path() + "/nothing", root() + "/src/dangling");
  EXPECT_EQ(file("edit_file", root() + "/src/dangling").permission, kAsk);
}

TEST_F(Rules, EitherSpellingOfAPathIsForbidden) {
  deny("read_file(*.env)");
  deny("read_file(" + folder_.path() + "/outside/**)");
  deny("read_file(~/.ssh/)");
  EXPECT_EQ(file("read_file", root() + "/a/b/x.env", true).permission, kDeny);
  EXPECT_EQ(file("read_file", root() + "/src/link/x", true).permission, kDeny);
  EXPECT_EQ(file("read_file", "/home/ann/.ssh/id", true).permission, kDeny);
  EXPECT_EQ(file("read_file", root() + "/src/a.c", true).permission, kAllow);
}

TEST_F(Rules, PatternsOfPathsAreThoseOfGitignore) {
  deny("edit_file(src/*.c)");
  deny("edit_file(build)");
  deny("edit_file(./only)");
  for (const char* path : {"src/a.c", "build/x/y", "a/build", "only"})
    EXPECT_EQ(file("edit_file", root() + "/" + path).permission, kDeny) << path;
  for (const char* path : {"src/x/a.c", "a/only", "builds", "src/a.cc"})
    EXPECT_EQ(file("edit_file", root() + "/" + path).permission, kAsk) << path;
}

TEST_F(Rules, HostsAreCompared) {
  rules_.allow.push_back(rule("web_fetch(domain:*.Example.org)"));
  Tool tool;
  tool.name = "web_fetch";
  const auto decide = [&](const std::string& url) {
    return rules_.decide(tool, *ToolInput::make("{\"url\":\"" + url + "\"}"), place()).permission;
  };
  EXPECT_EQ(decide("https://example.org/x"), kAllow);
  EXPECT_EQ(decide("https://a.example.org"), kAllow);
  EXPECT_EQ(decide("https://badexample.org"), kAsk);
  EXPECT_EQ(decide("https://example.org.evil.net"), kAsk);
}

TEST_F(Rules, Modes) {
  rules_.mode = PermissionRules::Mode::kAcceptEdits;
  EXPECT_EQ(file("edit_file", root() + "/b.c").permission, kAllow);
  EXPECT_EQ(file("edit_file", root() + "/src/link/b.c").permission, kAsk);
  EXPECT_EQ(file("edit_file", "/etc/x").permission, kAsk);
  EXPECT_EQ(command("ls").permission, kAsk);
  rules_.mode = PermissionRules::Mode::kPlan;
  allow("bash");
  EXPECT_EQ(command("ls").permission, kDeny);
  EXPECT_NE(command("ls").reason.find("plan"), std::string::npos);
  EXPECT_EQ(file("read_file", "x", true).permission, kAllow);
  rules_.mode = PermissionRules::Mode::kDeny;
  EXPECT_EQ(file("edit_file", "x").permission, kDeny);
  for (const char* name : {"ask", "accept_edits", "plan", "allow", "deny"})
    EXPECT_EQ(name_of(*find_permission_mode(name)), name);
  EXPECT_FALSE(find_permission_mode("yes"));
}

TEST_F(Rules, ARuleThatCanMatchNothingIsAMistake) {
  for (const char* text : {"",
                           " ",
                           "bash(",
                           "bash)",
                           "(x)",
                           "bash()",
                           "bash( )",
                           "bash(a && b)",
                           "bash(a | b)",
                           "bash(a > b)",
                           "bash(a; b)",
                           "bash($(x))",
                           "bash(A=1 b)",
                           "bash('a)",
                           "edit_file(../x)",
                           "edit_file(a/../b)",
                           "edit_file(a/./b)",
                           "edit_file(~bob/x)",
                           "web_fetch(domain:)",
                           "web_fetch(domain:a b)",
                           "bash('')",
                           "*(x)",
                           "ba*(x)"})
    EXPECT_FALSE(mistake(text).empty()) << text;
  for (const char* text : {"bash", "bash(*)", "BASH(git push:*)", "bash(a 'b && c')", "bash(a --x=y)", "jira_*",
                           "edit_file(~/x)", "edit_file(/etc/**)", "mcp__server__*"})
    EXPECT_TRUE(mistake(text).empty()) << text << ": " << mistake(text);
  EXPECT_NE(mistake("bash(a && b)").find("a rule for each"), std::string::npos);
}

TEST_F(Rules, AlwaysIsExactlyTheCall) {
  Tool tool;
  tool.name = "bash";
  const auto exact = [&](const std::string& text) {
    JsonWriter input;
    input.begin_object().member("command", text).end_object();
    return exact_rules(tool, *ToolInput::make(input.text()), place());
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(exact("make clean && git commit -m 'a b'"), (List{"bash(make clean)", "bash(git commit -m 'a b')"}));
  EXPECT_EQ(exact("timeout 5 make; make"), (List{"bash(make)"}));
  for (const char* text : {"rm $x", "ls *.c", "make > x", "A=1 make", "$x", "make 'x"})
    EXPECT_TRUE(exact(text).empty()) << text;
  for (const char* text : {"echo 'it'\\''s * ?'", "echo a:'*'", "echo ')' '('", "echo ''", "echo '\\'"}) {
    const List rules = exact(text);
    ASSERT_EQ(rules.size(), 1u) << text;
    PermissionRules kept;
    kept.allow.push_back(rule(rules[0]));
    JsonWriter input;
    input.begin_object().member("command", text).end_object();
    EXPECT_EQ(kept.decide(tool, *ToolInput::make(input.text()), place()).permission, kAllow) << rules[0];
    EXPECT_EQ(kept.decide(tool, *ToolInput::make("{\"command\":\"echo other\"}"), place()).permission, kAsk);
  }
  tool.name = "edit_file";
  tool.path_keys = {"path"};
  EXPECT_EQ(exact_rules(tool, *ToolInput::make("{\"path\":\"src/a.c\"}"), place()), List{"edit_file(src/a.c)"});
  EXPECT_EQ(exact_rules(tool, *ToolInput::make("{\"path\":\"b[1]\"}"), place()), List{"edit_file(./b\\[1\\])"});
}

}  // namespace
}  // namespace agentd::testing
