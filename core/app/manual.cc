// SPDX-License-Identifier: Apache-2.0
// The manual page, in the man(7) macros, from the same table as --help.
#include "core/app/cli.h"
#include "core/base/bytes.h"
#include "core/runtime/version.h"

namespace agentd::app {
namespace {

// Text as troff prints it: no escape, no hyphen for a minus, no request at the start of a line.
std::string roff(std::string_view text) {
  std::string out;
  bool starts = true;
  for (const char c : text) {
    if (starts && (c == '.' || c == '\'')) out += "\\&";
    starts = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }

std::string option_entry(const OptionSpec& option) {
  std::string out = ".TP\n";
  if (option.letter != 0) out += bold(std::string("-") + option.letter) + ", ";
  out += bold("--" + std::string(option.name));
  if (!option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
  out += "\n" + roff(option.help);
  if (!option.choices.empty()) out += ": " + roff(choices_sentence(option.choices));
  return out + "\n";
}

std::string command_entry(const CommandSpec& command) {
  std::string out = ".SS agentd " + roff(command.name);
  if (!command.arguments.empty()) out += " " + roff(command.arguments);
  out += "\n" + roff(command.summary) + "\n";
  if (!command.details.empty()) out += ".PP\n" + roff(command.details) + "\n";
  for (const OptionSpec& option : command.options) out += option_entry(option);
  if (command.examples.empty()) return out;
  out += ".PP\n.nf\n";
  for (const std::string_view example : command.examples) out += roff(example) + "\n";
  return out + ".fi\n";
}

}  // namespace

std::string manual_page() {
  std::string out = ".TH AGENTD 1 \"\" \"agentd " AGENTD_VERSION
                    "\"\n.SH NAME\nagentd \\- a runtime for LLM agents that is controlled by hooks\n.SH SYNOPSIS\n.B "
                    "agentd\n\\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\nagentd runs an agent: a model that "
                    "uses tools, with hooks that watch and control it. Conversations are stored in a durable log and "
                    "kept inside the model's context window.\n.SH COMMANDS\n";
  for (const CommandSpec& command : all_commands()) out += command_entry(command);
  out +=
      ".SH FILES\n.TP\n.I ~/.agent\nconfig.yaml, hooks, recipes, and the store of conversations; the variable "
      "AGENTD_HOME changes the place\n.TP\n.I /etc/agentd\nconfig.yaml and hooks of the system\n.SH EXIT STATUS\n";
  return out + roff(exit_code_lines());
}

}  // namespace agentd::app
