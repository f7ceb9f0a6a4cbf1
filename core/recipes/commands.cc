// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/commands.h"

#include <fnmatch.h>

#include <algorithm>

#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::size_t kShownBytes = 200;

std::string listed_patterns(const std::vector<std::string>& patterns) {
  std::string out;
  for (const std::string& pattern : patterns) out += (out.empty() ? "" : ", ") + pattern;
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// $NAME is only a word; $( ${ $[ run or compute, $' and $" quote by rules of their own.
bool is_substitution(std::string_view command, std::size_t at) {
  if (command[at] == '`') return true;
  return command[at] == '$' && at + 1 < command.size() &&
         std::string_view("({['\"").find(command[at + 1]) != std::string_view::npos;
}

}  // namespace

std::string why_not_simple(std::string_view command) {
  char quote = '\0';
  bool begins_word = true;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const bool first = begins_word;
    begins_word = false;
    if (c == '\0') return "it contains a zero byte";
    if (quote == '\'') {
      if (c == '\'') quote = '\0';
      continue;
    }
    // Inside double quotes a $ before the closing quote is literal.
    const bool closes =
        quote == '"' && c == '$' && i + 1 < command.size() && (command[i + 1] == '"' || command[i + 1] == '\'');
    if (is_substitution(command, i) && !closes) return "it has a substitution";
    if (c == '\\') {
      ++i;
    } else if (quote == '"') {
      if (c == '"') quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == ' ' || c == '\t') {
      begins_word = true;
    } else if (c == '#' && first) {
      return "it has a comment";
    } else if (std::string_view(";&|\n\r").find(c) != std::string_view::npos) {
      return "it is more than one command";
    } else if (std::string_view("<>()").find(c) != std::string_view::npos) {
      return "it has a redirection or a subshell";
    }
  }
  return quote == '\0' ? "" : "a quote is not closed";
}

std::string why_command_refused(const std::vector<std::string>& patterns, std::string_view input_json) {
  const auto input = JsonDocument::parse(input_json);
  if (!input || !input->root()["command"].is_string()) return "its input has no command";
  const std::string command(trimmed(input->root()["command"].string_or({})));
  const std::string allowed =
      patterns.empty() ? "it allows none" : "it allows " + one_line(listed_patterns(patterns), 1000);
  const bool named = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), command.c_str(), 0) == 0;
  });
  if (!named || command.empty())
    return "'" + one_line(command, kShownBytes) + "' is not one of its allowed commands (" + allowed + ")";
  const std::string why = why_not_simple(command);
  return why.empty() ? ""
                     : "'" + one_line(command, kShownBytes) + "' cannot be allowed, because " + why +
                           ": run one plain command at a time";
}

}  // namespace agentd
