// SPDX-License-Identifier: Apache-2.0
// Functions are used, and one that is not is found.
#include "tests/tidy/dead.h"

#include <set>
#include <string>

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

TEST_F(Tree, WithAFunctionThatNothingUsesIsFound) {
  code("core/base/f.h", "#pragma once\nint used();\nint unused(int of);  // unused(1) says nothing\n");
  code("core/base/f.cc", "int used() { return 1; }\nint unused(int of) { return of; }\nint all = used();\n");
  EXPECT_EQ(unused_functions(root_), Findings{"core/base/f.h:4: nothing uses unused"});
}

TEST_F(Tree, WithAFunctionThatATestAloneUsesIsFound) {
  code("core/base/f.h", "#pragma once\nclass F {\n  bool unused() const;\n};\n");
  code("tests/unit/base/a_test.cc", "bool b = F().unused();\n");
  EXPECT_EQ(unused_functions(root_), Findings{"core/base/f.h:4: nothing uses unused"});
}

// The tests compare the tokens of every text with those of the vendors' tokenizer, which agentd itself only counts, and
// the page of system calls with the rules of the filter.
const std::set<std::string> kForTests{"decode", "encode", "partly_open_calls"};

TEST(ThisTree, UsesItsFunctions) {
  Findings found = unused_functions(kRoot);
  std::erase_if(found, [](const std::string& each) {
    const std::string name = each.substr(each.rfind(' ') + 1);
    return kForTests.contains(name) || name.starts_with("on_");  // the SDK calls handlers by their names
  });
  EXPECT_EQ(joined(found), "");
}

}  // namespace
}  // namespace tidy
