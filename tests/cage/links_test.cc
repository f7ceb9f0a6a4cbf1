// SPDX-License-Identifier: Apache-2.0
// links_test.cc - links that commands put in the way of guarded paths: agentd, which looks at these paths and restores
// them outside of the sandbox, follows none. Nothing of the home is shown, moved or written.
#include <sys/stat.h>

#include <cstdlib>

#include "tests/cage/cage_test.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

// A repository in `sub` of which the index says that it is a submodule.
constexpr char kNestedSettings[] =
    "mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/x' > sub/.git/HEAD\n"
    "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub\n";

class Links : public InEachLayer {
 protected:
  std::string of_home(const std::string& name) const {
    return read_file(stage_.home() + "/" + name, 1u << 20).value_or("(none)");
  }
  void in_home(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(stage_.home() + "/" + name).parent_path());
    std::ofstream(stage_.home() + "/" + name) << text;
  }
  // Everything outside of the project is as it was, and nothing of it is in the project.
  void expect_no_harm(const Ran& ran) {
    EXPECT_EQ(stage_.harm(ran), "") << ran.output;
    const Ran looked = stage_.run(nullptr, "grep -rl " + std::string(kCanary) + " . ; true");
    EXPECT_EQ(looked.output, "") << "a secret is in the workspace";
  }
  std::string home_variable() const { return "H='" + stage_.home() + "'\n"; }
};

// What included settings name is a guarded path, and a link leads it into the home at one moment.
TEST_P(Links, ShowAndWriteNothingOfTheHome) {
  const auto cage = make();
  Waiting first(stage_, cage.get(), "first",
                home_variable() + kNestedSettings +
                    "printf '[include]\\n\\tpath = ../../lnk/id_ed25519\\n\\tpath = ../../d1/.profile\\n\\tpath = "
                    "../../d2/config.yaml\\n' > sub/.git/config\n"
                    "ln -s $H/.ssh lnk; mkdir e1 e2; ln -s e1 d1; ln -s e2 d2\n"
                    "echo OWNED > e1/.profile; echo OWNED > e2/config.yaml");
  wait_for("first.did");
  Waiting second(stage_, cage.get(), "second",
                 home_variable() + "rm lnk d1 d2; mkdir lnk; ln -s $H d1; ln -s $H/.agent d2");
  wait_for("second.did");
  (void)second.finish();
  const Ran ran = first.finish();
  EXPECT_TRUE(fs::is_symlink(file("lnk")) || !exists("lnk/id_ed25519"));
  EXPECT_EQ(of_home(".profile"), "(none)");
  EXPECT_EQ(of_home(".agent/config.yaml"), "(none)");
  expect_no_harm(ran);
}

TEST_P(Links, MoveNoOtherRepository) {
  const std::string other = stage_.home() + "/other";
  user("git init -q '" + other + "'; cd '" + other + "'; echo o > o; git add o; git commit -qm o");
  const std::string settings = of_home("other/.git/config");
  (void)run("ln -s '" + other + "' sub; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub");
  (void)run("rm sub; mkdir sub");
  EXPECT_FALSE(exists("sub/.git"));
  EXPECT_EQ(of_home("other/.git/config"), settings);
  // The directory of a submodule is exchanged for a link.
  user("rm -rf sub; git clone -q . sub; git add sub 2>&1; git commit -qm sub");
  (void)run("mv sub/.git g; rm -rf sub; ln -s '" + other + "' sub");
  EXPECT_EQ(of_home("other/.git/config"), settings);
  user("rm -rf sub g; git clone -q . sub");
  fs::create_directories(stage_.home() + "/victim");
  (void)run("mv sub/.git g; rm -rf sub; ln -s '" + stage_.home() + "/victim' sub");
  EXPECT_TRUE(fs::is_empty(stage_.home() + "/victim"));
}

