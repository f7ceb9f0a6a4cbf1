// SPDX-License-Identifier: Apache-2.0
#pragma once
// shell_word.h - quotes a name in a command that a user may copy into a shell.
//
// Threading: a pure function.

#include <string>
#include <string_view>

namespace agentd {

// The word as a shell reads it: unchanged when it is plain, in single quotes otherwise.
inline std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./~+:@,";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A command in a sentence: "'agentd hooks untrust lint'". A command whose word needs quotes gets none around it, since
// a shell that reads both would see the word without its quotes.
inline std::string shell_command(std::string_view command, std::string_view word) {
  const std::string quoted = shell_word(word);
  const std::string all = std::string(command) + " " + quoted;
  return quoted == word ? "'" + all + "'" : all;
}

}  // namespace agentd
