// SPDX-License-Identifier: Apache-2.0
// git_tricks_test.cc - repositories that a command makes unusual, so that Git reads what agentd does not.
#include "tests/cage/git_in_each_layer.h"

namespace agentd::testing {
namespace {

constexpr char kNew[] = "git init -q nn; git -C nn commit -q --allow-empty -m n; git add nn 2>/dev/null; ";

class GitTricks : public GitInEachLayer {};

TEST_P(GitTricks, TheControlRuns) {
  user(kNew + planted_in("nn/.git"));
  EXPECT_TRUE(runs_in("nn"));
}

// ---- directories that cannot be listed

TEST_P(GitTricks, ADirectoryThatIsClosedHidesNothing) {
  if (::geteuid() == 0) GTEST_SKIP() << "root lists every directory; cage_attacks_of_nobody runs it";
  expect_refused(kNew + planted_in("nn/.git") + "chmod 0311 nn/.git/hooks", {"nn", "."});
  user("chmod -R u+rwx nn .git; rm -rf nn; git rm -q --cached nn || true; git config core.hooksPath .githooks");
  expect_refused("git worktree add -q nw; " + planted_hooks_in("nw") + "chmod 0311 nw/.githooks", {"nw"});
  user("git config --unset core.hooksPath; rm -rf nw; git worktree prune");
  expect_refused("git init -q --bare x; mkdir -p .git/modules; mv x .git/modules; " + planted_in(".git/modules/x") +
                     "chmod 0311 .git/modules",
                 {});
}

TEST_P(GitTricks, AWorktreeInADirectoryThatIsClosedIsUndone) {
  if (::geteuid() == 0) GTEST_SKIP() << "root sees what is in every directory; cage_attacks_of_nobody runs it";
  user("git config core.hooksPath .githooks");
  expect_refused("git worktree add -q d/nw; " + planted_hooks_in("d/nw") + "chmod 0 d");
  (void)run("chmod 755 d");
  user("chmod 755 d");
  EXPECT_FALSE(runs_in("d/nw"));
}

TEST_P(GitTricks, ARootThatIsClosedIsSearched) {
  if (::geteuid() == 0) GTEST_SKIP() << "root lists every directory; cage_attacks_of_nobody runs it";
  user("mv .git .bare; git -C .bare config core.bare true; rm -f .bare/index; git -C .bare worktree add -q ../w1");
  (void)run("chmod 0311 .");
  (void)run(planted_in(".bare"));
  user("chmod 755 .");
  EXPECT_FALSE(runs_in("w1"));
}

// ---- a `.git` that leads to no submodule and no worktree

TEST_P(GitTricks, ADirectoryInThatOfAWorktreeIsNone) {
  expect_refused(std::string("git worktree add -q nw; ") + kNew + "mv nn/.git .git/worktrees/nw/evil; " +
                     planted_in(".git/worktrees/nw/evil") + "echo \"gitdir: $PWD/.git/worktrees/nw/evil\" > nn/.git",
                 {".", "nn"});
}

TEST_P(GitTricks, ADirectoryInThatOfASubmoduleIsNone) {
  expect_refused(std::string("git init -q --bare m; mkdir -p .git/modules; mv m .git/modules; ") + kNew +
                     "mv nn/.git .git/modules/m/evil; " + planted_in(".git/modules/m/evil") +
                     "echo \"gitdir: $PWD/.git/modules/m/evil\" > nn/.git",
                 {".", "nn"});
}

TEST_P(GitTricks, ADirectoryInARepositoryThatIsNoPartIsNone) {
  expect_refused(
      "git init -q x; git init -q x/nn; git -C x/nn commit -q --allow-empty -m a; mkdir x/.git/modules; mv x/nn/.git "
      "x/.git/modules/e; echo 'gitdir: ../.git/modules/e' > x/nn/.git; git update-index --add --cacheinfo 160000,$(git "
      "-C "
      "x/nn rev-parse HEAD),x/nn; " +
          planted_in("x/.git/modules/e"),
      {"."});
  user("rm -rf x; git rm -q --cached x/nn || true");
  expect_refused(
      "git init -q x; git -C x commit -q --allow-empty -m a; git -C x worktree add -q nn; git update-index --add "
      "--cacheinfo 160000,$(git -C x rev-parse HEAD),x/nn; " +
          planted_in("x/.git"),
      {"."});
}

TEST_P(GitTricks, AWorktreeOfTheRootMayBeAdded) {
  user("git config core.fsmonitor false; git config alias.x status");
  expect_fine("git worktree add -q nw; git add . 2>/dev/null; git commit -qm x");
  EXPECT_TRUE(exists("nw/.git"));
}

// "/proc/self/cwd" is another directory for agentd than for Git.
TEST_P(GitTricks, ALinkThroughAProcessLeadsNowhere) {
  expect_refused(std::string("git init -q --bare .git/modules/x; ln -s .git/modules m; ") + kNew +
                     "mkdir nn/m; mv nn/.git nn/m/x; " + planted_in("nn/m/x") +
                     "echo 'gitdir: /proc/self/cwd/m/x' > nn/.git",
                 {"."});
  user("rm -rf nn m; git rm -q --cached nn || true");
  expect_refused(std::string("git worktree add -q nw; cd nw; ") + kNew + planted_in("nn/.git") +
                     "d=$(git rev-parse --git-dir); mv $d/index idx; ln -s /proc/self/cwd/idx $d/index",
                 {"nw"});
  for (const char* const place : {"n2", "deep/n2"})
    expect_refused("git worktree add -q " + std::string(place) + "; ln -s $PWD/.git/worktrees m; cd " + place +
                       "; mkdir m; cp -r ../.git m/n2 2>/dev/null || cp -r ../../.git m/n2; " + planted_in("m/n2") +
                       "echo 'gitdir: /proc/self/cwd/m/n2' > .git",
                   {place});
}

TEST_P(GitTricks, AWorktreeIsReadAsGitReadsIt) {
  expect_refused(
      kNew + std::string("mkdir -p .git/modules; mv nn/.git .git/modules/nn; echo 'gitdir: "
                         "../.git/modules/nn' > nn/.git; printf '[core]\\n\\tworktree = ../../../a\\tb\\n' >> "
                         ".git/modules/nn/config; mkdir \"$(printf 'a\\tb')\"; cp nn/.git \"$(printf 'a\\tb')\""),
      {});
  EXPECT_FALSE(exists(".git/modules/nn/config"));
}

// Those of Git itself.
TEST_P(GitTricks, ASubmoduleInAWorktreeIsOne) {
  user(
      "git init -q ../up; git -C ../up commit -q --allow-empty -m u; git config --global protocol.file.allow always\n"
      "git submodule --quiet add $PWD/../up s/mod; git commit -qm mod; git worktree add -q wt; cd wt; git submodule "
      "--quiet update --init");
  expect_fine("cd wt/s/mod; git commit -q --allow-empty -m x; cd ../..; git add .; git commit -qm y");
  expect_refused(planted_in(".git/worktrees/wt/modules/s/mod"), {"wt/s/mod", "wt"});
}

TEST_P(GitTricks, TheRepositoryOfANewWorktreeIsNotBehindALink) {
  expect_refused("git worktree add -q nw; mkdir q; ln -s $PWD/.git q/l; echo $PWD/q/l > .git/worktrees/nw/commondir",
                 {});
  (void)run("git clone -q --bare . q/e; git -C q/e config core.bare false; " + planted_in("q/e") +
            "rm -f q/l; ln -s e q/l");
  EXPECT_FALSE(runs_in("nw"));
}

// A link in the place of the part before ".." leads it elsewhere later.
TEST_P(GitTricks, APathThatGoesBackIsNone) {
  expect_refused("git worktree add -q nw; mkdir q; echo \"gitdir: $PWD/q/../.git/worktrees/nw\" > nw/.git");
  (void)run("mkdir -p z/y; cp -r .git z/.git; " + planted_in("z/.git") + "rmdir q; ln -s z/y q");
  EXPECT_FALSE(runs_in("nw"));
  user("rm -rf nw q z; git worktree prune");
  expect_refused(kNew + std::string("mkdir -p nn/q .git/modules; mv nn/.git .git/modules/nn; echo 'gitdir: "
                                    "q/../../.git/modules/nn' > nn/.git"));
  (void)run("mkdir -p z/.git/modules z/m/y; cp -r .git/modules/nn z/.git/modules/; " + planted_in("z/.git/modules/nn") +
            "rmdir nn/q; ln -s ../z/m/y nn/q");
  EXPECT_FALSE(runs_in("."));
  user("rm -rf nn z .git/modules; git rm -q --cached nn || true; git config core.hooksPath .githooks");
  expect_refused(kNew + std::string("mkdir -p q .git/modules; mv nn/.git .git/modules/nn; echo 'gitdir: "
                                    "../.git/modules/nn' > nn/.git; git config -f .git/modules/nn/config "
                                    "core.worktree $PWD/q/../nn"));
  user("rm -rf nn .git/modules; git rm -q --cached nn || true; mkdir d");
  expect_refused("git worktree add -q d/nw; mkdir -p d/q; echo $PWD/d/q/../nw/.git > .git/worktrees/nw/gitdir");
  EXPECT_EQ(run("true").code, 0) << "later commands run";
}

// The name by which a mount is guarded is not the only one of a file.
TEST_P(GitTricks, AHardLinkLeadsAroundNoGuard) {
  const std::string adds = "printf '[core]\\n\\tfsmonitor = touch " + mark() + "; false\\n' >> h";
  expect_fine(kNew + std::string("ln nn/.git/config h"));
  expect_refused(adds, {"."});
  user("rm -rf nn h; git rm -q --cached nn || true; git config core.hooksPath .githooks");
  user(
      "mkdir .githooks; printf '#!/bin/sh\\n' > .githooks/pre-commit; chmod +x .githooks/pre-commit; git add .; git "
      "commit -qm h");
  expect_fine("git worktree add -q nw; ln nw/.githooks/pre-commit hard");
  expect_refused("echo touch " + mark() + " >> hard", {"nw"});
  user("ln .githooks/pre-commit mine");
  expect_refused("echo touch " + mark() + " >> mine", {"."});
}

// ---- several worktrees of one directory

TEST_P(GitTricks, EachWorktreeHasNamesOfItsOwn) {
  user("git config core.hooksPath .githooks");
  expect_refused("git worktree add -q nw; mkdir zz; cp nw/.git zz/; echo $PWD/zz/.git > .git/worktrees/nw/gitdir; " +
                     planted_hooks_in("nw"),
                 {"nw"});
  expect_refused("git worktree add -q n2; mkdir z2; cp n2/.git z2/; " + planted_hooks_in("z2"), {"z2", "n2"});
}

TEST_P(GitTricks, AWorktreeThatIsMovedBringsNoHooks) {
  user("git config core.hooksPath .githooks; git worktree add -q wt");
  expect_refused("mv wt d; " + planted_hooks_in("d"), {"d"});
}

TEST_P(GitTricks, AWorktreeIsMovedByGit) {
  user("git worktree add -q wt");
  if (GetParam() == cage::Layer::kBubblewrap) {  // its guard is a mount
    expect_refused("git worktree move wt deep", {"wt"});
    EXPECT_FALSE(exists("deep"));
    return;
  }
  expect_fine("git worktree move wt deep; cd deep; git commit -q --allow-empty -m x; git worktree prune");
  expect_fine("git -C deep status");
  expect_refused(planted_in("deep/.git") + "rm -f deep/.git; git init -q deep; " + planted_in("deep/.git"), {"deep"});
}

// ---- where the files of a commit are written

TEST_P(GitTricks, ARepositoryWritesNowhereElse) {
  user("rm -rf .git");
  expect_refused(
      "git init -q .; echo touch > .bashrc; git add .; git commit -qm a; rm .bashrc; git config core.worktree " +
          stage_.home(),
      {});
  EXPECT_FALSE(exists(".git/config"));
}

TEST_P(GitTricks, NorDoesASubmodule) {
  expect_refused(kNew + std::string("git -C nn config core.worktree $PWD/.git/hooks"), {});
  EXPECT_FALSE(exists("nn/.git/config"));
}

TEST_P(GitTricks, NorANewWorktree) {
  user("git config extensions.worktreeConfig true");
  expect_refused(
      "git worktree add -q nw; git config -f .git/worktrees/nw/config.worktree core.worktree $PWD/.git/hooks", {});
}

// It leads back when it is judged, and is exchanged in a later command.
TEST_P(GitTricks, NorDoesOneWhoseWorktreeIsLedElsewhereLater) {
  const std::filesystem::path home = stage_.home();
  const std::string worktree = "d/" + home.filename().string(), written = home / "written";
  const auto checks_out = [&] {
    user("cd nn; git checkout -f -q || true");
    return std::filesystem::exists(written);
  };
  expect_fine("git init -q nn; echo n > nn/written; git -C nn add .; git -C nn commit -qm n; rm nn/written\n" +
              ("mkdir -p .git/modules " + worktree) +
              "; mv nn/.git .git/modules/nn; echo 'gitdir: ../.git/modules/nn' > nn/.git\n" +
              "git config -f .git/modules/nn/config core.worktree ../../../" + worktree +
              "; echo 'gitdir: ../../.git/modules/nn' > " + worktree + "/.git; git add nn");
  expect_refused("rm -rf " + worktree + "; ln -s " + home.string() + " " + worktree);
  EXPECT_FALSE(checks_out());
  user("rm -rf d; mkdir -p " + worktree);
  expect_refused("rm -rf d; ln -s " + home.parent_path().string() + " d");
  EXPECT_FALSE(checks_out());
  user("rm -rf d; ln -s " + home.parent_path().string() + " d");
  EXPECT_TRUE(checks_out()) << "the control";
}

TEST_P(GitTricks, NorDoesOneOfTheUser) {
  user("mkdir d; git config core.worktree ../d");
  expect_fine("rmdir d; mkdir t; ln -s t d");
  expect_refused("rm d; ln -s " + stage_.home() + " d");
  EXPECT_FALSE(std::filesystem::is_symlink(file("d")));
}

// ---- too deep to be read

TEST_P(GitTricks, TooManySubmodulesInSubmodulesAreRefused) {
  expect_refused(
      "c=; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do c=$c/n; git init -q .$c; git -C .$c commit "
      "-q --allow-empty -m n; done\n" +
          planted_in(".$c/.git") +
          "while [ -n \"$c\" ]; do git -C .${c%/n} add n 2>/dev/null; git -C .${c%/n} commit -qm n; "
          "c=${c%/n}; done",
      {"."});
}

TEST_P(GitTricks, ATooLongNameOfASubmoduleIsRefused) {
  expect_refused(
      "d=.git/modules/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s; mkdir -p $d; git init -q --bare x; mv x $d/t; " +
          planted_in("$d/t"),
      {});
}

// ---- two roots

TEST_P(GitTricks, AWorktreeInAnotherRootIsGuarded) {
  const std::string other = stage_.project() + "-two";
  user("git config core.hooksPath .githooks; mkdir " + other + "; git worktree add -q " + other + "/wt");
  cage::CageSettings settings = stage_.settings();
  settings.roots = {stage_.project(), other};
  auto cage = cage::Cage::make(settings, GetParam());
  ASSERT_TRUE(cage) << cage.error().message;
  const auto refused = [&](const std::string& script, const std::string& top) {
    const Ran ran = stage_.run(cage->get(), script);
    EXPECT_TRUE(ran.code != 0 || !ran.remarks.empty()) << script << ran.output;
    EXPECT_FALSE(runs_in(top)) << script;
  };
  refused(planted_hooks_in(other + "/wt"), other + "/wt");
  refused("rm -f " + other + "/wt/.git; cd " + other + "; git init -q e; " + planted_in("e/.git") +
              "echo 'gitdir: ../e/.git' > wt/.git",
          other + "/wt");
  refused("git worktree add -q -b n " + other + "/nw; " + planted_hooks_in(other + "/nw"), other + "/nw");
  refused("cd " + other + "/wt; " + kNew + planted_in("nn/.git"), other + "/wt");
  user("cd " + other + "/wt; rm -rf nn; git rm -q --cached nn");
  const Ran fine = stage_.run(cage->get(), "cd " + other + "/wt; " + kNew + "git commit -q --allow-empty -m x");
  EXPECT_EQ(fine.code, 0) << fine.output;
  EXPECT_TRUE(fine.remarks.empty()) << fine.remarks[0];
}

// ---- old ways

TEST_P(GitTricks, FilesOfRemotesAreGuarded) {
  expect_refused("mkdir -p .git/remotes; git clone -q --bare . ev; echo URL: $PWD/ev > .git/remotes/origin", {});
  EXPECT_FALSE(exists(".git/remotes/origin"));
}

TEST_P(GitTricks, TheTemplateOfNewRepositoriesIsGuarded) {
  user("mkdir -p tpl/hooks; git config --global init.templateDir $PWD/tpl");
  expect_refused("echo > tpl/hooks/post-commit");
  user("git config --global --unset init.templateDir");
  expect_fine("echo > tpl/hooks/other");
}

// As Git's: they name programs.
TEST_P(GitTricks, SettingsOfOtherToolsAreGuarded) {
  for (const char* const path : {".hg/hgrc", ".sl/config", ".jj/repo/config.toml", ".helix/languages.toml",
                                 ".qwen/settings.json", "crush.json", ".github/hooks/pre.json", ".run/a.xml"}) {
    expect_refused("mkdir -p $(dirname " + std::string(path) + "); echo x > " + path);
    EXPECT_FALSE(exists(path)) << path;
  }
  expect_fine("mkdir -p .github; echo x > .github/dependabot.yml");
}

TEST_P(GitTricks, AUnderscoreInTheRootIsADirectoryOfHooks) {
  user("git config core.hooksPath _");
  expect_refused(planted_hooks_in(".", "_"), {"."});
}

// ---- what is fine

TEST_P(GitTricks, HarmlessSettingsOfANewRepositoryStay) {
  user("rm -rf .git");
  expect_fine(
      "git init -q .; git config core.autocrlf input; git config commit.gpgsign false; git config pull.rebase "
      "true; git config advice.detachedHead false; git commit -q --allow-empty -m a");
  EXPECT_TRUE(exists(".git/config"));
}

TEST_P(GitTricks, ASparseWorktreeStays) {
  user(
      "mkdir d; echo d > d/d; git add .; git commit -qm d; git sparse-checkout init --cone; git sparse-checkout set d");
  expect_fine("git worktree add -q nw; cd nw; git sparse-checkout list; git commit -q --allow-empty -m x");
  EXPECT_TRUE(exists("nw/.git"));
}

INSTANTIATE_TEST_SUITE_P(Layers, GitTricks, ::testing::Values(cage::Layer::kBubblewrap, cage::Layer::kLandlock),
                         layer_name);

}  // namespace
}  // namespace agentd::testing