TEST_P(Links, ReplaceNoFilesElsewhere) {
  in_home(".aws/config", "mine\n");
  in_home("v3/hooks/mine", "mine\n");
  user(
      "git init -q ../sub.origin; cd ../sub.origin; echo s > s; git add s; git commit -qm s; cd - >/dev/null\n"
      "git -c protocol.file.allow=always submodule --quiet add ../sub.origin sub; git commit -qm sub");
  (void)run(home_variable() + "mv .git/modules/sub .git/modules/s2; ln -s $H/.aws .git/modules/sub");
  EXPECT_EQ(of_home(".aws/config"), "mine\n");
  user("mkdir -p tools/hooks; echo mine > tools/hooks/pre-commit; git config core.hooksPath tools/hooks");
  const Ran led = run(home_variable() + "mv tools t2 && ln -s $H/v3 tools");
  EXPECT_EQ(of_home("v3/hooks/mine"), "mine\n");
  EXPECT_TRUE(led.code != 0 || !led.remarks.empty()) << "hooks of another directory would run";
  EXPECT_EQ(text("tools/hooks/pre-commit"), "mine\n");
  const Ran evil = run("mkdir -p evil/hooks; echo evil > evil/hooks/pre-commit; rm -rf tools && ln -s evil tools");
  EXPECT_TRUE(evil.code != 0 || !evil.remarks.empty());
  EXPECT_EQ(text("tools/hooks/pre-commit"), "mine\n");
}

TEST_P(Links, LeadAgentdIntoNoOtherDirectory) {
  in_home("proj/app/.git/hooks/pre-push", "mine\n");
  in_home("proj/app/.git/HEAD", "ref: refs/heads/x\n");
  in_home("proj/app/.git/config", "[core]\n\tfsmonitor = mine\n");
  for (const char* const name : {"modules", "worktrees"}) {
    SCOPED_TRACE(name);
    const auto cage = make();
    Waiting linked(stage_, cage.get(), std::string("linked-") + name, home_variable() + "ln -s $H/proj .git/" + name);
    wait_for(std::string("linked-") + name + ".did");
    in_home("proj/app/.git/config", "[core]\n\tfsmonitor = changed\n");
    const Ran ran = linked.finish();
    EXPECT_EQ(of_home("proj/app/.git/config"), "[core]\n\tfsmonitor = changed\n");
    EXPECT_EQ(of_home("proj/app/.git/hooks/pre-push"), "mine\n");
    EXPECT_FALSE(ran.remarks.empty()) << "the link is none of Git's";
    EXPECT_FALSE(exists(std::string(".git/") + name));
  }
  // The whole machine is not walked through.
  const Ran root = run("ln -s / .git/modules");
  EXPECT_FALSE(root.remarks.empty());
}

// A repository that the workspace had as files: nothing in it is new but its place.
TEST_P(Links, MovedRepositoriesAreNew) {
  user(
      "mkdir -p fix/r/objects fix/r/refs fix/r/hooks; echo 'ref: refs/heads/x' > fix/r/HEAD\n"
      "printf '[core]\\n\\tfsmonitor = evil\\n' > fix/r/config; git add fix; git commit -qm fix; sleep 0.1");
  (void)make();  // the first sandbox is older than the repository in no way
  const Ran ran =
      run("mkdir sub; mv fix/r sub/.git; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub");
  EXPECT_FALSE(ran.remarks.empty());
  EXPECT_FALSE(exists("sub/.git"));
  user("git init -q lib; git -C lib config include.path ../../cfg/inc; mkdir cfg; touch cfg/inc; sleep 0.1");
  const Ran included =
      run("printf '[core]\\n\\tfsmonitor = evil\\n' > cfg/inc\n"
          "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),lib");
  EXPECT_FALSE(included.remarks.empty());
}

// The user's own links stay what they are.
TEST_P(Links, OfTheUserStay) {
  user(
      "mkdir -p real/hooks; echo mine > real/hooks/pre-commit; ln -s real tools; git config core.hooksPath "
      "tools/hooks\n"
      "mkdir shared; ln -s shared .vscode; touch shared/settings.json");
  const Ran fine = run("echo b >> a; git -c core.hooksPath=/dev/null commit -qam two");
  EXPECT_EQ(fine.code, 0) << fine.output;
  EXPECT_TRUE(fine.remarks.empty()) << fine.remarks[0];
  for (const char* const evil :
       {"echo evil > tools/hooks/pre-commit", "rm tools; mkdir -p tools/hooks; echo evil > tools/hooks/pre-commit",
        "echo evil > real/hooks/pre-commit"}) {
    SCOPED_TRACE(evil);
    const Ran ran = run(evil);
    EXPECT_TRUE(ran.code != 0 || !ran.remarks.empty()) << ran.output;
    EXPECT_EQ(text("tools/hooks/pre-commit"), "mine\n");
  }
}

