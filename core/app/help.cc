// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/app/cli.h"
#include "core/app/exit_codes.h"
#include "core/config/config_keys.h"

namespace agentd::app {
namespace {

constexpr std::size_t kWidth = 100;

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string option_text(const OptionSpec& option) {
  std::string out = option.letter == 0 ? "    " : std::string("-") + option.letter + ", ";
  out += "--" + std::string(option.name);
  if (!option.value.empty()) out += " " + std::string(option.value);
  return out;
}

std::string option_help(const OptionSpec& option) {
  std::string out(option.help);
  if (!option.choices.empty()) out += ": " + choices_sentence(option.choices);
  return out;
}

std::string usage_line(const CommandSpec& command) {
  std::string out = "agentd " + std::string(command.name);
  if (!command.arguments.empty()) out += " " + std::string(command.arguments);
  if (!command.options.empty()) out += " [options]";
  return out;
}

std::string option_lines(const CommandSpec& command) {
  std::size_t width = 0;
  for (const OptionSpec& option : command.options) width = std::max(width, option_text(option).size());
  width = std::max(width, std::string_view("-h, --help").size());
  std::string out;
  for (const OptionSpec& option : command.options)
    out += "  " + padded(option_text(option), width + 2) + option_help(option) + "\n";
  return out + "  " + padded("-h, --help", width + 2) + "print this help\n";
}

std::string command_lines(const std::vector<const CommandSpec*>& commands) {
  std::size_t width = 0;
  for (const CommandSpec* command : commands) width = std::max(width, command->name.size());
  std::string out;
  for (const CommandSpec* command : commands)
    out += "  " + padded(std::string(command->name), width + 2) + std::string(command->summary) + "\n";
  return out;
}

std::string example_lines(const CommandSpec& command) {
  std::string out;
  for (const std::string_view example : command.examples) out += "  " + std::string(example) + "\n";
  return out;
}

}  // namespace

std::string exit_code_lines() {
  std::string out = "Exit codes:";
  std::size_t begin = 0;
  for (const ExitCode& each : exit_codes()) {
    const bool last = &each == &exit_codes().back();
    const std::string text = std::to_string(each.code) + " " + std::string(each.word) + (last ? "." : ",");
    const bool fits = out.size() - begin + 1 + text.size() <= kWidth;
    if (!fits) begin = out.size() + 1;
    out += (fits ? " " : "\n") + text;
  }
  return out + "\n";
}

std::string choices_sentence(std::string_view choices) {
  const std::vector<std::string> names = split(choices, '|');
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return out;
}

std::string program_help() {
  std::vector<const CommandSpec*> commands;
  for (const CommandSpec& command : all_commands()) commands.push_back(&command);
  return "agentd runs an agent: a model that uses tools, with hooks that watch and control it.\n\nUsage: agentd "
         "COMMAND [options]\n\nCommands:\n" +
         command_lines(commands) +
         "\nOptions:\n  --plugins[=json|verify]\n                    list the hooks with id, version, events and "
         "trust; runs none of them. verify also loads\n                    the modules that may run, each in its own "
         "process\n  --version         print the version\n  --help            print this help; 'agentd COMMAND --help' "
         "explains one command\n\nFirst steps:\n  export ANTHROPIC_API_KEY=...                 # or, without a key: "
         "agentd run --script FILE\n  agentd run \"what does this project do?\"\n  agentd run --follow \"and how is it "
         "tested?\"\n  agentd doctor\n\nFiles are stored in ~/.agent (AGENTD_HOME changes that): config.yaml, hooks/, "
         "recipes/, store/.\n\n" +
         exit_code_lines();
}

std::string command_help(const CommandSpec& command) {
  std::string out = "agentd " + std::string(command.name) + " - " + std::string(command.summary) + "\n\n";
  out += "Usage: " + usage_line(command) + "\n\n";
  if (!command.details.empty()) out += std::string(command.details) + "\n\n";
  out += "Options:\n" + option_lines(command);
  if (!command.examples.empty()) out += "\nExamples:\n" + example_lines(command);
  return out;
}

std::string group_help(std::string_view group) {
  std::vector<const CommandSpec*> commands;
  for (const CommandSpec& command : all_commands())
    if (command.name.starts_with(std::string(group) + " ")) commands.push_back(&command);
  return "Usage: agentd " + std::string(group) + " COMMAND [options]\n\nCommands:\n" + command_lines(commands);
}

namespace {

std::string exit_code_table() {
  std::string out = "## Exit codes\n\n| code | name | when |\n|---|---|---|\n";
  for (const ExitCode& each : exit_codes())
    out += "| " + std::to_string(each.code) + " | " + std::string(each.word) + " | " + std::string(each.when) + " |\n";
  return out +
         "\n`run` and `chat` use the same codes; `chat` exits with the code of its last message or command. An "
         "interrupted\nconversation is saved: continue it with `agentd run --follow`. A second signal ends the program "
         "immediately.\nAny other code above 128 means that a signal killed the program: please report this bug.\n\n";
}

}  // namespace

std::string cli_reference() {
  std::string out =
      "# The command line\n\nThis page is generated from the program's own table (`core/app/command_table.cc`); a test "
      "keeps them equal.\n\n```\n" +
      program_help() + "```\n\n" + exit_code_table() +
      "Output that cannot be written is a failure (exit code 1), as with the core utilities: a full disk, or a "
      "standard output\nthat was closed at start (`>&-`). The command itself is still carried out. If only a status "
      "line such as\n`deleted 01JZ8...` is lost, the exit code reports the command's result and a warning goes to "
      "standard error. Closed\nstandard descriptors are opened on `/dev/null`, so that no other file gets their "
      "numbers.\n";
  for (const CommandSpec& command : all_commands())
    out += "\n## agentd " + std::string(command.name) + "\n\n```\n" + command_help(command) + "```\n";
  return out;
}

}  // namespace agentd::app
