// SPDX-License-Identifier: Apache-2.0
// The tree is formatted, and a file that is not is found.
#include "tests/tidy/format.h"

#include <cstdlib>

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

class Formatted : public Tree {
 protected:
  void SetUp() override {
    if (clang_format().empty() && std::getenv("CI") == nullptr) GTEST_SKIP() << "clang-format 14 is not installed";
    ASSERT_FALSE(clang_format().empty()) << "clang-format 14 is not installed";
    Tree::SetUp();
    std::filesystem::copy_file(kRoot / ".clang-format", root_ / ".clang-format");
  }
};

TEST_F(Formatted, TreeWithAFileThatIsNotIsFound) {
  for (const char* const folder : {"core", "plugins", "providers", "plugin-api", "tests"})
    std::filesystem::remove_all(root_ / folder);
  code("core/base/good.cc", "\nint good() { return 1; }\n");
  EXPECT_EQ(joined(unformatted(root_)), "");
  code("core/base/bad.cc", "int  bad( ){return 1;}\n");
  EXPECT_EQ(unformatted(root_), Findings{"core/base/bad.cc: differs from clang-format's: run clang-format -i on it"});
}

TEST_F(Formatted, IsThisTree) { EXPECT_EQ(joined(unformatted(kRoot)), ""); }

}  // namespace
}  // namespace tidy
