// SPDX-License-Identifier: Apache-2.0
// Files include each other in no circle and few at a time, and each rule finds a tree that does not.
#include "tests/tidy/includes.h"

#include <vector>

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

bool is_source(const std::filesystem::path& path) { return is_code(path) && !is_header(path); }

TEST_F(Tree, WithoutCirclesOfFilesHasNoFindings) { EXPECT_EQ(joined(file_cycles(root_)), ""); }

TEST_F(Tree, WithASourceThatIncludesWhatIncludesItsHeaderIsFound) {
  code("core/agent/x.h", "#pragma once\n");
  code("core/agent/y.h", "#pragma once\n#include \"core/agent/x.h\"\n");
  code("core/agent/x.cc", "#include \"core/agent/x.h\"\n#include \"core/agent/y.h\"\n");
  EXPECT_EQ(file_cycles(root_), Findings{"core/agent/x: includes itself through core/agent/y"});
}

TEST_F(Tree, WithACircleOfThreeFilesIsFoundOnce) {
  code("core/agent/x.h", "#include \"core/agent/y.h\"\n");
  code("core/agent/y.h", "#include \"core/agent/z.h\"\n");
  code("core/agent/z.cc", "#include \"core/agent/x.h\"\n");
  EXPECT_EQ(file_cycles(root_), Findings{"core/agent/x: includes itself through core/agent/y core/agent/z"});
}

TEST_F(Tree, CountsWhatItsFilesIncludeAtTheMedian) {
  EXPECT_EQ(includes_at_median(root_, is_header), 1u);
  EXPECT_EQ(includes_at_median(root_, is_source), 2u);
}

TEST(ThisTree, HasNoCirclesOfFiles) { EXPECT_EQ(joined(file_cycles(kRoot)), ""); }

TEST(ThisTree, IncludesFewFilesAtTheMedian) {
  EXPECT_LE(includes_at_median(kRoot, is_header), 5u);
  EXPECT_LE(includes_at_median(kRoot, is_source), 7u);
}

}  // namespace
}  // namespace tidy
