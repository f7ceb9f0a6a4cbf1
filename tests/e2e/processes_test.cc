// SPDX-License-Identifier: Apache-2.0
// processes_test.cc - workers and commands of a run whose parent ignores the ends of its children.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class Processes : public ::testing::Test {
 protected:
  std::vector<std::string> scripted(std::vector<std::string> words, const std::string& script) {
    words.insert(words.begin() + 1, {"--script", program_.script(script)});
    return words;
  }
  Program program_;
};

// What a supervisor or a shell has set is inherited; children then end without a trace.
TEST_F(Processes, AParentThatIgnoresItsChildrenChangesNothing) {
  program_.drop_hook(AGENTD_REFUSE_HOOK);
  const auto words = [&] {
    return scripted({"run", "--allow", "*", "try"},
                    "- calls: [{name: bash, input: {command: 'echo out; exit 3'}}]\n"
                    "- text: done\n  expect: {contains: 'exit code 3'}\n");
  };
  const Finished usual = program_.run(words());
  ASSERT_EQ(usual.code, 0) << usual.err;
  program_.ignore_child_signals();
  const Finished ran = program_.run(words());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, usual.out);
  EXPECT_EQ(program_.run(scripted({"run", "a forbidden word"}, "- text: never\n")).code, 3);
}

}  // namespace
}  // namespace agentd::testing
