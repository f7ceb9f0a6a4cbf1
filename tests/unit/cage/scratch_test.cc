// SPDX-License-Identifier: Apache-2.0
// scratch_test.cc - directories of owners that were killed go, and nothing else does.
#include "core/cage/scratch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>

#include "core/cage/aside.h"
#include "tests/support/temp_dir.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;
using agentd::testing::TempDir;

std::size_t entries(const std::string& path) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

// A process that makes one and is killed; its path stays.
void leave_one(const std::string& place) {
  int ready[2] = {-1, -1};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto made = ScratchDirectory::make(place, "agentd-x-");
    const char done = made ? 'y' : 'n';
    (void)!::write(ready[1], &done, 1);
    for (;;) ::pause();
  }
  char done = 0;
  EXPECT_EQ(::read(ready[0], &done, 1), 1);
  EXPECT_EQ(done, 'y');
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(Scratch, GoesWithItsOwner) {
  const TempDir place;
  {
    auto made = ScratchDirectory::make(place.path(), "agentd-x-");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(fs::is_directory(made->space()));
    const ScratchDirectory moved = std::move(*made);
    fs::create_directories(moved.space() + "/a/b");
    ASSERT_EQ(::chmod((moved.space() + "/a").c_str(), 0), 0);
    EXPECT_EQ(entries(place.path()), 1u);
  }
  EXPECT_EQ(entries(place.path()), 0u) << "a closed directory is no obstacle";
}

TEST(Scratch, OfAKilledOwnerGoesLater) {
  const TempDir place;
  leave_one(place.path());
  const auto living = ScratchDirectory::make(place.path(), "agentd-x-");
  ASSERT_TRUE(living);
  EXPECT_EQ(entries(place.path()), 2u);
  EXPECT_EQ(remove_ownerless(place.path(), "agentd-y-"), 0);
  EXPECT_EQ(remove_ownerless(place.path(), "agentd-x-"), 1);
  EXPECT_TRUE(fs::is_directory(living->space())) << "its owner lives";
  EXPECT_EQ(remove_ownerless(place.path(), "agentd-x-"), 0);
}

TEST(Scratch, LeavesWhatIsNotItsOwn) {
  const TempDir place, other;
  leave_one(place.path());
  const std::string left = fs::directory_iterator(place.path())->path().string();
  fs::create_directory(place.file("agentd-x-noowne"));  // without the file
  fs::create_directory(place.file("agentd-x-strang"));  // with another text in it
  place.write("agentd-x-strang/owner", "somebody else's\n");
  fs::create_directory(place.file("agentd-x-linked"));  // with a link
  fs::create_symlink(left + "/owner", place.file("agentd-x-linked/owner"));
  fs::create_directory(place.file("agentd-x-toolong"));  // of another length
  fs::copy_file(left + "/owner", place.file("agentd-x-toolong/owner"));
  leave_one(other.path());
  const std::string elsewhere = fs::directory_iterator(other.path())->path().string();
  fs::create_directory_symlink(elsewhere, place.file("agentd-x-pointr"));  // a link itself
  fs::create_symlink(elsewhere, left + "/space/out");
  EXPECT_EQ(remove_ownerless(place.path(), "agentd-x-"), 1) << "the one that was left";
  for (const char* const name : {"agentd-x-noowne", "agentd-x-strang", "agentd-x-linked", "agentd-x-toolong"})
    EXPECT_TRUE(fs::is_directory(place.file(name))) << name;
  EXPECT_TRUE(fs::is_symlink(place.file("agentd-x-pointr")));
  EXPECT_TRUE(fs::is_regular_file(elsewhere + "/owner"));
}

TEST(Undone, OfLongAgoIsForgotten) {
  const TempDir home;
  fs::create_directories(home.file("undone"));
  const auto now = static_cast<long long>(::time(nullptr));
  const auto put = [&](const std::string& name) { fs::create_directories(home.file("undone/" + name + "/.git")); };
  const std::string old = std::to_string(now - (kUndoneDays + 1) * 86'400LL) + "-1-0";
  const std::string young = std::to_string(now - (kUndoneDays - 1) * 86'400LL) + "-1-0";
  for (const std::string& name : {old, young, std::string("mine"), std::string("1-2"), std::string("1-2-3-4")})
    put(name);
  forget_old_undone(home.path());
  EXPECT_FALSE(fs::exists(home.file("undone/" + old)));
  EXPECT_TRUE(fs::exists(home.file("undone/" + young)));
  for (const char* const name : {"mine", "1-2", "1-2-3-4"}) EXPECT_TRUE(fs::exists(home.file("undone") + "/" + name));
}

TEST(Undone, KeepsTheNewest) {
  const TempDir home;
  fs::create_directories(home.file("undone"));
  const auto now = static_cast<long long>(::time(nullptr));
  for (int i = 0; i < kUndoneMost + 5; ++i)
    fs::create_directory(home.file("undone/" + std::to_string(now - i) + "-1-0"));
  forget_old_undone(home.path());
  EXPECT_EQ(entries(home.file("undone")), static_cast<std::size_t>(kUndoneMost));
  EXPECT_TRUE(fs::exists(home.file("undone/" + std::to_string(now) + "-1-0")));
  EXPECT_FALSE(fs::exists(home.file("undone/" + std::to_string(now - kUndoneMost - 4) + "-1-0")));
}

// What was moved aside has a name by which its age is known.
TEST(Undone, KnowsTheAgeOfWhatWasMovedAside) {
  const TempDir home;
  std::ofstream(home.file("hook")) << "#!/bin/sh\n";
  const std::string place = Aside::in_home(home.path()).move(home.file("hook")).place;
  ASSERT_TRUE(place.starts_with(home.file("undone/")));
  const auto now = static_cast<long long>(::time(nullptr));
  for (int i = 0; i < kUndoneMost; ++i)
    fs::create_directory(home.file("undone/" + std::to_string(now + 100 + i) + "-1-0"));
  forget_old_undone(home.path());
  EXPECT_FALSE(fs::exists(place)) << "the oldest of too many";
}

}  // namespace
}  // namespace agentd::cage
