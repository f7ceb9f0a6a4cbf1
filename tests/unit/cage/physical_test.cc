// SPDX-License-Identifier: Apache-2.0
// physical_test.cc - the links of a path, and directories that are opened or made for a while.
#include "core/cage/physical.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace agentd::cage {
namespace {

namespace fs = std::filesystem;

class PhysicalTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return directory_.file(name); }
  mode_t rights(const std::string& name) const {
    struct stat info {};
    return ::stat(at(name).c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  const testing::TempDir directory_{"/var/tmp"};
};

TEST_F(PhysicalTest, LinksAreFoundOneBehindTheOther) {
  fs::create_directories(at("real/hooks"));
  fs::create_directory_symlink("real/../real", at("c"));
  fs::create_directory_symlink(at("c"), at("b"));
  fs::create_directory(at("d"));
  fs::create_directory_symlink("../b/hooks", at("d/a"));
  EXPECT_EQ(links_of(at("d/a/x/y")), (std::vector<std::string>{at("d/a"), at("b"), at("c")}));
  EXPECT_TRUE(links_of(at("real/hooks/none")).empty()) << "the control";
  EXPECT_EQ(links_of(at("d/../b")), (std::vector<std::string>{at("b"), at("c")}));
}

TEST_F(PhysicalTest, LinksInACircleEnd) {
  fs::create_directory_symlink("two", at("one"));
  fs::create_directory_symlink("one", at("two"));
  EXPECT_EQ(links_of(at("one/x")).size(), 40u);
}

TEST_F(PhysicalTest, OpenedDirectoriesGetTheirRightsBack) {
  fs::create_directories(at("a/b/c"));
  ASSERT_EQ(::chmod(at("a/b").c_str(), 0500), 0);
  ASSERT_EQ(::chmod(at("a").c_str(), 01050), 0);
  {
    const Way way = Way::opened(at("a/b/c"));
    EXPECT_EQ(rights("a"), 01750u);
    EXPECT_EQ(rights("a/b"), 0700u);
  }
  EXPECT_EQ(rights("a"), 01050u);
  ASSERT_EQ(::chmod(at("a").c_str(), 0700), 0);
  EXPECT_EQ(rights("a/b"), 0500u);
  ASSERT_EQ(::chmod(at("a/b").c_str(), 0700), 0);
}

TEST_F(PhysicalTest, MissingDirectoriesAreMadeWithTheirRights) {
  fs::create_directories(at("a/b"));
  ASSERT_EQ(::chmod(at("a").c_str(), 0750), 0);
  ASSERT_EQ(::chmod(at("a/b").c_str(), 0511), 0);
  const std::vector<std::uint32_t> before = rights_above(at("a/b/file"));
  ASSERT_GE(before.size(), 2u);
  EXPECT_EQ(before[0], 0511u);
  EXPECT_EQ(before[1], 0750u);
  fs::remove_all(at("a"));
  {
    const Way way = Way::made(at("a/b/file"), before);
    EXPECT_TRUE(way.complete());
    EXPECT_EQ(rights("a/b") & 0200, 0200u) << "a file can be made in it";
  }
  EXPECT_EQ(rights("a"), 0750u);
  EXPECT_EQ(rights("a/b"), 0511u);
  ASSERT_EQ(::chmod(at("a/b").c_str(), 0700), 0);
  fs::create_directory_symlink("a", at("link"));
  EXPECT_FALSE(Way::made(at("link/new/file"), {}).complete()) << "not through a link";
  EXPECT_FALSE(fs::exists(at("a/new")));
}

}  // namespace
}  // namespace agentd::cage
