// SPDX-License-Identifier: Apache-2.0
#pragma once
// shell_word.h - a name in a command that somebody may copy into a shell.
//
// Threading: a pure function.

#include <string>
#include <string_view>

namespace agentd {

// The word as a shell reads it: plain ones as they are, others in single quotes.
inline std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./~+:@,";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A command in a sentence: "'agentd hooks untrust lint'". Where the word has quotes of its own there
// are none around the command, since a shell that gets both would read the word bare.
inline std::string shell_command(std::string_view command, std::string_view word) {
  const std::string quoted = shell_word(word);
  const std::string all = std::string(command) + " " + quoted;
  return quoted == word ? "'" + all + "'" : all;
}

}  // namespace agentd
