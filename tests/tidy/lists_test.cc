// SPDX-License-Identifier: Apache-2.0
// Tests are built and folders are named, and each rule finds one that is not.
#include "tests/tidy/lists.h"

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

namespace fs = std::filesystem;

TEST_F(Tree, ThatNamesWhatItHasHasNoFindings) {
  for (const Findings& findings : {unregistered_tests(root_), unlisted_folders(root_)}) EXPECT_EQ(joined(findings), "");
}

TEST_F(Tree, WithATestThatIsNotBuiltIsFound) {
  code("tests/unit/base/forgotten_test.cc", "");
  EXPECT_EQ(unregistered_tests(root_).size(), 1u);
}

TEST_F(Tree, WithAFolderThatItsReadmeDoesNotNameIsFound) {
  fs::create_directories(root_ / "core/extra");
  EXPECT_EQ(unlisted_folders(root_), Findings{"core/README.md:1: no line for extra/"});
}

TEST(ThisTree, BuildsAllOfItsTests) { EXPECT_EQ(joined(unregistered_tests(kRoot)), ""); }
TEST(ThisTree, NamesItsFoldersInItsReadmes) { EXPECT_EQ(joined(unlisted_folders(kRoot)), ""); }

}  // namespace
}  // namespace tidy
