// SPDX-License-Identifier: Apache-2.0
// overlap_test.cc - commands that run at the same time have one state before: none takes another one's change for it.
#include "tests/cage/cage_test.h"

namespace agentd::testing {
namespace {

class Overlap : public InEachLayer {};

TEST_P(Overlap, TheFirstToEndUndoesAChangeOfTheOther) {
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "echo evil > .mcp.json");
  wait_for("one.did");
  const Ran second = stage_.run(cage.get(), "true");
  ASSERT_EQ(second.remarks.size(), 1u);
  EXPECT_NE(second.remarks[0].find("was made while this command and others ran"), std::string::npos)
      << second.remarks[0];
  EXPECT_FALSE(exists(".mcp.json"));
  EXPECT_TRUE(one.finish().remarks.empty());
}

TEST_P(Overlap, ACommandThatBeginsLaterKeepsTheStateBeforeTheFirst) {
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "echo evil > .mcp.json");
  wait_for("one.did");
  Waiting two(stage_, cage.get(), "two", "true");
  wait_for("two.did");
  EXPECT_EQ(one.finish().remarks.size(), 1u);
  EXPECT_TRUE(two.finish().remarks.empty());
  EXPECT_FALSE(exists(".mcp.json"));
}

TEST_P(Overlap, HoldsBetweenSandboxesOfOneProcess) {
  const auto cage = make(), other = make();
  Waiting one(stage_, cage.get(), "one", "echo evil > .mcp.json");
  wait_for("one.did");
  EXPECT_EQ(stage_.run(other.get(), "true").remarks.size(), 1u);
  EXPECT_FALSE(exists(".mcp.json"));
  EXPECT_TRUE(one.finish().remarks.empty());
}

TEST_P(Overlap, AChangeThatIsMadeAgainIsUndoneAgain) {
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "(while [ ! -e one.go ]; do echo evil > .mcp.json; sleep 0.01; done) &");
  wait_for("one.did");
  for (int i = 0; i < 3; ++i) EXPECT_LE(stage_.run(cage.get(), "sleep 0.05").remarks.size(), 1u);
  (void)one.finish();
  EXPECT_FALSE(exists(".mcp.json"));
}

TEST_P(Overlap, ANewRepositoryOfOneCommandStays) {
  std::filesystem::remove_all(file(".git"));
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "git init -q .");
  wait_for("one.did");
  EXPECT_TRUE(stage_.run(cage.get(), "true").remarks.empty());
  EXPECT_TRUE(one.finish().remarks.empty());
  EXPECT_TRUE(exists(".git/HEAD"));
}

// Once it has been found plain, what is added to it costs no more than the addition.
TEST_P(Overlap, ANewRepositoryKeepsAllButTheHooksThatItGetsLater) {
  std::filesystem::remove_all(file(".git"));
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "git init -q .");
  wait_for("one.did");
  Waiting two(stage_, cage.get(), "two", "true");
  wait_for("two.did");
  EXPECT_TRUE(stage_.run(cage.get(), "true").remarks.empty());
  put(".git/hooks/pre-commit", "late\n");
  EXPECT_EQ(two.finish().remarks.size(), 1u);
  EXPECT_TRUE(exists(".git/HEAD"));
  EXPECT_FALSE(exists(".git/hooks/pre-commit"));
  put(".git/hooks/pre-commit", "later\n");
  EXPECT_EQ(one.finish().remarks.size(), 1u);
  EXPECT_TRUE(exists(".git/HEAD"));
  EXPECT_FALSE(exists(".git/hooks/pre-commit"));
  put(".git/hooks/pre-commit", "mine\n");
  EXPECT_TRUE(stage_.run(cage.get(), "true").remarks.empty()) << "with the last command the state before is dropped";
  EXPECT_EQ(text(".git/hooks/pre-commit"), "mine\n");
}

TEST_P(Overlap, ANewRepositoryThatIsReplacedLaterIsUndone) {
  std::filesystem::remove_all(file(".git"));
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "git init -q .");
  wait_for("one.did");
  EXPECT_TRUE(stage_.run(cage.get(), "true").remarks.empty());
  user("mv .git evil; echo evil > evil/hooks/pre-commit; echo 'gitdir: evil' > .git");
  EXPECT_FALSE(one.finish().remarks.empty());
  EXPECT_FALSE(exists(".git"));
}

TEST_P(Overlap, TheUsersChangeBetweenCommandsIsTheNewState) {
  const auto cage = make();
  EXPECT_TRUE(stage_.run(cage.get(), "true").remarks.empty());
  put(".mcp.json", "mine\n");
  user("git config user.name other");
  EXPECT_TRUE(stage_.run(cage.get(), "true").remarks.empty());
  EXPECT_EQ(text(".mcp.json"), "mine\n");
  const Ran ran = stage_.run(cage.get(), "echo evil > .mcp.json");
  EXPECT_TRUE(ran.code != 0 || ran.remarks.size() == 1);
  EXPECT_EQ(text(".mcp.json"), "mine\n");
}

INSTANTIATE_TEST_SUITE_P(Layers, Overlap, ::testing::Values(cage::Layer::kBubblewrap, cage::Layer::kLandlock),
                         layer_name);

// What exists can only be changed where Landlock is alone.
class OverlapUnderLandlock : public InEachLayer {};

TEST_P(OverlapUnderLandlock, RestoresWhatWasChangedOnce) {
  const auto cage = make();
  const std::string before = text(".git/config");
  Waiting one(stage_, cage.get(), "one", "git config core.pager evil; rm -r .git/hooks; mkdir .git/hooks");
  wait_for("one.did");
  const Ran second = stage_.run(cage.get(), "true");
  EXPECT_EQ(second.remarks.size(), 2u);
  EXPECT_EQ(text(".git/config"), before);
  EXPECT_TRUE(exists(".git/hooks/pre-commit.sample"));
  EXPECT_TRUE(stage_.run(cage.get(), "true").remarks.empty());
  EXPECT_TRUE(one.finish().remarks.empty());
  EXPECT_EQ(text(".git/config"), before);
}

TEST_P(OverlapUnderLandlock, PutsARepositoryBackThatWasMoved) {
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "mv .git g; cp -r g .git; echo evil > .git/hooks/pre-commit");
  wait_for("one.did");
  EXPECT_EQ(stage_.run(cage.get(), "true").remarks.size(), 1u);
  EXPECT_FALSE(exists(".git/hooks/pre-commit"));
  EXPECT_FALSE(exists("g"));
  EXPECT_TRUE(one.finish().remarks.empty());
}

INSTANTIATE_TEST_SUITE_P(Layers, OverlapUnderLandlock, ::testing::Values(cage::Layer::kLandlock), layer_name);

}  // namespace
}  // namespace agentd::testing
