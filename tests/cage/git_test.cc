// SPDX-License-Identifier: Apache-2.0
// git_test.cc - whatever a command makes of a repository, its submodules and its worktrees: the user's own Git, outside
// of the sandbox, runs nothing of it. And commits work in all of them.
#include <algorithm>

#include "core/cage/git_places.h"
#include "tests/cage/git_in_each_layer.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kMakeSub[] =
    "git init -q ../sub.origin; cd ../sub.origin; echo s > s; git add s; git commit -qm s; cd - >/dev/null\n"
    "git -c protocol.file.allow=always submodule --quiet add ../sub.origin sub; git commit -qm sub\n";

class Git : public GitInEachLayer {};

// ---- submodules

TEST_P(Git, GuardsASubmoduleHoweverGitmodulesIsSpelled) {
  user(kMakeSub);
  user("sed -i 's/path = /PATH=/' .gitmodules && git commit -qam spelled");
  const std::string pointer = text("sub/.git");
  expect_fine("cd sub; echo b > b; git add b; git commit -qm two; git status --short | wc -l");
  expect_refused("mkdir evil; echo 'gitdir: ../evil' > sub/.git");
  EXPECT_EQ(text("sub/.git"), pointer);
  expect_refused("echo evil > .git/modules/sub/hooks/pre-commit");
  EXPECT_FALSE(exists(".git/modules/sub/hooks/pre-commit"));
  expect_refused("rm .gitmodules; git config -f .git/modules/sub/config core.fsmonitor evil");
  EXPECT_EQ(text(".git/modules/sub/config").find("evil"), std::string::npos);
}

TEST_P(Git, GuardsASubmoduleWithADirectoryOfItsOwn) {
  user("git init -q own; cd own; echo o > o; git add o; git commit -qm o; cd ..; git add own 2>&1; git commit -qm own");
  expect_fine("cd own; echo b > b; git add b; git commit -qm two");
  expect_refused("echo evil > own/.git/hooks/pre-commit");
  EXPECT_FALSE(exists("own/.git/hooks/pre-commit"));
  expect_refused("git -C own config core.fsmonitor evil");
  expect_refused("mv own/.git own/g; cp -r own/g own/.git; echo evil > own/.git/hooks/pre-commit");
  EXPECT_FALSE(exists("own/.git/hooks/pre-commit"));
  EXPECT_EQ(text("own/.git/config").find("evil"), std::string::npos);
}

TEST_P(Git, GuardsSubmodulesInSubmodules) {
  user(
      "git init -q own/deep; cd own/deep; echo o > o; git add o; git commit -qm o; cd ..; git init -q .; git add deep "
      "2>&1; git commit -qm own; cd ..; git add own 2>&1; git commit -qm own");
  expect_refused("echo evil > own/deep/.git/hooks/pre-commit");
  EXPECT_FALSE(exists("own/deep/.git/hooks/pre-commit"));
  expect_fine("cd own/deep; echo b > b; git add b; git commit -qm two");
}

// The control: a repository that nothing names is none of the sandbox's.
TEST_P(Git, LeavesADeeperRepositoryAlone) {
  user("git init -q own; cd own; echo o > o; git add o; git commit -qm o");
  expect_fine("echo fine > own/.git/hooks/pre-commit");
  EXPECT_TRUE(exists("own/.git/hooks/pre-commit"));
}

TEST_P(Git, KeepsAPlainNewSubmodule) {
  expect_fine(
      "git init -q new; cd new; echo n > n; git add n; git commit -qm n; cd ..; git add new 2>&1; git commit -qm s");
  EXPECT_TRUE(exists("new/.git/HEAD"));
  expect_fine("git clone -q . clone; git add clone 2>&1");
  EXPECT_TRUE(exists("clone/.git/HEAD"));
}

