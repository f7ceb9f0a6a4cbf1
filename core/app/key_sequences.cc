// SPDX-License-Identifier: Apache-2.0
#include "core/app/key_sequences.h"

#include <algorithm>
#include <iterator>

namespace agentd::app {
namespace {

constexpr char kEscape = '\x1b';

// Arrows, Home, End, Delete, and the arrows with Ctrl, as the terminals have them.
constexpr std::string_view kKnown[] = {"[A", "[B", "[C",  "[D",  "[H",  "[F",  "OA",  "OB",    "OC",   "OD",
                                       "OH", "OF", "[1~", "[3~", "[4~", "[7~", "[8~", "[1;5C", "[1;5D"};

bool lies_in(char c, char first, char last) { return c >= first && c <= last; }

// The length of a sequence that begins with the two bytes of its kind; 0 = its end is missing.
// "ESC [", as ECMA-48 says: parameters, intermediate bytes, a final one. What cannot be a part of
// it ends it.
std::size_t control_length(std::string_view text) {
  if (text.size() > 2 && text[2] == '[') return text.size() > 3 ? 4 : 0;  // F1 of Linux' console
  if (text.size() > 2 && text[2] == 'M') return text.size() > 5 ? 6 : 0;  // the mouse of old xterms
  std::size_t at = 2;
  while (at < text.size() && lies_in(text[at], '0', '?')) ++at;
  while (at < text.size() && lies_in(text[at], ' ', '/')) ++at;
  if (at == text.size()) return 0;
  return lies_in(text[at], '@', '~') ? at + 1 : at;
}

std::size_t single_shift_length(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end == std::string_view::npos ? 0 : end + 1;
}

// "ESC ]" and its like: a text up to BEL or "ESC \".
std::size_t string_length(std::string_view text) {
  const std::size_t bell = text.find('\a'), end = text.find("\x1b\\", 2);
  if (bell == std::string_view::npos && end == std::string_view::npos) return 0;
  return bell < end ? bell + 1 : end + 2;
}

}  // namespace

std::string known_keys(std::string_view typed, std::string& rest) {
  std::string out;
  while (!typed.empty()) {
    const std::size_t plain = std::min(typed.find(kEscape), typed.size());
    out += typed.substr(0, plain);
    typed.remove_prefix(plain);
    if (typed.empty()) break;
    // Some terminals send Alt as one more escape character.
    const bool twice = typed.size() > 2 && typed[1] == kEscape && (typed[2] == '[' || typed[2] == 'O');
    const std::string_view text = typed.substr(twice ? 1 : 0);
    const char kind = text.size() > 1 ? text[1] : '\0';
    std::size_t length = 2;
    const bool may_be_twice = typed.size() == 2 && typed[1] == kEscape;
    if (text.size() == 1 || may_be_twice) {
      length = 0;
    } else if (kind == '[') {
      length = control_length(text);
    } else if (kind == 'O') {
      length = single_shift_length(text);
    } else if (std::string_view("]P^_X").find(kind) != std::string_view::npos) {
      length = string_length(text);
      // Alt with that key, since a terminal sends such a text in one piece.
      if (length == 0) length = 2;
    }
    if (length == 0) {
      rest = typed;
      break;
    }
    const std::string_view sequence = text.substr(1, length - 1);
    const bool known = std::find(std::begin(kKnown), std::end(kKnown), sequence) != std::end(kKnown);
    if (length == 2 || (known && !twice)) out += text.substr(0, length);
    typed = text.substr(length);
  }
  return out;
}

}  // namespace agentd::app
