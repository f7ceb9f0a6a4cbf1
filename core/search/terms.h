// SPDX-License-Identifier: Apache-2.0
#pragma once
// terms.h - texts and queries in the form that the full-text index reads.
//
// The index's tokenizer (unicode61 of SQLite's FTS5) takes everything between blanks and signs for one word. Chinese,
// Japanese and Korean write without blanks, or join endings to their words, so a run of their characters is indexed as
// its pairs and its last character: "全文检索" as "全文 文检 检索 索". A query's run is the phrase of its
// pairs, and a single character is the beginning of a pair. Full-width letters and digits are indexed as the
// ASCII ones.
//
// Threading: pure functions.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace agentd {

// Bytes [from, to) of a text.
struct TextRange {
  std::size_t from = 0, to = 0;
  bool operator==(const TextRange&) const = default;
};

// The text as it is indexed. It has no control characters: each one is a blank.
std::string index_text(std::string_view text);
// The places in `text` of ranges of index_text(text). REQUIRES: the ranges are in order and do not overlap. Results of
// neighbouring pairs may touch or overlap.
std::vector<TextRange> source_ranges(std::string_view text, std::span<const TextRange> indexed);

inline constexpr std::size_t kQueryBytesMax = 1'000;
inline constexpr std::size_t kQueryWordsMax = 32;

// A person's query as an expression of FTS5: every word must occur, and words in double quotes must follow each other.
// Nothing else has a meaning; a quote that is not closed ends with the query. kInvalid: no word at all, or beyond a
// limit.
Result<std::string> match_expression(std::string_view query);

// The character at the start of a text, and its bytes; an ill-formed byte is the value 0 and one byte. REQUIRES: the
// text is not empty.
struct Character {
  char32_t value = 0;
  std::size_t bytes = 1;
};
Character first_character(std::string_view text);
// True for a character of a script that is indexed by pairs; a terminal shows it in two columns, except half-width
// katakana.
bool is_paired(char32_t character);
// True for white space: ASCII's, the no-break and the ideographic blank.
bool is_gap(char32_t character);

}  // namespace agentd
