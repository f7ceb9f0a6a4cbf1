// SPDX-License-Identifier: Apache-2.0
#pragma once
// terms.h - the words of a text as the index and the comparisons see them.
//
// Letters are folded: case of the Latin, Greek and Cyrillic scripts, accents of Latin letters, full-width forms. An
// identifier gives itself without its separators and its parts (maxTokens, max_tokens: "maxtokens", "max", "token").
// English endings are taken off lightly (caches, cached, caching: "cach"). Chinese, Japanese and Korean runs have no
// blanks, so they give their pairs of characters, and in documents each character too.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace session_memory {

enum class TermsOf : std::uint8_t { kDocument, kQuery };

// In order, with repetitions, without stop words. Ill-formed UTF-8 separates words.
std::vector<std::string> terms_of(std::string_view text, TermsOf whose = TermsOf::kDocument);

// Each once, in byte order: what texts are compared by.
std::vector<std::string> term_set(std::string_view text);

// Common elements / all elements of two sets in byte order; 0 for two empty ones.
double overlap(const std::vector<std::string>& a, const std::vector<std::string>& b);

// True for a term that says little about its text in any software project: "error", "file", "fix".
bool is_generic(std::string_view term);

// The text as plain words in order, lower case, each character of a script without blanks a word of its own: what
// sentences are compared by, word by word. Nothing is left out.
std::vector<std::string> words_of(std::string_view text);

}  // namespace session_memory
