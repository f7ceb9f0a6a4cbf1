// SPDX-License-Identifier: Apache-2.0
// watch_test.cc - what is accepted is what was read, and nothing outside of the roots is moved.
#include "core/cage/watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/cage/plain.h"
#include "tests/support/temp_dir.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 150;

class WatchTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return directory_.file(name); }
  void put(const std::string& name, const std::string& content) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    std::ofstream(at(name)) << content;
  }
  std::string text(const std::string& name) const { return read_file(at(name), 1u << 20).value_or("(none)"); }
  // A Git directory, with a hook or without.
  void repository(const std::string& name, bool hook) const {
    put(name + "/HEAD", "ref: refs/heads/x\n");
    put(name + "/config", "[core]\n\tbare = false\n");
    put(name + "/hooks/x.sample", "\n");
    if (hook) put(name + "/hooks/pre-commit", "evil\n");
  }
  Aside aside() const { return Aside(at("home/undone/x")); }
  std::unique_ptr<Watch> watch(std::vector<std::string> paths, std::vector<std::string> pinned = {}) const {
    WatchPlan plan{std::move(paths), std::move(pinned), {at("root")}, {}, {}, 0};
    return std::make_unique<Watch>(std::move(plan), WatchHints{}, Baseline::shared());
  }
  const testing::TempDir directory_{"/var/tmp"};
};

TEST_F(WatchTest, WhatIsJudgedIsWhatIsKept) {
  repository("root/.git", false);
  const std::string git = at("root/.git");
  const GitReading read = read_git_directory(git);
  repository("root/.git", true);
  EXPECT_FALSE(is_plain_repository(git)) << "the control";
  EXPECT_TRUE(is_plain_repository(read));
  Baseline baseline;
  (void)baseline.enter(git);
  baseline.accept(git, read.inode, {{git + "/hooks", read.parts.at("hooks")}});
  const TreePointer kept = baseline.enter(git + "/hooks")->before();
  EXPECT_TRUE(kept->entries.contains("x.sample"));
  EXPECT_FALSE(kept->entries.contains("pre-commit"));
}

// A plain repository and one with a hook are exchanged while it is judged: the hook is never the state before.
TEST_F(WatchTest, ARepositoryIsNotExchangedWhileItIsJudged) {
  const std::string git = at("root/.git"), other = at("root/other");
  const auto exchange = [&] {
    return ::syscall(SYS_renameat2, AT_FDCWD, git.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
  };
  int accepted = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fs::remove_all(at("root"));
    fs::create_directory(at("root"));
    const auto first = watch({git}), second = watch({git});
    repository("root/.git", false);
    repository("root/other", true);
    std::atomic<bool> ends{false};
    std::thread flipper([&] {
      while (!ends) (void)exchange();
    });
    (void)second->undo(aside());
    ends = true;
    flipper.join();
    accepted += fs::exists(git) ? 1 : 0;
    if (text("root/other/hooks/pre-commit") == "evil\n") (void)exchange();
    (void)first->undo(aside());
    ASSERT_EQ(text("root/.git/hooks/pre-commit"), "(none)") << "attempt " << attempt;
  }
  RecordProperty("accepted", accepted);
}

TEST_F(WatchTest, NoLinkOutsideOfTheRootsIsMoved) {
  fs::create_directories(at("real"));
  put("real/root/.mcp.json", "mine\n");
  const std::string file = at("outer/root/.mcp.json");
  fs::rename(at("real"), at("outer"));
  WatchPlan plan{{file}, {}, {at("outer/root")}, {}, {}, 0};
  Watch led(plan, WatchHints{}, Baseline::shared());
  fs::rename(at("outer"), at("real"));
  fs::create_directory_symlink("real", at("outer"));
  const auto told = led.undo(aside());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("could not be undone: check it now"), std::string::npos) << told[0];
  EXPECT_TRUE(fs::is_symlink(at("outer")));
  EXPECT_EQ(text("real/root/.mcp.json"), "mine\n");
}

