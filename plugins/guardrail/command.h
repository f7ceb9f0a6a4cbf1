// SPDX-License-Identifier: Apache-2.0
#pragma once
// command.h - analyses the text of a shell command without running it.
//
// core/shell reads it by the shell's grammar; here the same text is read tolerantly as well, since a rule that denies
// should also find what no shell accepts: quotation, separators, redirections and common wrappers. It expands no
// variables but HOME and PWD, and cannot see what a script, an alias or a decoder will do. It finds mistakes and plain
// attempts; it is not a sandbox.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace guardrail {

// The command as written, and again without quotation marks, backslashes, line ends in the middle, unusual spaces and
// $IFS, and with each {a,b} expanded: r\m "-rf" / is found as rm -rf /.
std::vector<std::string> spellings_of(std::string_view command);

enum class Removal {
  kNone,
  kFound,  // a starting point of find -delete
  kTree,   // an operand of rm -r
};

struct Word {
  std::string text;      // without quotation
  bool written = false;  // the target of >, or an argument of a program that writes
  Removal removal = Removal::kNone;
};
// The words that may be paths, in the command and in commands within it (bash -c "...", $(...)). A relative word after
// `cd DIR` appears twice, once below DIR; the text after an option's letters or a "=" is included.
std::vector<Word> words_of(std::string_view command);

// True if the text is one simple command: no separator, substitution, redirection or quotation, and the shell's grammar
// is sure of it.
bool is_simple(std::string_view command);

}  // namespace guardrail
