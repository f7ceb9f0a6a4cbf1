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

// What tests alone use, each for a reason; the list may only shrink.
const std::set<std::string> kForTests{// They read what the program writes and other programs read.
                                      "read_tool_intent", "read_hook_effect", "read_child", "encode", "decode",
                                      // The pages of docs/reference are held to the tables through them.
                                      "cli_reference", "events_reference", "record_types_table", "rules_reference",
                                      "run_events_reference", "partly_open_calls", "rule_ids",
                                      // Fake servers hold requests to the vendors' rules.
                                      "anthropic_rules", "google_rules", "chat_rules", "responses_rules",
                                      // Every record is walked for words that its shape forgot.
                                      "all_shapes", "action_shape", "block_shape", "text_shape",
                                      // They show what a thing has become.
                                      "bytes_used", "has_interface", "is_nil", "wants_messages"};

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
