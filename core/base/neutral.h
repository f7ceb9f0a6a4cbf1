// SPDX-License-Identifier: Apache-2.0
#pragma once
// neutral.h - makes text of models, tools and hooks harmless for terminals, and for files read on one.
//
// Threading: pure functions; Neutralizer is thread-compatible.

#include <cstddef>
#include <string>
#include <string_view>

namespace agentd {

// Escapes control characters (C0, DEL, C1) and characters that show nothing and that prose of no language needs, among
// them those that change the direction of writing, tags and fillers, as \xNN or \u{NNNN}. Newlines and tabs stay. For
// what a person decides about there is visible(). Bytes may come in any pieces.
class Neutralizer {
 public:
  std::string feed(std::string_view bytes);
  // The rest of an unfinished character.
  std::string finish();

 private:
  std::string rest_;
};
std::string neutral(std::string_view text);
// Stricter, for what a person decides about: everything that a terminal does not show as itself, such as characters of
// no width, variation selectors and unusual blanks, is escaped as \u{NNNN} as well.
std::string visible(std::string_view text);
// neutral() on one line, cut at `bytes_max` with a mark.
std::string neutral_line(std::string_view text, std::size_t bytes_max);

}  // namespace agentd
