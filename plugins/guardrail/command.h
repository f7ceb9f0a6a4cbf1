// SPDX-License-Identifier: Apache-2.0
#pragma once
// command.h - what can be told from the text of a shell command without running it.
//
// This reads quotation, separators, redirections and the usual wrappers; it does not expand
// variables other than HOME and PWD, and it cannot see what a script, an alias or a decoder will
// make. It finds mistakes and plain attempts; it is no sandbox.
//
// Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace guardrail {

// The command as it stands, and once more with quotation marks, backslashes, line ends in the
// middle, unusual spaces and $IFS taken out and each {a,b} replaced by what it stands for: r\m "-rf" /
// is found as rm -rf /.
std::vector<std::string> spellings_of(std::string_view command);

enum class Removal {
  kNone,
  kFound,  // find -delete begins there
  kTree,   // rm -r
};

struct Word {
  std::string text;      // without quotation
  bool written = false;  // behind > or an argument of a program that writes
  Removal removal = Removal::kNone;
};
// The words of the command and of commands in it (bash -c "...", $(...)): whatever may be a path. A
// relative word behind `cd DIR` is there twice, once below DIR; what follows the letters of an option
// or a "=" is there, too.
std::vector<Word> words_of(std::string_view command);

// True when the text is one simple command: no separator, substitution, redirection or quotation.
bool is_simple(std::string_view command);

}  // namespace guardrail
