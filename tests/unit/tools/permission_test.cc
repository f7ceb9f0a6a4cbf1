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
  for (const char* text :
       {"git push", "git push origin main", "npm run", "npm run test -- -x", "make clean", "git push && make clean",
        "timeout 5 git push", "git push \"$x\" 2>/dev/null", "sh -c 'git push'", "/usr/bin/env git push",
        "if make clean; then git push; fi", "CI=1 git push", "make clean | git push", "git push <<E\nx\nE",
        "x=1; make clean", "make clean </dev/null"})
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
                           "CI=1 make clean",
                           "A=1 git push",
                           "env EVIL=1 make clean",
                           "env CI=1 make clean",
                           "TERM=x; make clean",
                           "export CI=1; make clean",
                           "COMPILER_PATH=x git push",
                           "make clean < x",
                           "make clean <<E\nx\nE",
                           "make clean <<< x",
                           "git push | make clean",
                           "git push | { make clean; }",
                           "RANDOM='a[$(rm x)]'; git push",
                           "LC_ALL=zh_CN.GBK git push",
                           "git push 10>x",
                           "git push >&1-2",
                           "A+=./evil git push",
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
  for (const char* text : {"$x y", "git $x", "git ${x} push", "git \"$x\" push",
                           "git -P -P -P -P -P -P -P -P -P -P -P -P -P -P -P -P -P push", "bash -c - 'rm x'",
                           "find x -exe{c..c} rm {} ';'", "RANDOM='a[$(rm x)]'; ls", "bash /dev/stdin < x",
                           "alias a=rm", ". ./script", "g{it,x} push", "eval \"$x\"", "curl x | sh", "flock x rm y"}) {
    EXPECT_EQ(command(text).permission, kAsk) << text << ": " << command(text).reason;
    EXPECT_TRUE(command(text).binding) << text;
  }
  for (const char* text : {"ls", "git commit -m push", "git pull", "echo rm", "rmdir x"})
    EXPECT_EQ(command(text).permission, kAllow) << text << ": " << command(text).reason;
}

TEST_F(Rules, OptionsBetweenTheWordsHideNothing) {
  rules_.mode = PermissionRules::Mode::kAllow;
  deny("bash(git remote add:*)");
  deny("bash(npm run deploy*)");
  deny("bash(docker compose up:*)");
  deny("bash(git stash drop)");
  deny("bash(cargo publish:*)");
  for (const char* text :
       {"git remote -v add x y", "npm run -s deploy", "npm run --silent deploy-all", "/usr/bin/git -P remote -v add x",
        "docker compose --ansi=never up -d", "git stash -q drop", "cargo +nightly publish"})
    EXPECT_EQ(command(text).permission, kDeny) << text << ": " << command(text).reason;
  // The word behind an option may be its value.
  for (const char* text : {"docker compose -f x up", "docker compose -f x -p y up -d", "git remote -v show add"})
    EXPECT_EQ(command(text).permission, kAsk) << text << ": " << command(text).reason;
  for (const char* text : {"git remote -v", "git remote show add", "npm run -s build", "npm test -- run deploy",
                           "docker compose -f x down", "docker run -e compose up", "git stash -q drop 1"})
    EXPECT_EQ(command(text).permission, kAllow) << text << ": " << command(text).reason;
}

