// SPDX-License-Identifier: Apache-2.0
#pragma once
// neutral.h - text of models, tools and hooks made harmless for terminals, and for files that are read on one.
//
// Threading: pure functions; Neutralizer is thread-compatible.

#include <cstddef>
#include <string>
#include <string_view>

namespace agentd {

// Makes text of models, tools and hooks harmless: control characters (C0, DEL, C1) and characters
// that turn the direction of writing appear as \xNN or \u{NNNN}. Newlines and tabs stay. Bytes may
// come in any pieces.
class Neutralizer {
 public:
  std::string feed(std::string_view bytes);
  // What is left of an unfinished character.
  std::string finish();

 private:
  std::string rest_;
};
std::string neutral(std::string_view text);
// Stricter, for what a person decides about: all that a terminal does not show as what it is, such
// as characters of no width and blanks that are no space, appears as \u{NNNN} as well.
std::string visible(std::string_view text);
// neutral() on one line, cut at `bytes_max` with a mark.
std::string neutral_line(std::string_view text, std::size_t bytes_max);

}  // namespace agentd