TEST_P(Git, UndoesANewSubmoduleThatRunsPrograms) {
  const std::string make =
      "git init -q new; cd new; echo n > n; git add n; git commit -qm n; cd ..; git add new 2>&1\n";
  for (const char* const evil :
       {"echo evil > new/.git/hooks/pre-commit", "git -C new config core.fsmonitor ./evil",
        "mv new/.git e; echo 'gitdir: ../e' > new/.git; git -C new config core.fsmonitor ./evil",
        "mv new/.git e; ln -s ../e new/.git", "git -C new config include.path ../../x"}) {
    SCOPED_TRACE(evil);
    const Ran ran = run(make + evil);
    ASSERT_FALSE(ran.remarks.empty()) << ran.output;
    EXPECT_NE(ran.remarks[0].find("new/.git was added to the repository"), std::string::npos) << ran.remarks[0];
    EXPECT_FALSE(exists("new/.git"));
    user("rm -rf new e; git rm -q --cached new");
  }
}

TEST_P(Git, UndoesADeeperRepositoryThatBecomesASubmodule) {
  expect_fine("git init -q new; cd new; echo n > n; git add n; git commit -qm n; echo evil > .git/hooks/pre-commit");
  const Ran ran = run("git add new 2>&1");
  EXPECT_EQ(ran.remarks.size(), 1u) << ran.output;
  EXPECT_FALSE(exists("new/.git"));
}

// What a sandbox of which the process is so old undoes.
std::size_t undone(const Stage& stage, std::int64_t since_ns) {
  cage::Watch watch({{}, {}, {stage.project()}, {}, {}, since_ns}, {}, cage::Baseline::shared());
  return watch.undo(cage::Aside::in_home(stage.home() + "/.agent")).size();
}

// After all files that were written until now.
std::int64_t later_ns() {
  SystemClock().pause(Milliseconds(100));
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// One with hooks that was there before agentd: it is the user's, and only a git add made a submodule of it.
TEST_P(Git, KeepsAnOlderRepositoryThatBecomesASubmodule) {
  user("git init -q own; cd own; echo o > o; git add o; git commit -qm o; echo mine > .git/hooks/pre-commit");
  cage::GitPlaces places = cage::git_places(stage_.project());
  ASSERT_TRUE(places.parts.empty());
  user("git add own 2>&1");
  places = cage::git_places(stage_.project());
  ASSERT_EQ(places.parts.size(), 1u);
  EXPECT_FALSE(cage::is_plain_part(places.parts[0]));
  const std::int64_t now_ns = later_ns();
  EXPECT_EQ(undone(stage_, now_ns), 0u);
  EXPECT_TRUE(exists("own/.git"));
  EXPECT_EQ(undone(stage_, now_ns - 3'600 * std::int64_t{1'000'000'000}), 1u) << "the control";
}

// What a file `.git` leads to counts as what is in a directory.
// Whatever was done in it since.
TEST_P(Git, KeepsAnOlderRepositoryWithNewCommits) {
  user(
      "git init -q own; cd own; mkdir .husky; echo 'exit 0' > .husky/pre-commit; git config core.hooksPath .husky\n"
      "echo mine > .git/hooks/pre-commit");
  const std::int64_t now_ns = later_ns();
  user("cd own; git commit -q --no-verify --allow-empty -m s; echo n > n; cd ..; git add own 2>&1");
  EXPECT_EQ(undone(stage_, now_ns), 0u);
  EXPECT_TRUE(exists("own/.git"));
  put("own/.husky/pre-commit", "evil\n");
  EXPECT_EQ(undone(stage_, now_ns), 1u);
  EXPECT_TRUE(exists("own/.git"));
  EXPECT_FALSE(exists("own/.husky"));
}

TEST_P(Git, ChecksTheDirectoryThatAFileLeadsTo) {
  user(
      "git init -q --separate-git-dir=\"$PWD/apart\" own; cd own; echo o > o; git add o; git commit -qm o\n"
      "echo mine > ../apart/hooks/pre-commit; cd ..; git add own 2>&1");
  const std::int64_t now_ns = later_ns();
  EXPECT_EQ(undone(stage_, now_ns), 0u) << "the control";
  EXPECT_TRUE(exists("own/.git"));
  put("apart/hooks/pre-commit", "evil\n");
  EXPECT_EQ(undone(stage_, now_ns), 2u) << "it is a repository itself, too";
  EXPECT_FALSE(exists("own/.git"));
  EXPECT_FALSE(exists("apart/HEAD"));
}

