// SPDX-License-Identifier: Apache-2.0
// Comments and pages name files that exist, and one that does not is found.
#include "tests/tidy/mentions.h"

#include <set>
#include <string>

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

TEST_F(Tree, WithACommentAboutAFileThatIsGoneIsFound) {
  code("core/base/f.h", "#pragma once\n// As a.h and core/base/a.h, unlike gone.h.\nint f();  // core/model/a.h\n");
  EXPECT_EQ(missing_mentions(root_),
            (Findings{"core/base/f.h:3: there is no gone.h", "core/base/f.h:4: there is no core/model/a.h"}));
}

TEST_F(Tree, WithAPageAboutAFileThatIsGoneIsFound) {
  put("docs/page.md", "`core/base/a.h` has it, and `core/base/gone.cc`.\n");
  EXPECT_EQ(missing_mentions(root_), Findings{"docs/page.md:1: there is no core/base/gone.cc"});
}

// Of the system, made elsewhere, or an example.
const std::set<std::string> kNotOurs{"sysexits.h", "stddef.h", "stdint.h",      "vocabulary/images.cc",
                                     "x.h",        "x.cc",     "core/base/x.h", "providers/scripted/x.h"};

TEST(ThisTree, NamesFilesThatExist) {
  Findings found = missing_mentions(kRoot);
  std::erase_if(found, [](const std::string& each) {
    const std::string name = each.substr(each.rfind(' ') + 1);
    return each.starts_with("tests/tidy/") || kNotOurs.contains(name) || name.starts_with("linux/");
  });
  EXPECT_EQ(joined(found), "");
}

}  // namespace
}  // namespace tidy
