// SPDX-License-Identifier: Apache-2.0
#pragma once
// code_point.h - the number of a character.
//
// Threading: a pure function.

#include <cstdint>
#include <string_view>

namespace agentd {

// `character`: one whole character of valid UTF-8.
inline std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  std::uint32_t out = character.size() == 1 ? first : first & (0xFFu >> (character.size() + 1));
  for (const char c : character.substr(1)) out = out << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  return out;
}

}  // namespace agentd
