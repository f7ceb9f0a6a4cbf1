// SPDX-License-Identifier: Apache-2.0
// journal_test.cc - what has to be undone outlives the process that would have undone it.
#include "core/cage/journal.h"

#include <unistd.h>

#include "core/cage/journal_text.h"
#include "tests/cage/cage_test.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

class Journal : public InEachLayer {
 protected:
  std::string place() const { return stage_.home() + "/.agent/cage"; }
  // The directories there.
  std::vector<std::string> all() const {
    std::vector<std::string> out;
    if (fs::exists(place()))
      for (const auto& each : fs::directory_iterator(place())) out.push_back(each.path().string());
    return out;
  }
  std::vector<std::string> undo_of_ended() const {
    return cage::see_other_processes(stage_.home() + "/.agent", nullptr).undone;
  }
  // A copy, whose lock nobody holds: as if its owner had been killed now.
  void copy_as_of_ended() const {
    ASSERT_EQ(all().size(), 1u);
    fs::copy(all()[0], place() + "/0.1.ended", fs::copy_options::recursive);
  }
};

TEST_P(Journal, UndoesWhatACommandOfAKilledProcessDid) {
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "echo evil > .mcp.json; mkdir .vscode; echo evil > .vscode/tasks.json");
  wait_for("one.did");
  copy_as_of_ended();
  const auto remarks = undo_of_ended();
  EXPECT_EQ(remarks.size(), 2u);
  EXPECT_FALSE(exists(".mcp.json"));
  EXPECT_FALSE(exists(".vscode"));
  EXPECT_EQ(all().size(), 1u) << "what was undone is done with";
  EXPECT_TRUE(undo_of_ended().empty());
  EXPECT_TRUE(one.finish().remarks.empty());
}

TEST_P(Journal, SaysSoBehindTheNextCommandWhichHasNotFailed) {
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "echo evil > .mcp.json");
  wait_for("one.did");
  copy_as_of_ended();
  const Ran next = run("[ ! -e .mcp.json ]");
  EXPECT_EQ(next.code, 0);
  ASSERT_EQ(next.remarks.size(), 1u);
  EXPECT_NE(next.remarks[0].find(".mcp.json was made by a command of an agentd that was killed"), std::string::npos)
      << next.remarks[0];
}

// The control: while its process lives, and when its commands have ended, it undoes nothing.
TEST_P(Journal, IsLeftAloneWhileItsProcessLives) {
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "echo evil > .mcp.json");
  wait_for("one.did");
  EXPECT_TRUE(undo_of_ended().empty());
  EXPECT_TRUE(exists(".mcp.json"));
  EXPECT_EQ(one.finish().remarks.size(), 1u);
  copy_as_of_ended();
  put(".mcp.json", "mine\n");
  EXPECT_TRUE(undo_of_ended().empty());
  EXPECT_EQ(text(".mcp.json"), "mine\n");
}

TEST_P(Journal, IsGoneWithItsProcessesLastSandbox) {
  {
    const auto cage = make();
    EXPECT_EQ(stage_.run(cage.get(), "true").code, 0);
    EXPECT_EQ(all().size(), 1u);
  }
  EXPECT_TRUE(all().empty());
}

TEST_P(Journal, OfACommandIsOutOfItsReach) {
  const Ran ran = run("ls -A $AGENTD_HOME/cage; ls -l /proc/self/fd | grep cage; echo evil > $AGENTD_HOME/cage/x");
  EXPECT_EQ(ran.output.find("lock"), std::string::npos) << ran.output;
  EXPECT_FALSE(fs::exists(place() + "/x"));
}

