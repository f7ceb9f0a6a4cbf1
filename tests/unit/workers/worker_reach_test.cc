// SPDX-License-Identifier: Apache-2.0
#include "core/workers/reach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;

class WorkerReach : public ::testing::Test {
 protected:
  WorkerReach() {
    for (const char* const each : {"work/src", "work/deep/.agent/hooks", "work/deep/notes"})
      std::filesystem::create_directories(temp_.file(each));
    temp_.write("work/a.txt", "a");
    std::filesystem::create_directory_symlink(temp_.file("work/deep/.agent"), temp_.file("work/link"));
  }
  std::vector<std::string> reach(const std::string& root, const std::string& home) const {
    auto out = roots_without({temp_.file(root)}, home.empty() ? home : temp_.file(home));
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<std::string> places(std::vector<std::string> names) const {
    for (std::string& name : names) name = temp_.file(name);
    return names;
  }

  TempDir temp_;
};

TEST_F(WorkerReach, OfARootAroundTheHomeIsEverythingElseInIt) {
  EXPECT_EQ(reach("work", "work/deep/.agent"), places({"work/a.txt", "work/deep/notes", "work/src"}));
}

TEST_F(WorkerReach, OfARootBesideTheHomeIsTheRoot) {
  EXPECT_EQ(reach("work/src", "work/deep/.agent"), places({"work/src"}));
}

TEST_F(WorkerReach, OfARootInTheHomeIsNothing) {
  EXPECT_EQ(reach("work/deep/.agent/hooks", "work/deep/.agent"), places({}));
  EXPECT_EQ(reach("work/deep/.agent", "work/deep/.agent"), places({}));
}

TEST_F(WorkerReach, WithoutAHomeIsTheRoot) { EXPECT_EQ(reach("work", ""), places({"work"})); }

}  // namespace
}  // namespace agentd
