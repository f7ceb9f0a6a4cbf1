// SPDX-License-Identifier: Apache-2.0
// pains_test.cc - what people do all day works in the cage, and nothing is left behind by it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/cage/network.h"
#include "core/cage/watch.h"
#include "tests/cage/each_layer.h"
#include "tests/cage/stage.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

class Cage : public CageTest {};

TEST_P(Cage, ReturnsTheOutputAndTheCodeOfACommand) {
  const Ran ran = run("echo out; echo err >&2; exit 7");
  EXPECT_EQ(ran.output, "out\nerr\n");
  EXPECT_EQ(ran.code, 7);
  EXPECT_TRUE(ran.remarks.empty());
}

TEST_P(Cage, LeavesNothingBehindInTheProject) {
  const auto before = names(stage_.project());
  // Nor while it runs: a guarded path that is not there is not there for the command either.
  EXPECT_EQ(run("ls -A").output, stage_.run(nullptr, "ls -A").output);
  EXPECT_EQ(names(stage_.project()), before);
}

TEST_P(Cage, WritesInTheProjectAndItsOwnTmp) {
  EXPECT_EQ(
      run("echo x > made && chmod 600 made && touch -d 2001-01-01 made && t=$(mktemp) && echo y > $t && cat $t").output,
      "y\n");
  struct stat info {};
  ASSERT_EQ(::stat((stage_.project() + "/made").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_LT(info.st_mtim.tv_sec, 1'000'000'000);
}

TEST_P(Cage, Commits) {
  const Ran ran = run("echo b > a && git commit -qam two && git log --oneline | wc -l");
  EXPECT_EQ(ran.output, "2\n");
  EXPECT_TRUE(ran.remarks.empty());
}

TEST_P(Cage, CommitsWhereSigningIsAskedFor) {
  ASSERT_EQ(stage_.run(nullptr, "git config commit.gpgSign true").code, 0);
  EXPECT_EQ(run("echo b > a && git commit -qam two").code, 0);
}

TEST_P(Cage, CommitsInALinkedWorktree) {
  const std::string tree = stage_.outside() + "/tree";
  ASSERT_EQ(stage_.run(nullptr, "git worktree add -q " + tree).code, 0);
  cage::CageSettings settings = stage_.settings();
  settings.roots = {tree};
  EXPECT_EQ(run("cd " + tree + " && echo b > a && git commit -qam two && git log --oneline | wc -l", settings).output,
            "2\n");
  (void)run("echo evil > " + stage_.project() + "/.git/hooks/pre-commit", settings);
  EXPECT_FALSE(fs::exists(stage_.project() + "/.git/hooks/pre-commit"));
}

TEST_P(Cage, DoesNotFollowAGitFileThatNothingConfirms) {
  cage::CageSettings settings = stage_.settings();
  settings.roots = {stage_.outside() + "/fake"};
  fs::create_directories(settings.roots[0]);
  std::ofstream(settings.roots[0] + "/.git") << "gitdir: " << stage_.project() << "/.git\n";
  EXPECT_NE(run("echo x > " + stage_.project() + "/.git/x", settings).code, 0);
  EXPECT_FALSE(fs::exists(stage_.project() + "/.git/x"));
}

TEST_P(Cage, KeepsAPlainNewRepositoryAndUndoesOneWithAHook) {
  fs::remove_all(stage_.project() + "/.git");
  EXPECT_TRUE(run("git init -q .").remarks.empty());
  EXPECT_TRUE(fs::exists(stage_.project() + "/.git/HEAD"));
  fs::remove_all(stage_.project() + "/.git");
  const Ran ran = run("git init -q . && echo evil > .git/hooks/pre-commit");
  ASSERT_EQ(ran.remarks.size(), 1u);
  EXPECT_FALSE(fs::exists(stage_.project() + "/.git"));
}

TEST_P(Cage, WorksBelowADirectoryThatCannotBeWritten) {
  ASSERT_EQ(::chmod(fs::path(stage_.project()).parent_path().c_str(), 0555), 0);
  EXPECT_EQ(run("echo x > made").code, 0);
  ::chmod(fs::path(stage_.project()).parent_path().c_str(), 0755);
}

TEST_P(Cage, BuildsWithMakeInParallel) {
  EXPECT_EQ(run("printf 'all: b c d\\nb c d:\\n\\tcp a $@\\n' > Makefile && make -s -j3 && ls").output,
            "Makefile\na\nb\nc\nd\n");
}

TEST_P(Cage, ChangesItsOwnLimitsAlone) {
  EXPECT_EQ(run("ulimit -Sn 50 && ulimit -Sn").output, "50\n");
  EXPECT_NE(run("prlimit --pid $PPID --nofile=3:3").code, 0);
  EXPECT_EQ(run("prlimit --pid $PPID --nofile --noheadings >/dev/null").code, 0) << "reading them is fine";
}

// A command takes away the rights that undoing needs, which bind no root; a pipe is no file to keep.
TEST_P(Cage, UndoesWhatIsClosedBehindIt) {
  for (const char* const script :
       {"echo evil > .mcp.json; chmod 555 .", "echo evil > .mcp.json; chmod 000 .",
        "mkdir -p .claude/a; echo evil > .claude/settings.json; mkfifo .claude/f; chmod 000 .claude/a .claude"}) {
    const Ran ran = run(script);
    EXPECT_EQ(ran.remarks.size(), 1u) << script;
    ::chmod(stage_.project().c_str(), 0755);
    EXPECT_FALSE(fs::exists(stage_.project() + "/.mcp.json")) << script;
    EXPECT_FALSE(fs::exists(stage_.project() + "/.claude")) << script;
  }
}

TEST_P(Cage, GuardsTheTargetOfALink) {
  fs::create_directories(stage_.project() + "/agents");
  fs::create_directory_symlink("agents", stage_.project() + "/.claude");
  for (const char* const script : {"echo evil > agents/settings.json", "echo evil > .claude/settings.json"}) {
    const Ran ran = run(script);
    EXPECT_TRUE(ran.code != 0 || ran.remarks.size() == 1) << script;
  }
  EXPECT_FALSE(fs::exists(stage_.project() + "/agents/settings.json"));
  EXPECT_EQ(run("echo fine > other").code, 0);
}

TEST_P(Cage, EndsWhatACommandLeavesBehind) {
  const Ran ran = run("setsid sleep 300 >/dev/null 2>&1 & echo $!");
  ASSERT_EQ(ran.code, 0);
  // In bubblewrap the number is one of its own namespace.
  if (GetParam() == cage::Layer::kLandlock) {
    EXPECT_NE(::kill(std::stoi(ran.output), 0), 0);
  }
}

TEST_P(Cage, SaysWhichLineWouldAllowAHost) {
  cage::CageSettings settings = stage_.settings();
  settings.network = {"example.org"};
  const Ran ran =
      run("p=${HTTP_PROXY##*:}; exec 3<>/dev/tcp/127.0.0.1/$p && printf 'CONNECT other.invalid:443 "
          "HTTP/1.1\\r\\n\\r\\n' >&3 && head -1 <&3",
          settings);
  EXPECT_NE(ran.output.find("403"), std::string::npos) << ran.output;
  ASSERT_EQ(ran.remarks.size(), 1u);
  EXPECT_EQ(
      ran.remarks[0],
      "the connection to other.invalid:443 was refused; 'sandbox.network: [other.invalid]' in your settings would "
      "allow it");
}

INSTANTIATE_TEST_SUITE_P(Layers, Cage, each_layer(), name_of_layer);

TEST(NetworkRules, AllowHostsByNameGlobAndPort) {
  const auto rules = cage::NetworkRules::parse({"example.org", "*.wild.org", "one.org:22"});
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->allows({"example.org", 443}));
  EXPECT_FALSE(rules->allows({"example.org", 22}));
  EXPECT_FALSE(rules->allows({"www.example.org", 443}));
  EXPECT_FALSE(rules->allows({"evilexample.org", 443}));
  EXPECT_TRUE(rules->allows({"a.wild.org", 80}));
  EXPECT_FALSE(rules->allows({"wild.org", 80}));
  EXPECT_TRUE(rules->allows({"one.org", 22}));
  EXPECT_FALSE(rules->allows({"one.org", 443}));
  EXPECT_FALSE(cage::NetworkRules::parse({"https://example.org"}));
  EXPECT_FALSE(cage::NetworkRules::parse({"example.org:0"}));
}

TEST(Probe, GivesAReasonAndACureForEachLayerThatDoesNotHold) {
  const cage::Layers without = cage::probe_now("");
  for (const cage::Layer each : {cage::Layer::kBubblewrap, cage::Layer::kLandlock}) {
    EXPECT_FALSE(without.of(each).holds);
    EXPECT_FALSE(without.of(each).why.empty());
    EXPECT_FALSE(without.of(each).cure.empty());
  }
  EXPECT_FALSE(without.best());
}

}  // namespace
}  // namespace agentd::testing
