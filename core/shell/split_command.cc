// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

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

// Whether shells that inherit this locale read a byte of 0x80 or more as a part of a word, and nothing else.
bool has_plain_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    const std::string_view set = locale.substr(std::min(locale.find('.'), locale.size()));
    return locale == "C" || locale == "POSIX" || set.starts_with(".UTF-8") || set.starts_with(".utf8") ||
           set.starts_with(".utf-8");
  }
  return true;
}

}  // namespace

ShellReading split_command(std::string_view text) {
  shell::Reading reading;
  if (const std::string_view strange = strange_character(text); !strange.empty()) reading.doubt(strange);
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii && !has_plain_locale()) reading.doubt("it has other than ASCII characters, and the locale is not UTF-8");
  shell::read_text(text, reading, 0);
  return reading.take();
}

namespace shell {

void read_text(std::string_view text, Reading& reading, int depth) {
  if (reading.begins(text.size(), depth)) Parser(text, reading, depth).read_all();
}

}  // namespace shell
}  // namespace agentd