// Of a link that leads to a link each can be changed by itself.
TEST_P(Links, OneBehindTheOtherStay) {
  user(
      "mkdir -p real/hooks; echo mine > real/hooks/pre-commit; ln -s real c; ln -s c b; ln -s b tools; ln -s c other\n"
      "git config core.hooksPath tools/hooks");
  const std::string evil = "mkdir -p evil/hooks; echo evil > evil/hooks/pre-commit; ln -sfn evil ";
  const Ran fine = run(evil + "other");
  EXPECT_EQ(fine.code, 0) << "the control: " << fine.output;
  EXPECT_TRUE(fine.remarks.empty()) << fine.remarks[0];
  for (const char* const link : {"tools", "b", "c"}) {
    SCOPED_TRACE(link);
    const Ran ran = run(evil + link);
    EXPECT_FALSE(ran.remarks.empty());
    EXPECT_EQ(text("tools/hooks/pre-commit"), "mine\n");
    EXPECT_NE(fs::read_symlink(file(link)), "evil");
  }
}

// Beyond the files that are kept a change is found and told, and nothing is moved that could not be restored.
TEST_P(Links, OrManyFilesHideNoChange) {
  user(
      "mkdir -p .claude/aaa; for i in $(seq 2100); do echo $i > .claude/aaa/$i; done; echo mine > "
      ".claude/settings.json");
  const Ran fine = run("echo c >> a");
  EXPECT_TRUE(fine.remarks.empty());
  const Ran ran = run("echo evil > .claude/settings.json");
  EXPECT_TRUE(ran.code != 0 || !ran.remarks.empty());
  EXPECT_TRUE(exists(".claude/aaa/7"));
}

// One root in another: the layers open them by their paths.
TEST_P(Links, OpenNoOtherDirectoryInTheirPlace) {
  user("mkdir -p w/sub");
  cage::CageSettings settings = stage_.settings();
  settings.roots = {file("w/sub"), stage_.project()};
  auto cage = cage::Cage::make(std::move(settings), GetParam());
  ASSERT_TRUE(cage) << cage.error().message;
  EXPECT_EQ(stage_.run(cage->get(), "true").code, 0) << "the control";
  (void)stage_.run(cage->get(),
                   home_variable() + "mv w/sub x && ln -s $H/.ssh w/sub; mv w b && mkdir w && ln -s $H/.ssh w/sub");
  const Ran ran = stage_.run(cage->get(), "cat w/sub/id_ed25519; echo evil >> w/sub/authorized_keys");
  EXPECT_NE(ran.code, 0);
  EXPECT_EQ(ran.output.find(kCanary), std::string::npos) << ran.output;
  EXPECT_EQ(of_home(".ssh/authorized_keys"), "(none)");
}

TEST_P(Links, LeadToNoScratchDirectoryInTheWorkspace) {
  fs::create_directories(file("tmp"));
  ::setenv("TMPDIR", file("tmp").c_str(), 1);
  const auto cage = make();
  ::unsetenv("TMPDIR");
  EXPECT_EQ(stage_.run(cage.get(), "ls tmp; test -w $TMPDIR").output, "");
}

TEST_P(Links, OrRightsOfTheUserStayAsTheyAre) {
  user("mkdir -p .vscode/deep; touch .vscode/settings.json; chmod 0555 .vscode/deep .vscode");
  EXPECT_EQ(run("true").code, 0);
  struct stat info {};
  for (const char* const name : {".vscode", ".vscode/deep"}) {
    ASSERT_EQ(::stat(file(name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0555u) << name;
  }
  user("chmod -R u+w .vscode");
}

// ---- what fails instead of being lost

TEST_P(Links, NorTheHomeTakeWhatWouldBeLost) {
  for (const char* const script :
       {"echo w > ~/wr", "mkdir ~/d", "git worktree add -q ../wt -b wt", "echo x >> ~/.bashrc"}) {
    SCOPED_TRACE(script);
    const Ran ran = run(script);
    EXPECT_NE(ran.code, 0) << "what it wrote would be gone";
  }
  EXPECT_EQ(run("echo t > $TMPDIR/t && cat $TMPDIR/t && echo w > w").code, 0);
}

TEST_P(Links, NorThreadsLoseTheirDescriptors) {
  const Ran ran = run(
      "python3 - <<'E'\nimport os, threading\nok = []\ndef work():\n  fd = os.open('f', os.O_CREAT | os.O_RDWR)\n"
      "  os.fchmod(fd, 0o640)\n  os.utime(fd)\n  ok.append(1)\nt = threading.Thread(target=work)\nt.start()\nt.join()\n"
      "assert ok\nE\n");
  EXPECT_EQ(ran.code, 0) << ran.output;
}

INSTANTIATE_TEST_SUITE_P(Layers, Links, ::testing::ValuesIn(layers_here()), layer_name);

}  // namespace
}  // namespace agentd::testing
