// SPDX-License-Identifier: Apache-2.0
#pragma once
// pieces.h - joins the pieces of a streamed text into complete characters.
//
// Servers that escape non-ASCII text may split a surrogate pair. Wherever a text is split, the joined output is the
// same.
//
// Threading: thread-compatible.

#include <string>
#include <string_view>

namespace agentd {

class TextPieces {
 public:
  // The next piece, as JsonDocument::parse with Halves::kKeep reads it. The output is valid UTF-8 if the piece is,
  // apart from its halves. Half a pair at the end is kept for the next piece; a half without its other one becomes
  // U+FFFD.
  std::string next(std::string_view piece);
  // Ends the text: U+FFFD for a half without its other one, otherwise empty.
  std::string end();

 private:
  std::string half_;  // three bytes, or empty
};

}  // namespace agentd
