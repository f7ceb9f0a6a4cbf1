// SPDX-License-Identifier: Apache-2.0
// differential_test.cc - what split_command() announces against what two shells start, under a tracer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "core/shell/shell.h"
#include "tests/unit/shell/generator.h"
#include "tests/unit/shell/ground.h"
#include "tests/unit/shell/tracer.h"

namespace {

namespace fs = std::filesystem;
using agentd::ShellReading;

constexpr int kCommands = 5000;  // for each shell

std::set<std::string> announced(const ShellReading& reading) {
  std::set<std::string> out;
  for (const agentd::ShellCommand& command : reading.commands)
    if (!command.words.empty()) {
      const std::string& text = command.words.front().text;
      out.insert(text.substr(text.rfind('/') + 1));
    }
  return out;
}

struct Tally {
  int sure_with_programs = 0, unsure = 0;
  std::vector<std::string> missed;
  bool traced = true;
};

using Splitter = std::function<ShellReading(std::string_view)>;

Tally compare(const std::string& shell, const Splitter& split, int commands, unsigned seed) {
  const Ground ground;
  ShellGenerator generator(seed);
  Tally out;
  for (int i = 0; i < commands && out.missed.size() < 20; ++i) {
    const std::string command = generator.next();
    const ShellReading reading = split(command);
    if (!reading.sure) {
      ++out.unsure;
      continue;  // it is asked about
    }
    const Traced traced = run_traced(shell, command, ground.work(), ground.bin());
    if (!traced.worked) {
      out.traced = false;
      return out;
    }
    if (!traced.programs.empty()) ++out.sure_with_programs;
    const std::set<std::string> names = announced(reading);
    for (const std::string& program : traced.programs)
      if (names.count(program) == 0) out.missed.push_back(program + " was not announced of: " + command);
  }
  return out;
}

class SplitterAgainst : public ::testing::TestWithParam<const char*> {};

TEST_P(SplitterAgainst, EachStartedProgramWasAnnouncedOrIsAskedAbout) {
  const std::string shell = GetParam();
  if (!fs::exists(shell)) GTEST_SKIP() << shell << " is not here";
  const Tally tally = compare(shell, agentd::split_command, kCommands, 20);
  if (!tally.traced) GTEST_SKIP() << "this system does not let a process trace its child";
  EXPECT_TRUE(tally.missed.empty()) << tally.missed.front() << "\nand " << tally.missed.size() - 1 << " more";
  // Enough was compared: an answer that is always "not sure" would pass the line above.
  EXPECT_GT(tally.sure_with_programs, kCommands / 5) << tally.unsure << " of " << kCommands << " are not sure";
}

// The negative control: a splitter that does not see the text of `sh -c` is found out.
TEST_P(SplitterAgainst, APlantedFaultIsFound) {
  const std::string shell = GetParam();
  if (!fs::exists(shell)) GTEST_SKIP() << shell << " is not here";
  const Splitter faulty = [](std::string_view text) {
    ShellReading out = agentd::split_command(text);
    for (std::size_t i = 0; i + 1 < out.commands.size(); ++i)
      if (!out.commands[i].words.empty() && out.commands[i].words.front().is("sh"))
        out.commands.erase(out.commands.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return out;
  };
  const Tally tally = compare(shell, faulty, 600, 20);
  if (!tally.traced) GTEST_SKIP() << "this system does not let a process trace its child";
  EXPECT_FALSE(tally.missed.empty());
}

INSTANTIATE_TEST_SUITE_P(Shells, SplitterAgainst, ::testing::Values("/usr/bin/bash", "/usr/bin/dash"),
                         [](const auto& each) { return std::string(each.param).substr(9); });

}  // namespace
