// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/project.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace agentd {
namespace {

using testing::TempDir;
namespace fs = std::filesystem;

TEST(ProjectId, IsWhatTheSedCommandPrints) {
  EXPECT_EQ(project_id_of("git@github.com:ann/tool.git"), "ann_tool");
  EXPECT_EQ(project_id_of("https://github.com/ann/tool.git"), "ann_tool");
  EXPECT_EQ(project_id_of("ssh://git@github.com/ann/tool.git"), "ann_tool");
  // sed leaves what it does not match, and what stands behind the match
  EXPECT_EQ(project_id_of("https://github.com/ann/tool"), "https:__github.com_ann_tool");
  EXPECT_EQ(project_id_of("https://example.org/ann/tool.git"), "https:__example.org_ann_tool.git");
  EXPECT_EQ(project_id_of("https://github.com/ann/tool.git/x"), "ann_tool_x");
  EXPECT_EQ(project_id_of(""), "");
}

TEST(OriginUrl, IsThatOfTheRemoteNamedOrigin) {
  EXPECT_EQ(origin_url("[remote \"other\"]\n\turl = a\n[remote \"origin\"]\n\tfetch = +x\n\turl = "
                       "git@h:b.git\n"),
            "git@h:b.git");
  EXPECT_EQ(origin_url("[Remote \"origin\"]\n URL=\"quoted#x\" ; comment\n"), "quoted#x");
  EXPECT_EQ(origin_url("[remote \"origin\"]\n pushurl = nope\n[core]\n url = no\n"), "");
  EXPECT_EQ(origin_url(""), "");
}

class ProjectTest : public ::testing::Test {
 protected:
  std::string make(const std::string& path) const {
    fs::create_directories(directory_.file(path));
    return directory_.file(path);
  }
  TempDir directory_;
};

TEST_F(ProjectTest, WithoutGitIsTheDirectoryItself) {
  const std::string path = make("a/b");
  const Project project = find_project(path);
  EXPECT_EQ(project.id, path);
  EXPECT_EQ(project.root, path);
}

TEST_F(ProjectTest, IsFoundFromBelow) {
  make("repo/.git");
  const std::string below = make("repo/src/deep");
  directory_.write("repo/.git/config", "[remote \"origin\"]\n\turl = git@github.com:ann/tool.git\n");
  const Project project = find_project(below);
  EXPECT_EQ(project.root, directory_.file("repo"));
  EXPECT_EQ(project.id, "ann_tool");
  EXPECT_EQ(project.cwd, below);
}

TEST_F(ProjectTest, WithoutAnOriginIsNamedByItsRoot) {
  make("repo/.git");
  directory_.write("repo/.git/config", "[core]\n\tbare = false\n");
  EXPECT_EQ(find_project(make("repo/x")).id, directory_.file("repo"));
}

TEST_F(ProjectTest, OfAWorktreeIsThatOfItsRepository) {
  make("repo/.git/worktrees/w");
  directory_.write("repo/.git/config", "[remote \"origin\"]\n\turl = git@github.com:ann/tool.git\n");
  directory_.write("repo/.git/worktrees/w/commondir", "../..\n");
  make("w");
  directory_.write("w/.git", "gitdir: " + directory_.file("repo/.git/worktrees/w") + "\n");
  EXPECT_EQ(find_project(directory_.file("w")).id, "ann_tool");
  EXPECT_EQ(find_project(directory_.file("w")).root, directory_.file("w"));
}

TEST_F(ProjectTest, SurvivesAGitFileOfNonsense) {
  make("w");
  directory_.write("w/.git", "nonsense");
  EXPECT_EQ(find_project(directory_.file("w")).id, directory_.file("w"));
}

}  // namespace
}  // namespace agentd
