// SPDX-License-Identifier: Apache-2.0
#pragma once
// pieces.h - a text that a stream brings in pieces, as whole characters.
//
// Servers that escape what is not ASCII may cut between the two halves of a surrogate pair. Wherever a
// text is cut, what comes out put together is the same.
//
// Threading: thread-compatible.

#include <string>
#include <string_view>

namespace agentd {

class TextPieces {
 public:
  // The next piece, as JsonDocument::parse with Halves::kKeep reads it; what came out is valid UTF-8 if
  // the piece is, but for its halves. Half a pair at the end is kept for the next piece; one that no
  // other half follows is U+FFFD.
  std::string next(std::string_view piece);
  // The text is over: U+FFFD for a half whose other one never came, else nothing.
  std::string end();

 private:
  std::string half_;  // three bytes, or none
};

}  // namespace agentd
