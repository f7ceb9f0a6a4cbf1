// SPDX-License-Identifier: Apache-2.0
#include "core/tools/kept_answers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace agentd::testing {
namespace {

namespace fs = std::filesystem;

class Kept : public ::testing::Test {
 protected:
  Kept() {
    fs::create_directories(root_ + "/nested");
    fs::create_symlink(root_, folder_.path() + "/alias");
  }
  std::shared_ptr<KeptAnswers> open(const std::string& root) { return *KeptAnswers::open(home_, root); }

  TempDir folder_;
  const std::string home_ = folder_.path() + "/home", root_ = folder_.path() + "/root";
};

TEST_F(Kept, AnswersBelongToOneProjectByItsCanonicalRoot) {
  ASSERT_TRUE(open(root_)->keep({"bash(make)", "bash(make)", "edit_file(src/a.c)"}, 7, "01A", "/d"));
  const std::vector<KeptAnswer> found = open(folder_.path() + "/alias")->answers();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rule, "bash(make)");
  EXPECT_EQ(found[0].when_ms, 7);
  EXPECT_EQ(found[0].conversation_id, "01A");
  EXPECT_EQ(found[0].directory, "/d");
  EXPECT_EQ(open(root_)->rules().size(), 2u);
  EXPECT_TRUE(open(root_ + "/nested")->answers().empty());
  struct stat info {};
  ASSERT_EQ(::stat(KeptAnswers::file_of(home_, root_).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(Kept, WhatTwoHaveKeptIsThere) {
  const auto one = open(root_), other = open(root_);
  ASSERT_TRUE(one->keep({"bash(a)"}, 1, "x", "/d"));
  ASSERT_TRUE(other->keep({"bash(b)"}, 2, "y", "/d"));
  EXPECT_EQ(open(root_)->answers().size(), 2u);
}

TEST_F(Kept, AnAnswerIsAboutTheDirectoryWhereItWasGiven) {
  ASSERT_TRUE(open(root_)->keep({"bash(a)"}, 1, "x", "/d"));
  ASSERT_TRUE(open(root_)->keep({"bash(a)"}, 2, "x", "/e"));
  const std::vector<PermissionRule> rules = open(root_)->rules();
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_TRUE(rules[0].kept);
  EXPECT_EQ(rules[0].directory, "/d");
  EXPECT_EQ(rules[1].directory, "/e");
}

TEST_F(Kept, AnswersAreForgotten) {
  ASSERT_TRUE(open(root_)->keep({"bash(a)", "bash(b)", "bash(c)"}, 1, "x", "/d"));
  EXPECT_EQ(*open(root_)->forget("bash(b)"), 1u);
  EXPECT_EQ(*open(root_)->forget("bash(b)"), 0u);
  EXPECT_EQ(open(root_)->answers().size(), 2u);
  EXPECT_EQ(*open(root_)->forget(""), 2u);
  EXPECT_TRUE(open(root_)->answers().empty());
}

TEST_F(Kept, AFileThatIsNotOursAloneIsNotUsed) {
  ASSERT_TRUE(open(root_)->keep({"bash(a)"}, 1, "x", "/d"));
  const std::string file = KeptAnswers::file_of(home_, root_);
  ASSERT_EQ(::chmod(file.c_str(), 0620), 0);
  EXPECT_FALSE(KeptAnswers::open(home_, root_));
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  ASSERT_TRUE(KeptAnswers::open(home_, root_));
  fs::rename(file, KeptAnswers::file_of(home_, root_ + "/nested"));
  EXPECT_FALSE(KeptAnswers::open(home_, root_ + "/nested"));  // it is about another directory
  std::ofstream(KeptAnswers::file_of(home_, root_ + "/nested")) << "{";
  EXPECT_FALSE(KeptAnswers::open(home_, root_ + "/nested"));
}

TEST_F(Kept, AWholeToolIsNeverKept) {
  ASSERT_TRUE(open(root_)->keep({"bash", "bash(*)", "bash("}, 1, "x", "/d"));
  EXPECT_TRUE(open(root_)->rules().empty());
}

}  // namespace
}  // namespace agentd::testing
