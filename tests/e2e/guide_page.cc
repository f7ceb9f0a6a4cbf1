// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/guide_page.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/base/file.h"

namespace agentd::testing {

std::vector<Block> blocks_of_page(const std::string& path) {
  const auto page = read_file(path, 1u << 20);
  EXPECT_TRUE(page) << path;
  std::vector<Block> out;
  bool inside = false;
  for (const std::string& line : lines_of(page.value_or(""))) {
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

std::vector<Block> blocks_of_page(const std::string& path, const std::string& language) {
  std::vector<Block> out;
  for (Block& each : blocks_of_page(path))
    if (each.language == language) out.push_back(std::move(each));
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

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

}  // namespace agentd::testing
