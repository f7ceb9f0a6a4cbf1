// SPDX-License-Identifier: Apache-2.0
// docs/guide/permissions.md, run: its rules are taken, its transcripts are what the program prints, and its question is
// the one that is asked.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "tests/e2e/guide_page.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

const std::string kPage = AGENTD_PERMISSIONS_GUIDE;

std::string all_replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Without what differs from machine to machine and from run to run: the home, ids, the size of a context.
std::string plain(std::string text, const std::string& home) {
  text = all_replaced(std::move(text), home, "/home/ann/.agent");
  text = std::regex_replace(text, std::regex("01[0-9A-Z]{4,24}(\\.\\.\\.)?"), "ID");
  return std::regex_replace(text, std::regex("context [0-9]+ %"), "context N %");
}

class GuidePermissions : public ::testing::Test {
 protected:
  // A line of the page as somebody types it: what it prints.
  std::string type(const std::string& line) {
    program_.start_by({"/bin/bash", "-c", "PATH=${0%/*}:$PATH; " + line});
    const Finished ran = program_.run({});
    program_.start_by({});
    return ran.out + ran.err;
  }
  // A model that wants to run this.
  std::string model(const std::string& command) {
    return program_.script("- calls: [{name: bash, input: {command: \"" + command + "\"}}]\n- text: done\n");
  }

  Program program_;
};

TEST_F(GuidePermissions, ItsRulesAreTaken) {
  const std::vector<Block> rules = blocks_of_page(kPage, "yaml");
  EXPECT_GE(rules.size(), 1u);
  for (const Block& block : rules) {
    program_.config(block.text);
    const Finished ran = program_.run({"permissions", "list"});
    EXPECT_EQ(ran.code, 0) << block.text << ran.err;
    EXPECT_TRUE(has(ran.out, "bash(rm:*)")) << ran.out;
  }
}

// "$ COMMAND", and what it prints.
TEST_F(GuidePermissions, ItsTranscriptsAreTrue) {
  const std::vector<Block> rules = blocks_of_page(kPage, "yaml");
  ASSERT_FALSE(rules.empty());
  program_.config(rules[0].text);
  program_.set("AGENTD_PROVIDER=scripted");
  program_.set("AGENTD_SCRIPTED_FILE=" + model("make clean"));
  std::size_t transcripts = 0;
  for (const Block& block : blocks_of_page(kPage, "")) {
    if (!block.text.starts_with("$ ")) continue;
    ++transcripts;
    const std::size_t end = block.text.find('\n');
    const std::string line = block.text.substr(2, end - 2);
    EXPECT_EQ(plain(type(line), program_.home()), plain(block.text.substr(end + 1), program_.home())) << line;
  }
  EXPECT_GE(transcripts, 2u);
}

TEST_F(GuidePermissions, ItsQuestionIsTheOneThatIsAsked) {
  std::string question;
  for (const Block& block : blocks_of_page(kPage, ""))
    if (has(block.text, "wants to run:")) question = block.text;
  ASSERT_FALSE(question.empty());
  while (question.ends_with('\n')) question.pop_back();
  const Finished ran = program_.on_terminal({"run", "go", "--script", model("make clean\\nmake")},
                                            {{"[a]lways in this project:", "n\n"}}, std::chrono::milliseconds(400));
  EXPECT_TRUE(has(all_replaced(ran.out, "\r\n", "\n"), question)) << ran.out;
}

}  // namespace
}  // namespace agentd::testing
