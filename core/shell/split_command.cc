// SPDX-License-Identifier: Apache-2.0
#include "core/shell/parser.h"

namespace agentd {
namespace {

// Characters that shells, terminals or people take for something else.
std::string_view strange_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f) return "it has a control character";
    if (c < 0x80) continue;
    const std::string_view rest = text.substr(i);
    for (const std::string_view blank : {"\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe3\x80\x80", "\xef\xbb\xbf"})
      if (rest.starts_with(blank)) return "it has an unusual blank";
    // U+2000 to U+206F: spaces, line ends, marks of direction, invisible characters; but for dashes, quotation marks
    // and dots.
    if (rest.size() < 3 || c != 0xe2) continue;
    const auto second = static_cast<unsigned char>(rest[1]), third = static_cast<unsigned char>(rest[2]);
    if ((second == 0x80 && (third <= 0x8f || third >= 0xa8) && !(third >= 0xb0 && third <= 0xbe)) || second == 0x81)
      return "it has an unusual blank or an invisible character";
  }
  return {};
}

}  // namespace

ShellReading split_command(std::string_view text) {
  shell::Reading reading;
  if (const std::string_view strange = strange_character(text); !strange.empty()) reading.doubt(strange);
  shell::read_text(text, reading, 0);
  return reading.take();
}

namespace shell {

void read_text(std::string_view text, Reading& reading, int depth) {
  if (reading.begins(text.size(), depth)) Parser(text, reading, depth).read_all();
}

}  // namespace shell
}  // namespace agentd
