// SPDX-License-Identifier: Apache-2.0
#pragma once
// bpe_classes.h - the character classes that the split patterns of the encodings name.
//
// Unicode 16.0 and \s as Rust's regular expressions define them (U+0085 is white space, U+FEFF is not): a class that
// differs from the reference in one code point miscounts some text.
//
// Threading: pure functions over constant data.

#include <array>
#include <cstddef>
#include <cstdint>

namespace agentd {

enum class CharClass : std::uint8_t {
  kOther,
  kUpper,    // Lu, Lt
  kLower,    // Ll
  kLetter,   // Lm, Lo: letters without case
  kMark,     // M
  kNumber,   // N
  kSpace,    // \s without the two newlines
  kNewline,  // CR, LF
};

constexpr std::size_t kClassIndexSize = 7'173;
constexpr std::size_t kClassPageCount = 230;
constexpr std::size_t kWordsPerClassPage = 8;
extern const std::array<std::uint8_t, kClassIndexSize> kClassIndex;
extern const std::array<std::uint64_t, kClassPageCount * kWordsPerClassPage> kClassPages;

// `code` is any Unicode scalar value.
inline CharClass class_of(char32_t code) {
  const std::size_t page = code / 128 < kClassIndexSize ? code / 128 : kClassIndexSize - 1;
  const std::size_t word = kClassIndex[page] * kWordsPerClassPage + code % 128 / 16;
  return static_cast<CharClass>(kClassPages[word] >> (code % 16 * 4) & 0xF);
}

}  // namespace agentd
