// SPDX-License-Identifier: Apache-2.0
#pragma once
// cli.h - the table of commands and options, used for parsing, help, completion and docs/reference/cli.md.
//
// Threading: immutable data.

#include <string>
#include <string_view>
#include <vector>

namespace agentd::app {

class App;
class Arguments;

struct OptionSpec {
  std::string_view name;     // "model": --model
  char letter = 0;           // 'm': -m
  std::string_view value{};  // "MODEL"; empty = a switch
  std::string_view help{};
  std::string_view choices{};    // "a|b", for completion and checking
  std::string_view key{};        // the configuration key that it sets; a switch sets "true"
  std::string_view key_value{};  // the value that a switch sets instead
  bool repeats = false;
};

struct CommandSpec {
  std::string_view name;       // "conversation show"
  std::string_view arguments;  // "[QUERY...|-]"
  std::string_view summary;    // one line
  std::string_view details;    // paragraphs for --help
  std::vector<OptionSpec> options;
  std::vector<std::string_view> examples;  // "agentd run \"...\"   # what it does"
  std::size_t arguments_min = 0, arguments_max = 0;
  std::string_view argument_choices{};  // "bash|zsh|fish", for completion and checking
  int (*run)(App& app, const Arguments& arguments) = nullptr;
};

// All commands in the order of the help.
const std::vector<CommandSpec>& all_commands();
// Null if no command has that name.
const CommandSpec* find_command(std::string_view name);
// The first words of commands; the words that come next in the names of commands that begin with those of `group`.
std::vector<std::string> first_words();
std::vector<std::string> next_words(std::string_view group);
// The groups of commands whose names have so many words: of one "auth", of two "auth token".
std::vector<std::string> groups(std::size_t words);

// `agentd --help`, `agentd run --help`, and docs/reference/cli.md.
std::string program_help();
std::string command_help(const CommandSpec& command);
std::string group_help(std::string_view group);
std::string cli_reference();

// The table of exit codes for the help, one line each (exit_codes.h).
std::string exit_code_lines();

// The manual page agentd(1), in the man(7) macros.
std::string manual_page();

// A completion script. REQUIRES: shell is bash, zsh or fish.
std::string completion_script(std::string_view shell);

// "a|b" as text for people: "a, b or c".
std::string choices_sentence(std::string_view choices);

}  // namespace agentd::app
