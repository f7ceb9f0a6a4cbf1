// SPDX-License-Identifier: Apache-2.0
// docs/guide/sessions-that-learn.md, run: its files are written, its commands are run in order.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/e2e/program.h"

namespace agentd::testing {
namespace {

struct Block {
  std::string language, file, text;
};

// The fenced blocks of the page, in order.
std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> out;
  std::istringstream lines(page);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (!inside) continue;
      Block made;
      std::istringstream words(line.substr(3));
      words >> made.language >> made.file;
      out.push_back(made);
    } else if (inside) {
      out.back().text += line + "\n";
    }
  }
  return out;
}

// The words of a command line: single and double quotation marks, no expansion.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out;
  std::string word;
  char quote = 0;
  for (const char each : line + " ") {
    if (quote != 0 ? each == quote : each == '\'' || each == '"') {
      quote = quote == 0 ? each : '\0';
    } else if (each == ' ' && quote == 0) {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
    } else {
      word += each;
    }
  }
  return out;
}

TEST(GuideSessions, ItsCommandsDoWhatItSays) {
  const auto page = read_file(AGENTD_SESSIONS_GUIDE, 1u << 20);
  ASSERT_TRUE(page);
  Program program;
  std::size_t commands = 0;
  std::string said;
  for (const Block& block : blocks_of(*page)) {
    if (!block.file.empty()) {
      program.file(block.file, block.text);
      continue;
    }
    if (block.language != "sh") continue;
    std::istringstream lines(block.text);
    for (std::string line; std::getline(lines, line);) {
      const std::vector<std::string> words = words_of(line);
      ASSERT_FALSE(words.empty());
      if (words[0] != "agentd") {
        ASSERT_EQ(std::system(("cd '" + program.project() + "' && " + line).c_str()), 0) << line;
        continue;
      }
      const Finished ran = program.run({words.begin() + 1, words.end()});
      EXPECT_EQ(ran.code, 0) << line << "\n" << ran.out << ran.err;
      said += line + "\n" + ran.out;
      ++commands;
    }
  }
  EXPECT_EQ(commands, 9u);
  EXPECT_TRUE(has(said, "settings.txt")) << said;
  EXPECT_TRUE(has(said, "design.md › Retry policy")) << said;
  EXPECT_TRUE(has(said, "\"confidence\":0.9")) << said;
}

}  // namespace
}  // namespace agentd::testing
