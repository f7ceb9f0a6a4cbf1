// SPDX-License-Identifier: Apache-2.0
// instructions_test.cc - AGENTS.md and the like as requests hold them.
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

class Rules : public ::testing::Test {
 protected:
  Rules() {
    EXPECT_TRUE(make_directories(program_.project() + "/lib"));
    program_.file("lib/AGENTS.md", "the rule of lib: @style.md");
    program_.file("lib/style.md", "the style of lib");
    program_.file("lib/a.txt", "one");
    program_.file("lib/b.txt", "two");
  }
  static std::string read(const std::string& path) {
    return "- calls: [{name: read_file, input: {path: " + path + "}}]\n";
  }
  std::size_t times(const std::string& text) {
    const std::string log = program_.run({"conversation", "show", "--format", "json", program_.newest()}).out;
    std::size_t out = 0;
    for (std::size_t at = 0; (at = log.find(text, at)) != std::string::npos; ++at) ++out;
    return out;
  }
  Program program_;
};

TEST_F(Rules, OfADirectoryAreGivenWhenAToolFirstTouchesAFileInIt) {
  const std::string expects = "  expect: {contains: the style of lib}\n";
  const Finished ran =
      program_.run({"run", "look", "--script",
                    program_.script(read("lib/a.txt") + read("lib/b.txt") + expects + "- text: done\n" + expects)});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(times("the rule of lib"), 1u);
  // Nor in the next run of the conversation, which still has them in its view.
  const Finished again = program_.run({"run", "--follow", "look again", "--script",
                                       program_.script(read("lib/a.txt") + expects + "- text: done\n" + expects)});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(times("the rule of lib"), 1u);
}

TEST_F(Rules, OfADirectoryAreNotGivenForACallThatDidNothingNorWithoutInstructions) {
  const std::string nothing = program_.script(read("lib/missing.txt") + "- text: done\n");
  EXPECT_EQ(program_.run({"run", "look", "--script", nothing}).code, 0);
  EXPECT_EQ(times("the rule of lib"), 0u);
  program_.config("instructions: false\n");
  const std::string off = program_.script(read("lib/a.txt") + "- text: done\n");
  EXPECT_EQ(program_.run({"run", "look", "--script", off}).code, 0);
  EXPECT_EQ(times("the rule of lib"), 0u);
}

TEST_F(Rules, OfTheUserAndTheProjectAreThereFromTheStartWithTheirImports) {
  ASSERT_TRUE(make_directories(program_.home()));
  ASSERT_TRUE(write_file_atomically(program_.home() + "/AGENTS.md", "the user's rule: @more.md", 0600));
  ASSERT_TRUE(write_file_atomically(program_.home() + "/more.md", "more of the user's", 0600));
  program_.file("AGENTS.md", "the project's rule: @lib/style.md @/etc/hostname");
  const Finished ran = program_.run(
      {"run", "look", "--script",
       program_.script("- text: done\n  expect: {contains: [\"more of the user's\", the style of lib]}\n")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(has(ran.err, "the import @/etc/hostname is ignored: it is outside " + program_.project())) << ran.err;
}

}  // namespace
}  // namespace agentd::testing
