// SPDX-License-Identifier: Apache-2.0
// Hooks that break the contract, beside one that keeps it: a sentence each, and the run goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find(part) != std::string::npos) out.push_back(line);
  return out;
}

class BrokenHooks : public ::testing::Test {
 protected:
  void drop(const std::string& name) { program_.drop_hook(std::string(AGENTD_BROKEN_HOOKS) + "/" + name + ".so"); }
  Finished run() { return program_.run({"run", "hello", "--script", program_.script("- text: fine\n")}); }
  Program program_;
};

TEST_F(BrokenHooks, EachIsRefusedWithOneSentenceAndTheRunGoesOn) {
  const std::vector<std::string> names{"wrong_magic",  "wrong_major", "missing_symbol",
                                       "size_garbage", "unknown_row", "create_throws"};
  for (const std::string& name : names) drop(name);
  const Finished ran = run();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "fine\n");
  for (const std::string& name : names)
    EXPECT_EQ(lines_with(ran.err, "/" + name + ".so ").size(), 1u) << name << "\n" << ran.err;
}

TEST_F(BrokenHooks, AnUnknownOptionalRowIsNoReasonToRefuse) {
  drop("unknown_optional_row");
  const Finished ran = run();
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto lines = lines_with(ran.err, "unknown_optional_row.so");
  ASSERT_EQ(lines.size(), 1u) << ran.err;  // that it is new, and nothing else
  EXPECT_TRUE(lines[0].starts_with("warning: new hook unknown_optional_row")) << ran.err;
}

TEST_F(BrokenHooks, BytesThatAreNoModuleAreNamed) {
  const std::string path = program_.home() + "/hooks/notes.so";
  std::filesystem::create_directories(program_.home() + "/hooks");
  std::filesystem::permissions(program_.home() + "/hooks", std::filesystem::perms::owner_all);
  std::ofstream(path) << "not a module\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const Finished ran = run();
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(lines_with(ran.err, "notes.so").size(), 1u) << ran.err;
}

TEST_F(BrokenHooks, AHandlerThatThrowsIsAWarningAndTheToolStillRuns) {
  drop("handler_throws");
  program_.file("a.txt", "alpha\n");
  const Finished ran =
      program_.run({"run", "look", "--script",
                    program_.script("- calls: [{name: read_file, input: {path: a.txt}}]\n- text: done\n"
                                    "  expect: {contains: alpha}\n")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "done\n");
  EXPECT_FALSE(lines_with(ran.err, "handler_throws").empty()) << ran.err;
}

}  // namespace
}  // namespace agentd::testing
