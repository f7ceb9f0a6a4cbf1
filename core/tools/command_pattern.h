// SPDX-License-Identifier: Apache-2.0
#pragma once
// command_pattern.h - the argument of a rule about commands: git push:*, git status, npm run *.
//
// A pattern is the words of one command: without wildcards it is that command exactly, ":*" or " *" at its end stands
// for any further words, "*" for any text in between. Quotation as in a shell makes characters plain.
//
// Threading: values.

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/shell/shell.h"

namespace agentd {

class CommandPattern {
 public:
  // kInvalid: it can match no command; the message says what to write instead.
  static Result<CommandPattern> parse(std::string_view text);

  enum class Fit {
    kNo,
    kMaybe,  // it depends on a value, or on which options the program takes in front of its words
    kYes,
  };
  // For a rule that permits: the words as they are, whatever their unknown parts become. A pattern without wildcards
  // covers no command with assignments, nor one whose input the text chooses: `python3 -` may be any program.
  bool covers(const ShellCommand& command) const;
  // For a rule that forbids or asks: the program may be named by a path, and options may be in front of the pattern's
  // words and between them.
  Fit touches(const ShellCommand& command) const;
  bool is_exact() const { return exact_; }

 private:
  Fit touches_in_front(const ShellCommand& command) const;
  Fit touches_between(const ShellCommand& command) const;

  std::string tokens_;    // characters, and the signs of command_pattern.cc
  bool further_ = false;  // any words may follow
  bool exact_ = false;    // it has no wildcard
};

// The pattern that matches a command exactly; empty: there is none, since a part of it is not known.
std::string exact_pattern(const ShellCommand& command);

}  // namespace agentd
