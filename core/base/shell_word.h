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
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./~+:@,";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace agentd
