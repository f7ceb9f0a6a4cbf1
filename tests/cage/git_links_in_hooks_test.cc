// SPDX-License-Identifier: Apache-2.0
// git_links_in_hooks_test.cc - the files that links in directories of hooks lead to are guarded as the hooks.
#include <algorithm>

#include "core/cage/git_places.h"
#include "tests/cage/git_in_each_layer.h"

namespace agentd::testing {
namespace {

class GitLinksInHooks : public GitInEachLayer {
 protected:
  void SetUp() override {
    InEachLayer::SetUp();
    user("mkdir scripts; printf '#!/bin/sh\\n' > scripts/pc; chmod +x scripts/pc; git add scripts; git commit -qm s");
  }
  std::string planted(const std::string& script) const {
    return "printf '#!/bin/sh\\ntouch " + mark() + "\\n' > " + script + "; chmod +x " + script + "\n";
  }
  void expect_refused(const std::string& script, const std::string& top = ".") {
    GitInEachLayer::expect_refused(script, {top});
  }
};

TEST_P(GitLinksInHooks, TheControlRuns) {
  user("ln -s ../../scripts/pc .git/hooks/pre-commit\n" + planted("scripts/pc"));
  EXPECT_TRUE(runs_in("."));
}

TEST_P(GitLinksInHooks, AFileThatNoneLeadsToIsFree) { expect_fine(planted("scripts/pc")); }

TEST_P(GitLinksInHooks, TheFileIsGuarded) {
  user("ln -s ../../scripts/pc .git/hooks/pre-commit");
  expect_refused(planted("scripts/pc"));
  expect_refused("rm scripts/pc; " + planted("scripts/pc"));
  expect_refused("mv scripts s; mkdir scripts; " + planted("scripts/pc"));
  expect_fine("echo more > scripts/other; git add scripts; git commit -qm two");
}

TEST_P(GitLinksInHooks, SoItIsThatOfTrackedHooks) {
  user("mkdir .githooks; ln -s ../scripts/pc .githooks/pre-commit; git config core.hooksPath .githooks");
  expect_refused(planted("scripts/pc"));
}

TEST_P(GitLinksInHooks, SoIsEachHop) {
  user("ln -s scripts l; ln -s l/pc m; ln -s ../../m .git/hooks/pre-commit");
  expect_refused(planted("scripts/pc"));
  expect_refused("mkdir t; " + planted("t/pc") + "rm l; ln -s t l");
  expect_refused(planted("evil") + "rm m; ln -s evil m");
  expect_fine("echo more > scripts/other");
}

TEST_P(GitLinksInHooks, SoItIsBehindADirectoryThatIsALink) {
  user("mkdir own; ln -s ../scripts/pc own/pre-commit; rm -rf .git/hooks; ln -s ../own .git/hooks");
  expect_refused(planted("scripts/pc"));
}

TEST_P(GitLinksInHooks, SoItIsBehindHooksOutsideOfTheRoot) {
  user("mkdir ../hooks; ln -s " + file("scripts/pc") + " ../hooks/pre-commit; git config core.hooksPath $PWD/../hooks");
  expect_refused(planted("scripts/pc"));
}

TEST_P(GitLinksInHooks, SoIsTheDirectoryThatALinkOutsideOfTheRootLeadsTo) {
  user("mkdir own; ln -s " + file("own") + " ../hooks; git config core.hooksPath $PWD/../hooks");
  expect_refused(planted("own/pre-commit"));
}

TEST_P(GitLinksInHooks, SoIsTheDirectoryThatALinkOfGitLeadsTo) {
  user("mkdir own; rm -rf .git/hooks; ln -s ../own .git/hooks");
  expect_refused(planted("own/pre-commit"));
}

TEST_P(GitLinksInHooks, SoItIsThatOfHusky) {
  user("mkdir -p .husky/_; ln -s ../../scripts/pc .husky/_/pre-commit; git config core.hooksPath .husky/_");
  expect_refused(planted("scripts/pc"));
}

TEST_P(GitLinksInHooks, SettingsBehindALinkAreNotMade) {
  user("ln -s settings/git .gitconfig; git config include.path ../.gitconfig");
  expect_refused("mkdir settings; printf '[core]\n\tfsmonitor = touch " + mark() + "; false\n' > settings/git");
}

TEST_P(GitLinksInHooks, AFileThatIsMissingIsNotMade) {
  user("ln -s ../../scripts/later .git/hooks/pre-commit");
  expect_refused(planted("scripts/later"));
  EXPECT_FALSE(exists("scripts/later"));
}

// What else is in a directory to which a link leads may change.
TEST_P(GitLinksInHooks, ALinkToADirectoryGuardsNothing) {
  user("ln -s ../../scripts .git/hooks/lib");
  expect_fine("echo more > scripts/other");
}

TEST_P(GitLinksInHooks, ANewWorktreeBringsNoneOfItsOwn) {
  user(
      "mkdir .githooks; ln -s ../scripts/pc .githooks/pre-commit; git config core.hooksPath .githooks\n"
      "git add .githooks; git commit -qm h");
  expect_fine("git worktree add -q fine");
  expect_refused("git worktree add -q nw; " + planted("nw/scripts/pc"), "nw");
  expect_refused(planted("fine/scripts/pc"), "fine");
}

TEST_P(GitLinksInHooks, FileToolsKnowThem) {
  user("ln -s ../../scripts/pc .git/hooks/pre-commit");
  const std::vector<std::string> places = cage::git_hook_places(stage_.project());
  EXPECT_NE(std::find(places.begin(), places.end(), file("scripts/pc")), places.end());
}

INSTANTIATE_TEST_SUITE_P(Layers, GitLinksInHooks, ::testing::Values(cage::Layer::kBubblewrap, cage::Layer::kLandlock),
                         layer_name);

}  // namespace
}  // namespace agentd::testing
