// SPDX-License-Identifier: Apache-2.0
#pragma once
// shell.h - which programs a shell would start for a text, without running it.
//
// The text is read as POSIX sh (XCU 2) and as bash at once: what the two would read differently, and what depends on
// values, is "not sure". A sure reading names every program that the text itself starts; what such a program starts in
// turn (a script, a makefile) is that program's business. It cannot see aliases and functions of the environment.
//
// Bounded: 64 KiB of text, 24 levels, 1,000 commands; more is not sure. Threading: pure functions.

#include <string>
#include <string_view>
#include <vector>

namespace agentd {

// A part of a word that depends on a value: any text, also several words or none.
inline constexpr char kUnknownPart = '\x01';

struct ShellWord {
  std::string text;     // without quotation
  bool splits = false;  // an unknown part may become several words with any beginning, or none
  bool many = false;    // it may become several words: it splits, or has a glob or braces

  bool known() const { return text.find(kUnknownPart) == std::string::npos; }
  bool is(std::string_view other) const { return text == other; }
};

struct ShellRedirection {
  bool writes = false;
  bool reads = false;
  ShellWord target;
};

struct ShellCommand {
  std::vector<std::string> assigned;           // names set in front of it, or without it when there are no words
  std::vector<ShellWord> words;                // the program and its arguments; empty: it only assigns or redirects
  std::vector<ShellRedirection> redirections;  // of files; not those of descriptors
  // Its input is chosen by the text: a here-document, a file, another descriptor, or the output of a command.
  bool fed = false;
  // The program's only effect is to run the commands that follow it in the list: timeout, env, sh -c TEXT. sudo, xargs
  // and find are not of this kind.
  bool wraps = false;
};

struct ShellReading {
  bool sure = true;
  // It sets a variable that the programs of its environment know. What only a shell knows does not count.
  bool sets_environment = false;
  std::string why_not_sure;            // "a variable names the program"; empty when it is sure
  std::vector<ShellCommand> commands;  // as far as they were read; a wrapper precedes what it runs
};

ShellReading split_command(std::string_view text);

// A word of the shell's grammar ("if", "{", "!"): where it stands for a program, no program is started by its name.
// "time" and "in" are programs, too.
bool is_grammar(std::string_view word);

}  // namespace agentd
