// SPDX-License-Identifier: Apache-2.0
#include "core/base/visible_word.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "core/base/bytes.h"
#include "core/base/code_point.h"
#include "core/base/neutral.h"
#include "core/base/shell_word.h"

namespace agentd {
namespace {

std::string escaped(std::uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  char text[16];
  std::snprintf(text, sizeof text, code < 0x80 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
  return text;
}

}  // namespace

std::string visible_word(std::string_view word) {
  const std::string whole = to_utf8(word);
  if (whole.find_first_of("\n\t") == std::string::npos && visible(whole) == whole) return shell_word(whole);
  std::string out = "$'";
  for (std::size_t at = 0; at < whole.size();) {
    std::size_t end = at + 1;
    while (end < whole.size() && (static_cast<unsigned char>(whole[end]) & 0xC0) == 0x80) ++end;
    const std::string_view character = std::string_view(whole).substr(at, end - at);
    const bool shown = character != "\n" && character != "\t" && visible(character) == character;
    if (character == "'" || character == "\\") out += '\\';
    out += shown ? std::string(character) : escaped(code_point(character));
    at = end;
  }
  return out + "'";
}

}  // namespace agentd