// The control: one in a root is.
TEST_F(WatchTest, ALinkInARootIsMoved) {
  put("root/a/file", "mine\n");
  ASSERT_EQ(::chmod(at("root/a").c_str(), 0751), 0);
  const auto led = watch({at("root/a/file")});
  fs::rename(at("root/a"), at("root/b"));
  fs::create_directory_symlink("b", at("root/a"));
  const auto told = led->undo(aside());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_FALSE(fs::is_symlink(at("root/a")));
  EXPECT_EQ(text("root/a/file"), "mine\n");
  EXPECT_EQ(static_cast<unsigned>(fs::status(at("root/a")).permissions()), 0751u);
}

// ---- repositories that a link hides

TEST_F(WatchTest, AMovedRepositoryComesBackWhole) {
  repository("root/own/.git", false);
  repository("root/evil/.git", true);
  ASSERT_EQ(::chmod(at("root/own").c_str(), 0750), 0);
  const auto led = watch({at("root/own/.git/hooks"), at("root/own/.git/config")}, {at("root/own/.git")});
  fs::rename(at("root/own/.git"), at("root/g"));
  fs::remove_all(at("root/own"));
  fs::create_directory_symlink("evil", at("root/own"));
  const auto told = led->undo(aside());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("/root/own/.git was led elsewhere by a link"), std::string::npos) << told[0];
  EXPECT_EQ(text("root/own/.git/HEAD"), "ref: refs/heads/x\n");
  EXPECT_EQ(text("root/own/.git/hooks/pre-commit"), "(none)");
  EXPECT_FALSE(fs::exists(at("root/g")));
  EXPECT_EQ(static_cast<unsigned>(fs::status(at("root/own")).permissions()), 0750u);
}

TEST_F(WatchTest, ARemovedRepositoryLeavesNothingHollow) {
  repository("root/own/.git", false);
  repository("root/evil/.git", true);
  const auto led = watch({at("root/own/.git/hooks"), at("root/own/.git/config")}, {at("root/own/.git")});
  fs::remove_all(at("root/own"));
  fs::create_directory_symlink("evil", at("root/own"));
  const auto told = led->undo(aside());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("the link " + at("root/own") + " is moved away: restore it"), std::string::npos) << told[0];
  EXPECT_FALSE(fs::exists(fs::symlink_status(at("root/own"))));
}

// As above, after a kill: the directory is found by what the journal has of it.
TEST_F(WatchTest, NorDoesOneOfAnEndedProcess) {
  for (const bool removed : {false, true}) {
    fs::remove_all(at("root"));
    repository("root/own/.git", false);
    repository("root/evil/.git", true);
    WatchPlan plan;
    Trees states;
    std::vector<Watch::PinnedThen> pinned;
    {
      const auto before = watch({at("root/own/.git/hooks"), at("root/own/.git/config")}, {at("root/own/.git")});
      plan = before->plan();
      states = before->states();
      pinned = before->pinned();
    }
    if (!removed) fs::rename(at("root/own/.git"), at("root/g"));
    fs::remove_all(at("root/own"));
    fs::create_directory_symlink("evil", at("root/own"));
    Watch after(plan, states, pinned, Baseline::shared());
    EXPECT_EQ(after.undo(aside()).size(), 1u);
    EXPECT_EQ(text("root/own/.git/HEAD"), removed ? "(none)" : "ref: refs/heads/x\n");
    EXPECT_EQ(fs::exists(at("root/own")), !removed);
  }
}

// A user for whom closed directories are closed.
class WatchOfUser : public WatchTest {
 protected:
  static constexpr uid_t kUser = 65534;

