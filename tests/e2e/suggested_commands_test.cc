// SPDX-License-Identifier: Apache-2.0
// suggested_commands_test.cc - a command that agentd suggests can be copied into a shell, whatever a
// repository calls its files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

const std::string kName = "$(touch made)";

class SuggestedCommands : public ::testing::Test {
 protected:
  SuggestedCommands() {
    program_.config("permissions: {mode: allow}\n");
    EXPECT_TRUE(make_directories(program_.project() + "/.agent/hooks"));
    EXPECT_TRUE(make_directories(program_.project() + "/.agent/recipes"));
    EXPECT_TRUE(make_directories(shell_));
  }
  std::string hook(const std::string& name, const std::string& text, mode_t mode) const {
    const std::string path = program_.file(".agent/hooks/" + name, text);
    ::chmod(path.c_str(), mode);
    return path;
  }
  std::string all(std::vector<std::string> words) {
    const Finished ran = program_.run(words);
    return ran.out + ran.err;
  }
  std::string run() { return all({"run", "x", "--script", program_.script("- text: a\n")}); }

  // Runs each command of the text that names the file, as somebody would copy it: with the quotes
  // around it and without. Gives how many there are.
  int copied(const std::string& text) {
    int out = 0;
    for (const std::string command : {"agentd hooks ", "agentd recipe ", "chmod "})
      for (std::size_t at = 0; (at = text.find(command, at)) != std::string::npos; ++at) {
        const std::size_t line_end = std::min(text.find('\n', at), text.size());
        const std::size_t name = text.find(kName, at);
        if (name == std::string::npos || name > line_end) continue;
        ++out;
        for (std::size_t begin : {at - (at > 0 && text[at - 1] == '\'' ? 1 : 0), at})
          for (std::size_t end = name + kName.size(); end <= line_end; ++end) {
            paste(text.substr(begin, end - begin));
            if (end < line_end && text[end] != '\'') break;
          }
      }
    return out;
  }
  void paste(const std::string& command) {
    const std::string script = program_.directory().write(
        "pasted.sh", "cd '" + shell_ + "'\nagentd() { :; }\nchmod() { :; }\neval '" + quoted(command) + "'\n");
    EXPECT_NE(std::system(("sh " + script + " > /dev/null 2>&1").c_str()), -1);
    EXPECT_TRUE(std::filesystem::is_empty(shell_)) << command;
    std::filesystem::remove(shell_ + "/made");
  }
  static std::string quoted(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out;
  }

  Program program_;
  const std::string shell_ = program_.directory().file("shell");
};

TEST_F(SuggestedCommands, OfAHookThatWaitsForTrust) {
  hook(kName, "#!/bin/sh\necho agent_stop\n", 0755);
  hook(kName + "2.yaml", "on: agent_stop\ndo: none\n", 0644);
  EXPECT_GE(copied(run()), 2);
  EXPECT_GE(copied(all({"hooks", "list"})), 2);
  EXPECT_GE(copied(all({"doctor"})), 2);
}

TEST_F(SuggestedCommands, OfARecipe) {
  program_.file(".agent/recipes/" + kName + ".md", "---\nname: \"" + kName + "\"\ndescription: d\n---\nGo.\n");
  EXPECT_GE(copied(all({"hooks", "list"})), 1);
  EXPECT_GE(copied(all({"hooks", "trust", "project/recipes/" + kName, "--yes"})), 1);
}

TEST_F(SuggestedCommands, OfAGuardThatIsGone) {
  const std::string path = hook(kName + ".yaml", "on: before_tool_call\nguard: true\ndo: block\n", 0644);
  ASSERT_EQ(program_.run({"hooks", "trust", "project/" + kName, "--yes"}).code, 0);
  std::filesystem::remove(path);
  EXPECT_GE(copied(run()), 1);
  EXPECT_GE(copied(all({"hooks", "list"})), 1);
  EXPECT_GE(copied(all({"doctor"})), 1);
  EXPECT_GE(copied(all({"hooks", "trust", "project/" + kName, "--yes"})), 1);
}

TEST_F(SuggestedCommands, OfAFileThatOthersMayWrite) {
  hook(kName + ".yaml", "on: agent_stop\ndo: none\n", 0666);
  EXPECT_GE(copied(run()), 1);
  EXPECT_GE(copied(all({"hooks", "list"})), 1);
}

TEST_F(SuggestedCommands, AreNoneForNamesWithControlCharacters) {
  const std::string name = "a\nagentd hooks trust --all";
  hook(name, "#!/bin/sh\necho agent_stop\n", 0755);
  program_.file(".agent/recipes/" + name + ".md", "---\nname: a\ndescription: d\n---\nGo.\n");
  for (const std::string& text :
       {run(), all({"hooks", "list"}), all({"doctor"}), all({"hooks", "trust", "project/" + name, "--yes"}),
        all({"hooks", "trust", "project/recipes/" + name, "--yes"})})
    EXPECT_EQ(("\n" + text).find("\nagentd hooks trust"), std::string::npos) << text;
  const std::string list = all({"hooks", "list"});
  std::size_t told = 0;
  for (std::size_t at = 0; (at = list.find("has a control character in its name", at)) != std::string::npos; ++at)
    ++told;
  EXPECT_EQ(told, 2u) << list;
}

// The test can fail: a shell runs what is not quoted.
TEST_F(SuggestedCommands, AreRunByTheTestAsAShellRunsThem) {
  const std::string script = program_.directory().write(
      "bare.sh", "cd '" + shell_ + "'\nagentd() { :; }\neval 'agentd hooks trust project/" + kName + "'\n");
  EXPECT_EQ(std::system(("sh " + script).c_str()), 0);
  EXPECT_TRUE(std::filesystem::exists(shell_ + "/made"));
}

}  // namespace
}  // namespace agentd::testing
