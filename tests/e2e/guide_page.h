// SPDX-License-Identifier: Apache-2.0
#pragma once
// guide_page.h - the fenced blocks of a page of the documentation, which tests run.
//
// Threading: pure functions.

#include <string>
#include <vector>

namespace agentd::testing {

struct Block {
  std::string language, file, text;  // "```yaml NAME": a file of that name; both may be empty
};

// In order. The page is read from its file; the test fails if there is none.
std::vector<Block> blocks_of_page(const std::string& path);
// Those of one language.
std::vector<Block> blocks_of_page(const std::string& path, const std::string& language);

std::vector<std::string> lines_of(const std::string& text);

// The words of a command line: single and double quotation marks, no expansion.
std::vector<std::string> words_of(const std::string& line);

}  // namespace agentd::testing