  void SetUp() override {
    repository("root/.git", false);
    fs::create_directories(at("home"));
    if (::geteuid() != 0) return;
    for (const auto& each : fs::recursive_directory_iterator(directory_.path()))
      ASSERT_EQ(::lchown(each.path().c_str(), kUser, kUser), 0);
    ASSERT_EQ(::chown(directory_.path().c_str(), kUser, kUser), 0);
    ASSERT_EQ(::seteuid(kUser), 0);
    was_root_ = true;
  }
  void TearDown() override { ASSERT_TRUE(!was_root_ || ::seteuid(0) == 0); }
  std::unique_ptr<Watch> usual() const {
    const std::string git = at("root/.git");
    return watch({git + "/hooks", git + "/config", git + "/commondir", at("root/.claude"), at("root/tools/gh")}, {git});
  }
  void rights(const std::string& name, mode_t mode) const { ASSERT_EQ(::chmod(at(name).c_str(), mode), 0) << name; }
  mode_t rights_of(const std::string& name) const {
    struct stat info {};
    return ::stat(at(name).c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  static bool says(const std::vector<std::string>& said, const std::string& part) {
    return std::any_of(said.begin(), said.end(),
                       [&](const std::string& each) { return each.find(part) != std::string::npos; });
  }

 private:
  bool was_root_ = false;
};

TEST_F(WatchOfUser, AClosedDirectoryHidesNothing) {
  for (const std::string closed : {"root", "root/.git", "root/.claude", "root/tools", "root/tools/gh"}) {
    const auto command = usual();
    put("root/.claude/settings.json", "evil");
    put("root/tools/gh/pre-commit", "evil");
    put("root/.git/hooks/pre-commit", "evil");
    put("root/.git/config", "evil");
    put("root/.git/commondir", "../evil");
    rights(closed, 0);
    const std::vector<std::string> said = command->undo(aside());
    rights("root", 0755);
    EXPECT_EQ(text("root/.claude/settings.json"), "(none)") << closed;
    EXPECT_EQ(text("root/tools/gh/pre-commit"), "(none)") << closed;
    EXPECT_EQ(text("root/.git/hooks/pre-commit"), "(none)") << closed;
    EXPECT_EQ(text("root/.git/config"), "[core]\n\tbare = false\n") << closed;
    EXPECT_EQ(text("root/.git/commondir"), "(none)") << closed;
    EXPECT_FALSE(says(said, "check it now")) << closed;
    const bool is_guarded = closed == "root/.claude" || closed == "root/tools/gh";
    EXPECT_EQ(says(said, at(closed) + " was closed"), !is_guarded);
    fs::remove_all(at("root/tools"));
  }
}

TEST_F(WatchOfUser, AClosedDirectoryGetsItsRightsBackSoThatNothingIsTakenForNew) {
  rights("root/.git", 0750);
  const auto first = usual();
  rights("root/.git", 0);
  EXPECT_TRUE(says(first->undo(aside()), ".git was closed by the command"));
  EXPECT_EQ(rights_of("root/.git"), 0750u);
  EXPECT_TRUE(usual()->undo(aside()).empty());
  EXPECT_EQ(text("root/.git/config"), "[core]\n\tbare = false\n");
}

// A directory that its user has closed stays so, and is none of the command's.
TEST_F(WatchOfUser, AStateBehindADirectoryThatWasClosedBeforeIsKnown) {
  rights("root/.git", 0);
  const auto command = usual();
  rights("root/.git", 0755);
  EXPECT_TRUE(command->undo(aside()).empty());
  EXPECT_EQ(text("root/.git/config"), "[core]\n\tbare = false\n");
  rights("root/.git", 0);
  EXPECT_TRUE(usual()->undo(aside()).empty());
  EXPECT_EQ(rights_of("root/.git"), 0u);
}

TEST_F(WatchOfUser, WhatIsInADirectoryThatCannotBeWrittenIsRestored) {
  for (const mode_t mode : {0500u, 0555u, 0u, 0111u, 0400u}) {
    const auto command = usual();
    put("root/.git/config", "evil");
    put("root/.git/hooks/pre-commit", "evil");
    rights("root/.git", mode);
    rights("root", 0555);
    const std::vector<std::string> said = command->undo(aside());
    EXPECT_FALSE(says(said, "check it now")) << mode;
    rights("root", 0755);
    rights("root/.git", 0755);
    EXPECT_EQ(text("root/.git/config"), "[core]\n\tbare = false\n") << mode;
    EXPECT_EQ(text("root/.git/hooks/x.sample"), "\n") << mode;
    EXPECT_EQ(text("root/.git/hooks/pre-commit"), "(none)") << mode;
  }
}

}  // namespace
}  // namespace agentd::cage
