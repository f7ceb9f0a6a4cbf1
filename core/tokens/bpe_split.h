// SPDX-License-Identifier: Apache-2.0
#pragma once
// bpe_split.h - cuts a text into the pieces that an encoding tokenizes one by one.
//
// Hand-written scanners for the two split patterns, because a regular expression engine would cost more than everything
// else. They match as a backtracking engine does, in time linear in the text.
//
// Threading: pure functions.

#include <cstdint>

namespace agentd {

enum class BpeSplit : std::uint8_t { kCl100k, kO200k };

// The end of the piece that starts at `at`; at < end, and the bytes between are valid UTF-8.
template <BpeSplit kSplit>
const unsigned char* next_piece(const unsigned char* at, const unsigned char* end);

extern template const unsigned char* next_piece<BpeSplit::kCl100k>(const unsigned char* at, const unsigned char* end);
extern template const unsigned char* next_piece<BpeSplit::kO200k>(const unsigned char* at, const unsigned char* end);

}  // namespace agentd
