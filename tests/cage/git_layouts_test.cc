// SPDX-License-Identifier: Apache-2.0
// git_layouts_test.cc - a repository is guarded wherever its directory is in the workspace, and a command makes no
// directory a repository that runs programs.
#include <algorithm>

#include "core/cage/git_places.h"
#include "tests/cage/git_in_each_layer.h"

namespace agentd::testing {
namespace {

constexpr char kBare[] = "mv .git .bare; git -C .bare config core.bare true; rm -f .bare/index\n";

class GitLayouts : public GitInEachLayer {};

TEST_P(GitLayouts, TheControlRuns) {
  user(planted_in(".git"));
  EXPECT_TRUE(runs_in("."));
}

TEST_P(GitLayouts, ADirectoryInTheRootThatAFileLeadsToIsGuarded) {
  user("mv .git gd; echo 'gitdir: gd' > .git");
  expect_fine("echo b > a; git commit -qam two");
  expect_refused(planted_in("gd"), {"."});
  expect_refused("mv gd g; cp -r g gd; " + planted_in("gd"), {"."});
  expect_refused("cp -r gd evil; " + planted_in("evil") + "echo 'gitdir: evil' > .git", {"."});
  expect_refused("echo ../evil > gd/commondir", {"."});
}

TEST_P(GitLayouts, ADirectoryThatALinkLeadsToIsGuarded) {
  user("mv .git gd; ln -s gd .git");
  expect_fine("echo b > a; git commit -qam two");
  expect_refused(planted_in("gd"), {"."});
  expect_refused("cp -r gd evil; " + planted_in("evil") + "rm .git; ln -s evil .git", {"."});
}

TEST_P(GitLayouts, ALinkOnItsWayIsGuarded) {
  user("mkdir deep; mv .git deep/gd; ln -s deep l; echo 'gitdir: l/gd' > .git");
  expect_fine("echo b > a; git commit -qam two");
  expect_refused("cp -r deep other; " + planted_in("other/gd") + "rm l; ln -s other l", {"."});
  expect_refused(planted_in("l/gd"), {"."});
}

TEST_P(GitLayouts, ABareRepositoryWithWorktreesIsGuarded) {
  user(std::string(kBare) + "echo 'gitdir: ./.bare' > .git; git worktree add -q w1");
  expect_fine(
      "cd w1; echo b > a; git commit -qam two; git worktree add -q ../w2; cd ../w2; echo c > a; git commit -qam c");
  expect_refused(planted_in(".bare"), {".", "w1", "w2"});
  expect_refused("cp -r .bare e; " + planted_in("e") + "echo ../../../e > .bare/worktrees/w1/commondir", {"w1"});
}

TEST_P(GitLayouts, SoItIsWhereNoFileOfTheRootLeadsThere) {
  user(std::string(kBare) + "git -C .bare worktree add -q ../w1");
  expect_fine("cd w1; echo b > a; git commit -qam two; git worktree add -q ../w2");
  expect_refused(planted_in(".bare"), {".bare", "w1", "w2"});
  expect_refused("cp -r .bare e; " + planted_in("e") + "sed -i s,/.bare/,/e/, w1/.git", {"w1"});
}

// It may be removed, and is found again.
TEST_P(GitLayouts, ABareRepositoryAloneIsGuarded) {
  expect_fine("git init -q --bare store.git; git push -q ./store.git HEAD:refs/heads/x");
  expect_refused(planted_in("store.git"), {"store.git"});
  expect_fine("rm -r store.git");
}

TEST_P(GitLayouts, ARootThatIsBareIsGuarded) {
  user("mv .git/* .; rm -r .git index; git config core.bare true; git worktree add -q w1");
  expect_fine("cd w1; echo b > a; git commit -qam two");
  expect_refused(planted_in("."), {".", "w1"});
  expect_refused("mv HEAD H; " + planted_in(".") + "mv H HEAD", {".", "w1"});
}

// The paths that file tools do not change, whatever the directory is called.
TEST_P(GitLayouts, TheirPlacesAreKnownToFileTools) {
  const auto knows = [&](const std::string& name) {
    const std::vector<std::string> places = cage::git_hook_places(stage_.project());
    return std::find(places.begin(), places.end(), file(name)) != places.end();
  };
  EXPECT_TRUE(knows(".git/hooks"));
  EXPECT_FALSE(knows(".git")) << "commits are made there";
  user("mv .git gd; echo 'gitdir: gd' > .git");
  for (const char* const name : {".git", "gd/hooks", "gd/config", "gd/commondir"}) EXPECT_TRUE(knows(name)) << name;
  user("mv gd .bare; rm .git; git -C .bare config core.bare true; rm .bare/index; git -C .bare worktree add -q ../w1");
  for (const char* const name : {".bare/hooks", ".bare/config", "w1/.git"}) EXPECT_TRUE(knows(name)) << name;
  EXPECT_FALSE(knows("gd/hooks"));
}

// ---- a root that becomes a repository

constexpr char kMake[] =
    "git init -q --bare x; mv x/* .; rmdir x; git config -f config core.bare false\n"
    "git config -f config core.worktree .\n";

TEST_P(GitLayouts, ACommandMakesTheRootNoRepositoryThatRunsPrograms) {
  user("rm -rf .git");
  const Ran ran = run(kMake + planted_in("."));
  ASSERT_EQ(ran.remarks.size(), 1u) << ran.output;
  EXPECT_NE(ran.remarks[0].find(" was made a repository by the command with hooks or settings"), std::string::npos)
      << ran.remarks[0];
  EXPECT_FALSE(exists("HEAD"));
  EXPECT_TRUE(exists("config"));
  EXPECT_FALSE(runs_in("."));
}

TEST_P(GitLayouts, NorBitByBit) {
  user("rm -rf .git");
  expect_fine(kMake + std::string("mv HEAD H"));
  expect_fine(planted_in("."));  // a directory with a file "config" and one "hooks"
  expect_refused("mv H HEAD", {"."});
  EXPECT_FALSE(exists("HEAD"));
  expect_refused("mv objects refs H ..; cp -r x . 2>/dev/null; echo 'ref: refs/heads/x' > HEAD; echo y > commondir",
                 {"."});
  EXPECT_FALSE(exists("HEAD"));
}

TEST_P(GitLayouts, APlainOneStaysAndIsGuardedThen) {
  user("rm -rf .git");
  expect_fine(kMake + std::string("git add a; git commit -qm a"));
  EXPECT_TRUE(exists("HEAD"));
  expect_refused(planted_in("."), {"."});
  EXPECT_TRUE(exists("HEAD"));
}

// Git goes on to the directory itself where its `.git` is broken.
TEST_P(GitLayouts, NorBehindABrokenOne) { expect_refused(kMake + planted_in(".") + "mv .git/HEAD .git/H", {"."}); }

TEST_P(GitLayouts, NorInASubdirectoryOfARepository) {
  user("mkdir web");
  cage::CageSettings settings = stage_.settings();
  settings.roots = {file("web")};
  auto cage = cage::Cage::make(settings, GetParam());
  ASSERT_TRUE(cage);
  const Ran ran = stage_.run(cage->get(), "cd web; " + std::string(kMake) + planted_in("."));
  EXPECT_EQ(ran.remarks.size(), 1u) << ran.output;
  EXPECT_FALSE(runs_in("web"));
}

// ---- a directory elsewhere

TEST_P(GitLayouts, ADirectoryOutsideCanBeCommittedTo) {
  user("mv .git ../gd; echo 'gitdir: ../gd' > .git");
  expect_fine("echo b > a; git commit -qam two");
  expect_refused(planted_in("../gd"), {"."});
}

// Another one's `.git`, a bare repository and a submodule's are none of this root.
TEST_P(GitLayouts, OthersStayClosed) {
  user(
      "mkdir ../other; mv .git ../other; cp -r ../other/.git ../b; git -C ../b config core.bare true\n"
      "cp -r ../other/.git ../s; git -C ../s config core.worktree /elsewhere");
  for (const char* const git : {"../other/.git", "../b", "../s"}) {
    user("echo 'gitdir: " + std::string(git) + "' > .git");
    const Ran ran = run("echo evil > " + std::string(git) + "/evil");
    EXPECT_NE(ran.code, 0) << git;
    EXPECT_FALSE(exists(std::string(git) + "/evil")) << git;
  }
}

// ---- submodules behind links

TEST_P(GitLayouts, ALinkInPlaceOfASubmoduleIsFollowed) {
  expect_fine(
      "git init -q deep/r; cd deep/r; git commit -q --allow-empty -m x; cd ../..\n"
      "git update-index --add --cacheinfo 160000,$(git -C deep/r rev-parse HEAD),new; ln -s deep/r new");
  expect_fine("cd deep/r; echo b > b; git add b; git commit -qm two");
  expect_refused(planted_in("deep/r/.git"), {"new", "deep/r", "."});
  expect_refused("cp -r deep/r e; " + planted_in("e/.git") + "rm new; ln -s e new", {"new"});
}

// ---- what is new at the end of a command

// What the first command removed, the second one makes anew: Git follows it as it followed the one before.
TEST_P(GitLayouts, TwoCommandsDoNotExchangeWhatAFileLeadsTo) {
  for (const char* const make : {"git init -q --bare deep/gd; git -C deep/gd config core.bare false; ",
                                 "git init -q --bare e; git -C e config core.bare false; ln -s ../e deep/gd; "}) {
    user("rm -rf .git deep e; mkdir deep; git init -q .; mv .git deep/gd; echo 'gitdir: deep/gd' > .git");
    (void)run("rm -rf deep/gd");
    expect_refused(make + planted_in("deep/gd"), {"."});
    EXPECT_FALSE(runs_in("."));
  }
}

TEST_P(GitLayouts, NorWhatALinkLeadsTo) {
  user("mkdir deep; mv .git deep/gd; ln -s deep/gd .git");
  (void)run("rm -rf deep/gd");
  expect_refused("git init -q --bare deep/gd; git -C deep/gd config core.bare false; " + planted_in("deep/gd"), {"."});
}

TEST_P(GitLayouts, NorTheRepositoryOfWorktrees) {
  for (const char* const pointer : {"echo 'gitdir: ./.bare' > .git", "true"}) {
    user("rm -rf .git .bare w1; git init -q .; git commit -q --allow-empty -m x\n" + std::string(kBare) + pointer +
         "; git -C .bare worktree add -q ../w1");
    (void)run("rm -rf .bare");
    expect_refused(
        "git init -q --bare .bare; mkdir -p .bare/worktrees/w1; cd .bare/worktrees/w1; echo ../.. > "
        "commondir; echo ref: refs/heads/main > HEAD; echo " +
            file("w1") + "/.git > gitdir; cd ../../..\n" + planted_in(".bare"),
        {"w1", "."});
  }
}

TEST_P(GitLayouts, NorThatOfASubmodule) {
  user(
      "mkdir sub deep; git init -q --separate-git-dir=$PWD/deep/gd sub; cd sub; git commit -q --allow-empty -m x; cd "
      "..\n"
      "git add sub 2>/dev/null; git commit -qm s");
  (void)run("rm -rf deep/gd");
  expect_refused("git init -q --bare deep/gd; git -C deep/gd config core.bare false; " + planted_in("deep/gd"),
                 {"sub", "."});
}

TEST_P(GitLayouts, APlainOneMayTakeItsPlace) {
  user("mkdir deep; mv .git deep/gd; echo 'gitdir: deep/gd' > .git; rm -rf deep/gd");
  expect_fine("git init -q --bare deep/gd; git -C deep/gd config core.bare false; git add a; git commit -qm a");
  expect_refused(planted_in("deep/gd"), {"."});
}

TEST_P(GitLayouts, ANewWorktreeBringsNoHooks) {
  for (const char* const scope : {"", "--global "}) {
    for (const char* const place : {"nw", "deep/nw"}) {
      user("rm -rf .git nw deep; git init -q .; git commit -q --allow-empty -m x; git config " + std::string(scope) +
           "core.hooksPath .githooks");
      expect_refused("git worktree add -q " + std::string(place) + "; " + planted_hooks_in(place), {place});
      expect_refused(planted_hooks_in(place), {place});
    }
    user("git config " + std::string(scope) + "--unset core.hooksPath");
  }
}

TEST_P(GitLayouts, NorByALink) {
  user("git config core.hooksPath tools/hooks; mkdir -p q/hooks");
  expect_refused(
      "git worktree add -q nw; ln -s ../q nw/tools; cp /bin/true q/hooks/x; " + planted_hooks_in("q", "hooks"), {"nw"});
}

TEST_P(GitLayouts, NorFromABranch) {
  user("git config core.hooksPath .githooks");
  expect_fine(
      "mkdir -p q; printf '#!/bin/sh\ntouch " + mark() +
      "\n' > q/pre-commit; b=$(git hash-object -w q/pre-commit); t=$(printf \"100755 blob $b\\tpre-commit\\n\" | git "
      "mktree); t=$(printf \"040000 tree $t\\t.githooks\\n\" | git mktree); git branch e $(git commit-tree -m "
      "e $t)");
  expect_refused("git worktree add -q nw e", {"nw"});
}

// Those of the user, checked out.
TEST_P(GitLayouts, ItBringsTheHooksOfTheOthers) {
  user(
      "mkdir .githooks; echo 'exit 0' > .githooks/pre-commit; chmod +x .githooks/pre-commit; git add .githooks\n"
      "git commit -qm hooks; git config core.hooksPath .githooks");
  expect_fine("git worktree add -q nw; cd nw; echo b > a; git commit -qam two");
  EXPECT_TRUE(exists("nw/.githooks/pre-commit"));
  expect_refused("echo 'touch " + mark() + "' >> nw/.githooks/pre-commit", {"nw"});
}

TEST_P(GitLayouts, ANewSubmoduleBringsNoHooks) {
  user("git config --global core.hooksPath .githooks");
  expect_refused(
      "git init -q nn; git -C nn commit -q --allow-empty -m x; git add nn 2>/dev/null; " + planted_hooks_in("nn"),
      {".", "nn"});
  user("git config --global --unset core.hooksPath");
}

TEST_P(GitLayouts, AWorktreeIsGuardedThoughItsDirectoryWasRemoved) {
  for (const char* const place : {"wt", "deep/wt"}) {
    user("git worktree add -q " + std::string(place));
    (void)run("rm -rf .git/worktrees");
    expect_refused("cd " + std::string(place) + "; rm -rf .git; git init -q .; cd " + file("") + "; " +
                       planted_in(std::string(place) + "/.git"),
                   {place});
    user("rm -rf .git/worktrees " + std::string(place));
  }
}

TEST_P(GitLayouts, AWorktreeIsRemovedWithItsDirectory) {
  user("git worktree add -q wt; git worktree add -q -b two deep/wt");
  if (GetParam() == cage::Layer::kLandlock) {
    expect_fine("git worktree remove wt; rm -rf deep/wt; git worktree prune");
    EXPECT_FALSE(exists("wt"));
    EXPECT_FALSE(exists(".git/worktrees"));
  } else {
    const Ran ran = run("git worktree remove wt");
    EXPECT_NE(ran.code, 0) << "the guard is a mount";
    ASSERT_EQ(ran.remarks.size(), 1u) << ran.output;
    EXPECT_NE(ran.remarks[0].find("in your own terminal"), std::string::npos) << ran.remarks[0];
  }
}

// Git takes relative paths in settings from there.
TEST_P(GitLayouts, TheWorktreeOfARepositoryMayBeAnotherDirectory) {
  user(
      "mkdir src; git config core.worktree ../src; git config core.hooksPath .githooks; git config core.fsmonitor "
      "./fsm");
  expect_refused(planted_hooks_in("src"));
  expect_refused("printf '#!/bin/sh\\ntouch " + mark() + "\\n' > src/fsm; chmod +x src/fsm");
  expect_refused(
      "cd src; git init -q nn; git -C nn commit -q --allow-empty -m n; git -C nn config core.fsmonitor 'touch " +
      mark() +
      "; false'; git --git-dir ../.git --work-tree . update-index --add --cacheinfo 160000,$(git "
      "-C nn rev-parse HEAD),nn");
  EXPECT_FALSE(runs_in("."));
  expect_fine("echo x > src/x; git add -A; git commit -qm x");
}

// A view that does not show them would let Git take them for gone.
TEST_P(GitLayouts, WorktreesOutsideOfTheRootAreNotPruned) {
  user("git worktree add -q ../sib; cd ../sib; mkdir -p $(git rev-parse --git-dir)/modules/m; echo s > s; git add s");
  (void)run("git worktree prune; git gc -q --prune=now");
  user("cd ../sib; git diff --cached --name-only | grep -qx s; test -d $(git rev-parse --git-dir)/modules/m");
}

// It is guarded from its first command on.
TEST_P(GitLayouts, ANewBareRepositoryHasNoHooks) {
  expect_refused("git init -q --bare store.git; " + planted_in("store.git"), {"store.git"});
  expect_fine("git init -q --bare --shared two.git; git clone -q --mirror . three.git");
}

INSTANTIATE_TEST_SUITE_P(Layers, GitLayouts, ::testing::Values(cage::Layer::kBubblewrap, cage::Layer::kLandlock),
                         layer_name);

}  // namespace
}  // namespace agentd::testing
