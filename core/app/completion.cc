// SPDX-License-Identifier: Apache-2.0
#include "core/app/cli.h"
#include "core/base/bytes.h"
#include "core/config/config_keys.h"

namespace agentd::app {
namespace {

std::string option_words(const CommandSpec& command) {
  std::vector<std::string> out;
  for (const OptionSpec& option : command.options) {
    out.push_back("--" + std::string(option.name));
    if (option.letter != 0) out.push_back(std::string("-") + option.letter);
  }
  out.emplace_back("--help");
  return join(out, " ");
}

// Groups of one word come first.
std::vector<std::string> all_groups() {
  std::vector<std::string> out;
  for (std::size_t words = 1; !groups(words).empty(); ++words)
    for (std::string& group : groups(words)) out.push_back(std::move(group));
  return out;
}

std::string key_words() {
  std::vector<std::string> out;
  for (const KeySpec& key : config_keys())
    if (key.name.find('*') == std::string_view::npos) out.emplace_back(key.name);
  return join(out, " ");
}

// The kind of names offered for an argument, by its name: "@hooks"; empty = none.
std::string asked_names(const CommandSpec& command) {
  const std::string_view name = command.name;
  if (name.starts_with("conversation ") && command.arguments == "ID") return "@conversations";
  if (name == "hooks replay") return "@conversations";
  if (name.starts_with("hooks ") && (command.arguments == "NAME|PATH" || command.arguments == "[NAME|PATH...]"))
    return "@hooks";
  if (name == "recipe show") return "@recipes";
  return name == "models" ? "@models" : "";
}

std::string asked_names(const OptionSpec& option) {
  if (option.value == "ID" && (option.name == "resume" || option.name == "conversation-id")) return "@conversations";
  if (option.name == "recipe") return "@recipes";
  return option.value == "MODEL" ? "@models" : "";
}

// The words offered after the command, besides options.
std::string argument_words(const CommandSpec& command) {
  if (command.name == "config explain") return key_words();
  if (std::string asked = asked_names(command); !asked.empty()) return asked;
  return join(split(command.argument_choices, '|'), " ");
}

// The values of an option: its own choices, or those of the key that it sets.
std::string value_words(const OptionSpec& option) {
  if (std::string asked = asked_names(option); !asked.empty()) return asked;
  if (!option.choices.empty()) return join(split(option.choices, '|'), " ");
  const KeySpec* key = option.key.empty() ? nullptr : find_key(option.key);
  return key == nullptr ? "" : join(split(key->choices, '|'), " ");
}

// "  'run|--provider') offer='anthropic scripted' ;;" for every option that takes a value.
std::string bash_values() {
  std::string out;
  for (const CommandSpec& command : all_commands()) {
    for (const OptionSpec& option : command.options) {
      if (option.value.empty()) continue;
      const std::string words = value_words(option);
      const bool file = option.value == "FILE";
      out += "    '" + std::string(command.name) + "|--" + std::string(option.name) + "'";
      if (option.letter != 0) out += "|'" + std::string(command.name) + "|-" + option.letter + "'";
      out += file ? ") offer='@files' ;;\n" : ") offer='" + (words.empty() ? "@none" : words) + "' ;;\n";
    }
  }
  return out;
}

// The offers by command: a shell function that works in bash and zsh.
std::string shell_tables() {
  std::string options, arguments, nexts;
  for (const CommandSpec& command : all_commands()) {
    options += "    '" + std::string(command.name) + "') offer='" + option_words(command) + "' ;;\n";
    const std::string words = argument_words(command);
    if (!words.empty()) arguments += "    '" + std::string(command.name) + "') offer='" + words + "' ;;\n";
  }
  for (const std::string& group : all_groups())
    nexts += "    '" + group + "') offer='" + join(next_words(group), " ") + "' ;;\n";
  return "_agentd_words() {  # command, word before, word so far; the answer is in $offer\n"
         "  offer=''\n"
         "  case \"$1|$2\" in\n" +
         bash_values() +
         "  esac\n"
         "  [ -n \"$offer\" ] && return\n"
         "  if [ -z \"$1\" ]; then offer='" +
         join(first_words(), " ") +
         " --plugins --version --help'; return; fi\n"
         "  case \"$3\" in\n  -*) case \"$1\" in\n" +
         options +
         "    esac; return ;;\n  esac\n"
         "  case \"$1\" in\n" +
         nexts + arguments + "  esac\n}\n";
}

// Appends the words of the line to `command` while it names a group: a `case` for each length. `line` is the shell's
// array of words, `current` the number of the word that is typed, and `first` that of the first word after agentd.
std::string group_cases(std::string_view line, std::string_view current, std::size_t first) {
  std::string out;
  for (std::size_t words = 1; !groups(words).empty(); ++words) {
    const std::string at = std::to_string(first + words);
    out += "  case \"$command\" in '" + join(groups(words), "'|'") + "')\n    [ " + std::string(current) + " -gt " +
           at + " ] && command=\"$command ${" + std::string(line) + "[" + at + "]}\" ;;\n  esac\n";
  }
  return out;
}

std::string bash_script() {
  return "# bash completion for agentd\n" + shell_tables() +
         "_agentd() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous='' command='' offer=''\n"
         "  [ \"$COMP_CWORD\" -gt 1 ] && previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "  [ \"$COMP_CWORD\" -gt 1 ] && command=\"${COMP_WORDS[1]}\"\n" +
         group_cases("COMP_WORDS", "\"$COMP_CWORD\"", 1) +
         "  _agentd_words \"$command\" \"$previous\" \"$current\"\n"
         "  case \"$offer\" in\n"
         "    @files) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n"
         "    @none) COMPREPLY=() ;;\n"
         "    @*) COMPREPLY=($(compgen -W \"$(agentd completion \"${offer#@}\" 2>/dev/null | cut -f1)\" -- "
         "\"$current\")) ;;\n"
         "    *) COMPREPLY=($(compgen -W \"$offer\" -- \"$current\")) ;;\n"
         "  esac\n}\n"
         "complete -F _agentd agentd\n";
}

std::string zsh_script() {
  return "#compdef agentd\n# zsh completion for agentd\n" + shell_tables() +
         "_agentd() {\n"
         "  local current=\"${words[CURRENT]}\" previous='' command=''\n"
         "  [ \"$CURRENT\" -gt 2 ] && previous=\"${words[CURRENT-1]}\"\n"
         "  [ \"$CURRENT\" -gt 2 ] && command=\"${words[2]}\"\n" +
         group_cases("words", "\"$CURRENT\"", 2) +
         "  local offer=''\n"
         "  _agentd_words \"$command\" \"$previous\" \"$current\"\n"
         "  case \"$offer\" in\n"
         "    @files) _files ;;\n"
         "    @none|'') ;;\n"
         "    @*) local -a names\n"
         "      names=(${(f)\"$(agentd completion ${offer#@} 2>/dev/null)\"})\n"
         "      compadd -- ${names%%$'\\t'*} ;;\n"
         "    *) compadd -- ${=offer} ;;\n"
         "  esac\n}\n"
         "if [ \"$funcstack[1]\" = _agentd ]; then _agentd \"$@\"; else compdef _agentd agentd; "
         "fi\n";
}

std::string fish_text(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("\\'") : std::string(1, c);
  return "'" + out + "'";
}

// The command that prints names of this kind.
std::string fish_words(const std::string& words) {
  return fish_text(words.starts_with('@') ? "(agentd completion " + words.substr(1) + " 2>/dev/null)" : words);
}

std::string fish_seen(const std::vector<std::string>& words) {
  return "__fish_seen_subcommand_from " + join(words, "; and __fish_seen_subcommand_from ");
}

std::string fish_condition(const CommandSpec& command) {
  const std::vector<std::string> words = split(command.name, ' ');
  return fish_text(fish_seen(words));
}

std::string fish_options(const CommandSpec& command) {
  std::string out;
  for (const OptionSpec& option : command.options) {
    out += "complete -c agentd -n " + fish_condition(command) + " -l " + std::string(option.name);
    if (option.letter != 0) out += std::string(" -s ") + option.letter;
    if (!option.value.empty()) out += option.value == "FILE" ? " -r -F" : " -x";
    const std::string words = value_words(option);
    if (!words.empty()) out += " -a " + fish_words(words);
    out += " -d " + fish_text(option.help) + "\n";
  }
  return out;
}

std::string fish_script() {
  std::string out = "# fish completion for agentd\ncomplete -c agentd -f\n";
  for (const std::string& first : first_words()) {
    const CommandSpec* command = find_command(first);
    out += "complete -c agentd -n '__fish_use_subcommand' -a " + first;
    if (command != nullptr) out += " -d " + fish_text(command->summary);
    out += "\n";
  }
  for (const std::string& group : all_groups())
    for (const std::string& next : next_words(group)) {
      const CommandSpec* const command = find_command(group + " " + next);
      out += "complete -c agentd -n '" + fish_seen(split(group, ' ')) + "; and not __fish_seen_subcommand_from " +
             join(next_words(group), " ") + "' -a " + next;
      out += command == nullptr ? "\n" : " -d " + fish_text(command->summary) + "\n";
    }
  out += "complete -c agentd -n '__fish_use_subcommand' -l plugins -l version -l help\n";
  for (const CommandSpec& command : all_commands()) {
    out += fish_options(command);
    const std::string words = argument_words(command);
    if (!words.empty()) out += "complete -c agentd -n " + fish_condition(command) + " -a " + fish_words(words) + "\n";
  }
  return out;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  return shell == "zsh" ? zsh_script() : fish_script();
}

}  // namespace agentd::app