// What was led elsewhere already is the user's, and what leads there now is not.
TEST_P(Journal, KnowsTheLinksThatWereThere) {
  user("mkdir -p real evil/hooks; ln -s real led; git config core.hooksPath led/hooks");
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "mkdir real/hooks; echo evil > real/hooks/pre-commit");
  wait_for("one.did");
  copy_as_of_ended();
  const auto remarks = undo_of_ended();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("real/hooks was made"), std::string::npos) << remarks[0];
  EXPECT_TRUE(fs::is_symlink(file("led")));
  EXPECT_FALSE(exists("real/hooks"));
  (void)one.finish();
  user("rm led");
  Waiting two(stage_, cage.get(), "two", "echo evil > evil/hooks/pre-commit; ln -s evil led");
  wait_for("two.did");
  copy_as_of_ended();
  const auto led = undo_of_ended();
  ASSERT_EQ(led.size(), 1u);
  EXPECT_NE(led[0].find("led/hooks was led elsewhere by a link"), std::string::npos) << led[0];
  EXPECT_FALSE(exists("led"));
}

INSTANTIATE_TEST_SUITE_P(Layers, Journal, ::testing::Values(cage::Layer::kBubblewrap, cage::Layer::kLandlock),
                         layer_name);

class JournalUnderLandlock : public Journal {};

TEST_P(JournalUnderLandlock, RestoresContentsAndMovedRepositories) {
  const std::string before = text(".git/config");
  const auto cage = make();
  Waiting one(stage_, cage.get(), "one", "git config core.pager evil; mv .git g; cp -r g .git");
  wait_for("one.did");
  copy_as_of_ended();
  EXPECT_EQ(undo_of_ended().size(), 2u);
  EXPECT_EQ(text(".git/config"), before);
  EXPECT_FALSE(exists("g"));
  EXPECT_TRUE(one.finish().remarks.empty()) << "what was restored is the state before";
}

INSTANTIATE_TEST_SUITE_P(Layers, JournalUnderLandlock, ::testing::Values(cage::Layer::kLandlock), layer_name);

TEST(JournalText, IsReadAsItWasWritten) {
  const TempDir directory;
  const std::string path = directory.file("a\xff\n");
  fs::create_directories(path);
  std::ofstream(path + "/b") << std::string("\0\xff\n", 3);
  fs::create_symlink("b", path + "/c");
  cage::JournalText journal;
  journal.plan.roots = {directory.path()};
  journal.plan.parts = {"/x"};
  journal.plan.since_ns = -1;
  journal.plan.user = {"/home", "/xdg"};
  journal.states[path] = cage::look(path);
  fs::create_directory_symlink("none", directory.file("led"));
  journal.states["/none"] = cage::look(directory.file("none"));
  journal.states["/led"] = cage::look(directory.file("led/x"));
  journal.pinned = {{path, 1, ~std::uint64_t{0}}};
  const auto read = cage::parse_journal(cage::text_of(journal));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->plan.roots, journal.plan.roots);
  EXPECT_EQ(read->plan.parts, journal.plan.parts);
  EXPECT_EQ(read->plan.since_ns, -1);
  EXPECT_EQ(read->plan.user.xdg, "/xdg");
  ASSERT_EQ(read->states.size(), 3u);
  EXPECT_TRUE(read->states.at("/led")->led);
  EXPECT_FALSE(read->states.at("/none")->led);
  EXPECT_FALSE(journal.states.at(path)->way.empty());
  EXPECT_EQ(read->states.at(path)->way, journal.states.at(path)->way);
  EXPECT_TRUE(cage::has_same_content(*read->states.at(path), *journal.states.at(path)));
  EXPECT_TRUE(cage::is_untouched(*read->states.at(path), *journal.states.at(path)));
  EXPECT_FALSE(read->states.at("/none")->exists());
  ASSERT_EQ(read->pinned.size(), 1u);
  EXPECT_EQ(read->pinned[0].inode, ~std::uint64_t{0});
  EXPECT_FALSE(cage::parse_journal("{}"));
  EXPECT_FALSE(cage::parse_journal(""));
}

}  // namespace
}  // namespace agentd::testing