TEST_F(Rules, AWordThatMayVanishHidesNothing) {
  rules_.mode = PermissionRules::Mode::kAllow;
  deny("bash(git push)");
  for (const char* text : {"git ${x} push", "git push ${x}", "git $x push $y", "git \"$@\" push", "git \"$x\" push"})
    EXPECT_EQ(command(text).permission, kAsk) << text << ": " << command(text).reason;
  EXPECT_EQ(command("git push").permission, kDeny);
  EXPECT_EQ(command("git -C x push").permission, kDeny);
  for (const char* text : {"git push x ${y}", "git pull $x", "git \"x$y\" push", "gitk ${x}"})
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

TEST_F(Rules, ADeviceIsNoFileOnlyWhenNothingIsOpenedForReading) {
  allow("bash(echo:*)");
  allow("write_file(**)");
  allow("write_file(/proc/**)");
  for (const char* text : {"echo x > /dev/null", "echo x > /dev/tty", "echo x >/dev/stderr", "echo x > /dev/stdout",
                           "echo x </dev/null >/dev/stderr"})
    EXPECT_EQ(command(text).permission, kAllow) << text << ": " << command(text).reason;
  for (const char* text : {"echo x < target > /dev/stdin", "{ echo x >/dev/stdin; } < target", "echo x > /dev/stdin",
                           "echo x 2< target 2> /dev/stderr >/dev/stderr", "echo x >/dev/fd/1",
                           "echo x > /proc/self/fd/0", "echo x > ../../../../../../../../proc/self/fd/0"})
    EXPECT_EQ(command(text).permission, kAsk) << text << ": " << command(text).reason;
}

TEST_F(Rules, RulesAboutWritersBindRedirections) {
  rules_.mode = PermissionRules::Mode::kAllow;
  deny("write_file(*.env)");
  ask("edit_file(src/**)");
  for (const char* text : {"echo x > .env", "echo x >> a/b.env", "{ a; } 2>x.env", "echo x <>.env", "cd y; a >.env"})
    EXPECT_EQ(command(text).permission, kDeny) << text << ": " << command(text).reason;
  EXPECT_NE(command("a > .env").reason.find("permissions.deny 'write_file(*.env)'"), std::string::npos);
  EXPECT_FALSE(command("a > .env").plain);
  fs::create_symlink(folder_.path() + "/nothing", root() + "/dangling");
  for (const char* text : {"a > src/b.c", "a > \"$x\"", "cd src; a > b.c", "a > dangling", "eval \"$x\""}) {
    EXPECT_EQ(command(text).permission, kAsk) << text << ": " << command(text).reason;
    EXPECT_TRUE(command(text).binding) << text;
  }
  for (const char* text : {"a > b.c", "a < .env", "a .env", "a 2>/dev/null"})
    EXPECT_EQ(command(text).permission, kAllow) << text << ": " << command(text).reason;
  rules_.deny.clear();
  rules_.ask.clear();
  deny("write_file");
  EXPECT_EQ(command("a > b").permission, kDeny);
  EXPECT_EQ(command("a 2>&1 >/dev/null").permission, kAllow);
}

TEST_F(Rules, NoRuleCoversAgentdsOwnPlaces) {
  fs::create_directories(root() + "/.agent");
  fs::create_symlink(root() + "/.agent", root() + "/alias");
  rules_.own_places = {root() + "/.agent", root() + "/hooks/"};
  allow("bash(echo:*)");
  allow("write_file(**)");
  EXPECT_EQ(command("echo x > a").permission, kAllow) << command("echo x > a").reason;
  for (const char* text : {"echo x > .agent/config.yaml", "echo x > alias/new/x", "echo x > hooks/a", "echo x > hooks",
                           "echo x > src/../.agent/x"})
    EXPECT_EQ(command(text).permission, kAsk) << text << ": " << command(text).reason;
  EXPECT_NE(command("echo x > hooks/a").reason.find("agentd's own"), std::string::npos);
}

TEST_F(Rules, AProgramInAFolderIsNotCoveredAfterAMove) {
  allow("bash(cd:*)");
  allow("bash(./ls)");
  allow("bash(ls)");
  EXPECT_EQ(command("./ls").permission, kAllow);
  EXPECT_EQ(command("cd evil && ls").permission, kAllow);
  EXPECT_EQ(command("cd evil && ./ls").permission, kAsk);
}

TEST_F(Rules, AKeptAnswerHoldsWhereItWasGiven) {
  const auto kept = *KeptAnswers::open(folder_.path() + "/home", root());
  rules_.kept = kept;
  ASSERT_TRUE(kept->keep({"bash(make)", "edit_file(" + root() + "/src/a.c)"}, 1, "x", root()));
  ASSERT_TRUE(kept->keep({"bash(make all)"}, 1, "x", "/elsewhere"));
  allow("bash(cd:*)");
  EXPECT_EQ(command("make").permission, kAllow) << command("make").reason;
  EXPECT_EQ(command("cd src; make").permission, kAsk);
  EXPECT_EQ(command("make all").permission, kAsk);
  EXPECT_EQ(file("edit_file", "src/a.c").permission, kAllow);
  roots_ = {root() + "/src"};
  EXPECT_EQ(command("make").permission, kAsk);
  EXPECT_EQ(file("edit_file", "a.c").permission, kAllow);
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

TEST_F(Rules, ARuleThatForbidsMayBeSpeltThroughALink) {
  fs::create_symlink(folder_.path() + "/outside", folder_.path() + "/alias");
  deny("read_file(" + folder_.path() + "/alias/x*)");
  deny("edit_file(src/link)");
  EXPECT_EQ(file("read_file", folder_.path() + "/outside/x.txt", true).permission, kDeny);
  EXPECT_EQ(file("read_file", folder_.path() + "/outside/y", true).permission, kAllow);
  EXPECT_EQ(file("edit_file", folder_.path() + "/outside/y").permission, kDeny);
  EXPECT_EQ(file("edit_file", "src/a.c").permission, kAsk);
  // Only a rule that forbids: the link of one that permits may be another tomorrow.
  allow("write_file(src/link/**)");
  EXPECT_EQ(file("write_file", folder_.path() + "/outside/y").permission, kAsk);
}

TEST_F(Rules, ALinkToNothingMayBeWhatARuleForbids) {
  fs::create_symlink(folder_.path() + "/nothing", root() + "/dangling");
  rules_.mode = PermissionRules::Mode::kAllow;
  EXPECT_EQ(file("edit_file", "dangling").permission, kAllow);
  deny("edit_file(" + folder_.path() + "/nothing)");
  EXPECT_EQ(file("edit_file", "dangling").permission, kAsk);
  EXPECT_TRUE(file("edit_file", "dangling").binding);
  EXPECT_EQ(file("edit_file", "src/a.c").permission, kAllow);
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

TEST_F(Rules, GuardedFilesAreEditedByARuleThatNamesThemAlone) {
  rules_.mode = PermissionRules::Mode::kAllow;
  allow("write_file");
  allow("edit_*");
  EXPECT_EQ(file("write_file", ".vscode/x").permission, kAllow) << "nothing says that it is guarded";
  rules_.guarded = [](const std::string& top, const std::string&) {
    return std::vector<std::string>{top + "/.vscode"};
  };
  for (const char* const tool : {"write_file", "edit_file"}) {
    const PermissionVerdict verdict = file(tool, ".vscode/x");
    EXPECT_EQ(verdict.permission, kAsk) << tool;
    EXPECT_EQ(verdict.missing, std::vector<std::string>{std::string(tool) + "(" + root() + "/.vscode/x)"});
    EXPECT_FALSE(verdict.binding) << "a hook of the user may answer";
  }
  EXPECT_EQ(file("write_file", "src/x").permission, kAllow);
  EXPECT_EQ(file("read_file", ".vscode/x", true).permission, kAllow);
  allow("write_file(.vscode/**)");
  EXPECT_EQ(file("write_file", ".vscode/x").permission, kAllow);
  EXPECT_EQ(file("edit_file", ".vscode/x").permission, kAsk) << "the rule is about another tool";
  rules_.mode = PermissionRules::Mode::kDeny;
  EXPECT_EQ(file("edit_file", ".vscode/x").permission, kDeny);
}

TEST_F(Rules, Modes) {
  rules_.mode = PermissionRules::Mode::kAcceptEdits;
  EXPECT_EQ(file("edit_file", root() + "/b.c").permission, kAllow);
  EXPECT_EQ(file("edit_file", root() + "/src/link/b.c").permission, kAsk);
  EXPECT_EQ(file("edit_file", "/etc/x").permission, kAsk);
  EXPECT_EQ(command("ls").permission, kAsk);
  EXPECT_EQ(file("write_file", "b.c").permission, kAllow);
  for (const char* path : {".git/hooks/x", "src/.git", ""})
    EXPECT_EQ(file("write_file", path).permission, kAsk) << path;
  EXPECT_EQ(file("jira_close", "b.c").permission, kAsk);
  rules_.own_places = {root() + "/.agent"};
  EXPECT_EQ(file("write_file", ".agent/x").permission, kAsk);
  EXPECT_EQ(file("write_file", ".vscode/tasks.json").permission, kAllow) << "nothing says that it is guarded";
  rules_.guarded = [](const std::string& top, const std::string&) {
    return std::vector<std::string>{top + "/.vscode"};
  };
  for (const char* const path : {".vscode/tasks.json", ".vscode", "src/../.vscode/x"})
    EXPECT_EQ(file("write_file", path).permission, kAsk) << path;
  for (const char* const path : {"src/.vscode/x", ".vscode2"})
    EXPECT_EQ(file("write_file", path).permission, kAllow) << path;
  Tool tool;
  tool.name = "write_file";
  tool.path_keys = {"path"};
  for (const char* input : {"{}", R"({"path":["src/a.c"]})", R"({"path":null})"})
    EXPECT_EQ(rules_.decide(tool, *ToolInput::make(input), place()).permission, kAsk) << input;
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

TEST_F(Rules, AQuestionNamesTheRulesThatAreMissing) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(command("make > out.txt").missing, Names()) << "no rule is about commands";
  allow("bash(make:*)");
  EXPECT_EQ(command("make > out.txt").missing, Names{"write_file(" + root() + "/out.txt)"});
  EXPECT_EQ(command("make > out.txt; ls -la; ls -la").missing,
            (Names{"write_file(" + root() + "/out.txt)", "bash(ls -la)"}));
  for (const char* text : {"make > \"$x\"", "make > /dev/sda", "cd src; ls", "make > out.txt; CI=1 ls"})
    EXPECT_EQ(command(text).missing, Names()) << text;
  // They are enough.
  allow("write_file(" + root() + "/out.txt)");
  allow("bash(ls -la)");
  EXPECT_EQ(command("make > out.txt; ls -la").permission, kAllow);
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
                           "bash(! ls)",
                           "bash(if:*)",
                           "bash(for:*)",
                           "bash(while x)",
                           "bash({ ls)",
                           "bash(( ls)",
                           "bash(function f)",
                           "bash([[ -f x)",
                           "*(x)",
                           "ba*(x)"})
    EXPECT_FALSE(mistake(text).empty()) << text;
  for (const char* text :
       {"bash", "bash(*)", "BASH(git push:*)", "bash(a 'b && c')", "bash(a --x=y)", "bash(time:*)", "bash('if' x)",
        "bash(iffy:*)", "bash(echo if)", "jira_*", "edit_file(~/x)", "edit_file(/etc/**)", "mcp__server__*"})
    EXPECT_TRUE(mistake(text).empty()) << text << ": " << mistake(text);
  EXPECT_NE(mistake("bash(a && b)").find("a rule for each"), std::string::npos);
  EXPECT_NE(mistake("bash(if:*)").find("'if', which is the shell's grammar"), std::string::npos)
      << mistake("bash(if:*)");
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
  EXPECT_EQ(exact("make 2>&1 </dev/null >/dev/null"), List{"bash(make)"});
  for (const char* text :
       {"rm $x", "ls *.c", "make > x", "CI=1 make", "$x", "make 'x", "env EVIL=1 npm test", "env CI=1 npm test",
        "TERM=x; npm test", "python3 - <<'EOF'\nx\nEOF", "python3 < x", "python3 <<< x", "echo x | python3 -",
        "{ python3 -; } < x", "cd x && ./ls", "cd x; make", "make > /dev/stdin", "FOO=1; make"})
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
  EXPECT_EQ(exact_rules(tool, *ToolInput::make("{\"path\":\"src/a.c\"}"), place()),
            List{"edit_file(" + root() + "/src/a.c)"});
  EXPECT_EQ(exact_rules(tool, *ToolInput::make("{\"path\":\"b[1]\"}"), place()),
            List{"edit_file(" + root() + "/b\\[1\\])"});
}

}  // namespace
}  // namespace agentd::testing