TEST_P(Git, LetsALinkToAPlainRepositoryTakeTheSubmodulesPlace) {
  user(
      "git init -q lib; cd lib; echo o > o; git add o; git commit -qm o; cd ..; cp -r lib evil; mkdir sub\n"
      "echo evil > evil/.git/hooks/pre-commit; sleep 0.1\n"
      "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub");
  expect_fine("rmdir sub; ln -s lib sub");
  EXPECT_TRUE(fs::is_symlink(file("sub")));
  user("rm sub; mkdir sub");
  const Ran ran = run("rmdir sub; touch evil/.git/hooks/pre-commit; ln -s evil sub");
  ASSERT_EQ(ran.remarks.size(), 1u);
  EXPECT_NE(ran.remarks[0].find("sub/.git was led elsewhere by a link by the command"), std::string::npos)
      << ran.remarks[0];
  EXPECT_FALSE(exists("sub"));
}

TEST_P(Git, UndoesANewDirectoryOfASubmodule) {
  expect_fine(
      "git init -q --bare .git/modules/fine; git config -f .git/modules/fine/config core.worktree ../../../fine\n"
      "mkdir fine; echo 'gitdir: ../.git/modules/fine' > fine/.git");
  for (const char* const evil :
       {"git init -q --bare .git/modules/x; echo evil > .git/modules/x/hooks/pre-commit",
        "git init -q --bare .git/modules/a/b/x; git config -f .git/modules/a/b/x/config core.fsmonitor evil",
        "git init -q --bare e; mkdir .git/modules/x; echo ../../../e > .git/modules/x/commondir; cp e/HEAD "
        ".git/modules/x",
        "mkdir .git/modules; git init -q --bare e; ln -s ../../e .git/modules/x"}) {
    expect_refused(evil);
    EXPECT_FALSE(exists(".git/modules/x")) << evil;
    EXPECT_FALSE(exists(".git/modules/a/b/x")) << evil;
    user("rm -rf e");
  }
  EXPECT_TRUE(exists(".git/modules/fine/HEAD"));
}

TEST_P(Git, LetsASubmoduleBeRemoved) {
  user("git init -q own; cd own; echo o > o; git add o; git commit -qm o; cd ..; git add own 2>&1; git commit -qm own");
  if (GetParam() == cage::Layer::kLandlock) {
    expect_fine("mv own other; git add -A . 2>&1; git commit -qm moved");
    expect_fine("rm -rf other; git add -A .; git commit -qm removed");
  }
}

// The index that a command leaves is one that is not read here: each repository counts.
TEST_P(Git, IsNotMisledBySplittingTheIndex) {
  const Ran ran = run(
      "git init -q new; cd new; echo n > n; git add n; git commit -qm n; echo evil > .git/hooks/pre-commit; cd ..; git "
      "add new 2>&1; git update-index --split-index");
  EXPECT_EQ(ran.remarks.size(), 1u) << ran.output;
  EXPECT_FALSE(exists("new/.git"));
}

// A link in a circle costs nothing.
TEST_P(Git, EndsWhereLinksLeadInCircles) {
  user("mkdir -p .git/modules/a; for i in $(seq 20); do ln -s .. .git/modules/a/l$i; done; ln -s . loop");
  user("for i in $(seq 20); do git update-index --add --cacheinfo 160000,$(printf '1%.0s' $(seq 40)),s$i; done");
  expect_fine("true");
}

// ---- worktrees

TEST_P(Git, GuardsALinkedWorktreeInTheRoot) {
  user("git worktree add -q tree");
  const std::string pointer = text("tree/.git");
  expect_fine("cd tree; echo b > a; git commit -qam two; git log --oneline | wc -l");
  expect_refused("mkdir evil; echo 'gitdir: ../evil' > tree/.git");
  EXPECT_EQ(text("tree/.git"), pointer);
  expect_refused("echo ../../../evil > .git/worktrees/tree/commondir");
  EXPECT_EQ(text(".git/worktrees/tree/commondir"), "../..\n");
}

