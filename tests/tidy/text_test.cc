// SPDX-License-Identifier: Apache-2.0
// Files have a license, a guard and a bearable length, and each rule finds a file that has not.
#include "tests/tidy/text.h"

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

TEST_F(Tree, ThatKeepsTheRulesHasNoFindings) {
  for (const Findings& findings :
       {missing_licenses(root_), missing_guards(root_), long_files(root_), long_lines(root_), leftovers(root_)})
    EXPECT_EQ(joined(findings), "");
}

TEST_F(Tree, WithAFileWithoutALicenseIsFound) {
  put("core/base/bad.cc", "int x;\n");
  EXPECT_EQ(missing_licenses(root_).size(), 1u);
}

TEST_F(Tree, WithAHeaderWithoutAGuardIsFound) {
  code("core/base/bad.h", "int x;\n");
  EXPECT_EQ(missing_guards(root_).size(), 1u);
}

TEST_F(Tree, WithALongFileIsFound) {
  code("core/base/bad.cc", std::string(1'000, '\n'));
  EXPECT_EQ(long_files(root_).size(), 1u);
}

TEST_F(Tree, WithALongLineIsFoundByItsColumns) {
  std::string umlauts;
  for (int i = 0; i < 117; ++i) umlauts += "ä";
  code("core/base/good.cc", "// " + umlauts + "\n");
  EXPECT_EQ(joined(long_lines(root_)), "");
  code("core/base/bad.cc", std::string(121, '/') + "\n");
  EXPECT_EQ(long_lines(root_), Findings{"core/base/bad.cc:2: 121 columns, more than 120"});
}

TEST_F(Tree, WithTooManySuppressionsOrOneWithoutAReasonIsFound) {
  const std::string mark = std::string("NO") + "LINT";
  code("core/base/a.cc", "int a;  // " + mark + "(x): because\nint b;  // " + mark + "(x): because\n");
  EXPECT_EQ(joined(suppressions(root_, 2)), "");
  EXPECT_EQ(suppressions(root_, 1), Findings{"core/base/a.cc:3: the tree has 2 suppressions, at most 1"});
  code("core/base/a.cc", "int a;  // " + mark + "\n");
  EXPECT_EQ(suppressions(root_, 2), Findings{"core/base/a.cc:2: a suppression says why, behind a colon"});
}

TEST_F(Tree, WithANoteToOneselfIsFound) {
  code("core/base/bad.cc", std::string("// FIX") + "ME later\n");
  EXPECT_EQ(leftovers(root_).size(), 1u);
}

TEST(ThisTree, HasALicenseInEveryFile) { EXPECT_EQ(joined(missing_licenses(kRoot)), ""); }
TEST(ThisTree, GuardsItsHeaders) { EXPECT_EQ(joined(missing_guards(kRoot)), ""); }
TEST(ThisTree, HasNoFileOfMoreThanAThousandLines) { EXPECT_EQ(joined(long_files(kRoot)), ""); }
TEST(ThisTree, HasNoLineOfMoreThan120Columns) { EXPECT_EQ(joined(long_lines(kRoot)), ""); }
TEST(ThisTree, HasAtMostThreeSuppressionsEachWithItsReason) { EXPECT_EQ(joined(suppressions(kRoot, 3)), ""); }
TEST(ThisTree, HasNoNotesToOneself) { EXPECT_EQ(joined(leftovers(kRoot)), ""); }

}  // namespace
}  // namespace tidy
