// SPDX-License-Identifier: Apache-2.0
#pragma once
// words.h - private words in texts that users read: messages, help and pages.
//
// Threading: pure functions over the files.

#include <filesystem>
#include <string>
#include <vector>

#include "tests/tidy/tree.h"

namespace tidy {

// A refused phrase and its replacement; one line "phrase | replacement" of words.txt.
struct RefusedWord {
  std::string phrase;  // lower case, single blanks
  std::string instead;
  bool first = false;  // written "^phrase": refused only as the first word of a page's sentence, a message or a comment
};
std::vector<RefusedWord> read_words(const std::filesystem::path& words_txt);

// A string of a source, with adjacent literals joined and escapes kept. Comments and includes have none.
struct Literal {
  std::size_t line = 0;
  std::string text;
};
std::vector<Literal> literals_of(const std::string& source);

// A paragraph, list item, heading or table row of a page. Fenced code is left out.
std::vector<Literal> paragraphs_of(const std::string& page);

// Refused words in the strings of core, plugins, providers and plugin-api, as the first word of their comments, and in
// the pages.
Findings private_words(const std::filesystem::path& root, const std::vector<RefusedWord>& words);

}  // namespace tidy