TEST_P(Git, KeepsANewWorktreeAndUndoesOneThatLeadsElsewhere) {
  expect_fine("git worktree add -q tree; cd tree; echo b > a; git commit -qam two");
  EXPECT_TRUE(exists("tree/.git"));
  expect_refused("git worktree add -q other; mkdir e; echo ../../../e > .git/worktrees/other/commondir");
  EXPECT_FALSE(exists(".git/worktrees/other"));
}

TEST_P(Git, GuardsEachOfManyWorktrees) {
  user(
      "for i in $(seq 300); do d=.git/worktrees/w$i; mkdir -p $d; echo ../.. > $d/commondir; echo /none/.git > "
      "$d/gitdir; "
      "echo ref: refs/heads/x > $d/HEAD; done");
  for (const char* const name : {"w1", "w299", "w300"}) {
    const std::string file = ".git/worktrees/" + std::string(name) + "/commondir";
    expect_refused("echo ../../../evil > " + file);
    EXPECT_EQ(text(file), "../..\n");
  }
}

// ---- settings

TEST_P(Git, GuardsHooksInTheWorkspaceThatSettingsName) {
  put(".githooks/pre-commit", "mine\n");
  expect_fine("echo fine >> .githooks/pre-commit");  // the control
  user("git config core.hooksPath .githooks");
  expect_refused("echo evil > .githooks/pre-commit");
  expect_refused("echo evil > .githooks/pre-push");
  EXPECT_EQ(text(".githooks/pre-commit"), "mine\nfine\n");
  EXPECT_FALSE(exists(".githooks/pre-push"));
}

TEST_P(Git, GuardsHooksThatDoNotExistYet) {
  user("git config core.hooksPath dev/hooks");
  expect_refused("mkdir -p dev/hooks; echo evil > dev/hooks/pre-commit");
  EXPECT_FALSE(exists("dev/hooks"));
}

TEST_P(Git, GuardsTheScriptsOfHusky) {
  put(".husky/_/pre-commit", "runs ../pre-commit\n");
  put(".husky/pre-commit", "mine\n");
  user("git config core.hooksPath .husky/_");
  expect_refused("echo evil > .husky/pre-commit");
  EXPECT_EQ(text(".husky/pre-commit"), "mine\n");
}

TEST_P(Git, GuardsWhatTheUsersOwnSettingsName) {
  put("hooks/pre-commit", "mine\n");
  put("settings", "[core]\n\thooksPath = hooks\n\tfsmonitor = tools/monitor.sh\n");
  put("tools/monitor.sh", "mine\n");
  std::ofstream(stage_.home() + "/.gitconfig", std::ios::app) << "[include]\n\tpath = " << file("settings") << "\n";
  for (const char* const name : {"hooks/pre-commit", "settings", "tools/monitor.sh"}) {
    const std::string before = text(name);
    expect_refused("echo evil >> " + std::string(name));
    EXPECT_EQ(text(name), before) << name;
  }
  expect_fine("echo fine > tools/other.sh; echo b > a");
}

TEST_P(Git, GuardsWhereTheRepositoryIsAboveTheRoot) {
  put("web/.husky/pre-commit", "mine\n");
  user("git config core.hooksPath web/.husky");
  cage::CageSettings settings = stage_.settings();
  settings.roots = {file("web")};
  auto cage = cage::Cage::make(settings, GetParam());
  ASSERT_TRUE(cage);
  const Ran ran = stage_.run(cage->get(), "echo evil > web/.husky/pre-commit");
  EXPECT_TRUE(ran.code != 0 || !ran.remarks.empty());
  EXPECT_EQ(text("web/.husky/pre-commit"), "mine\n");
}

INSTANTIATE_TEST_SUITE_P(Layers, Git, ::testing::Values(cage::Layer::kBubblewrap, cage::Layer::kLandlock), layer_name);

}  // namespace
}  // namespace agentd::testing
