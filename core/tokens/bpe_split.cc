// SPDX-License-Identifier: Apache-2.0
// The patterns, in the order of their alternatives (W = \p{L}, U and L below = upper or lower case
// and what has no case):
//   cl100k  (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+ | \p{N}{1,3}
//           | ?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
//   o200k   [^\r\n\p{L}\p{N}]?U*L+(?i:'s|…)? | [^\r\n\p{L}\p{N}]?U+L*(?i:'s|…)? | \p{N}{1,3}
//           | ?[^\s\p{L}\p{N}]+[\r\n/]* | the three for white space as above
//           with U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L = [\p{Ll}\p{Lm}\p{Lo}\p{M}]
#include "core/tokens/bpe_split.h"

#include <array>

#include "core/tokens/bpe_classes.h"

namespace agentd {
namespace {

using Mask = unsigned;
constexpr Mask bit(CharClass of) { return 1U << static_cast<unsigned>(of); }
constexpr Mask kNewline = bit(CharClass::kNewline);
constexpr Mask kNumber = bit(CharClass::kNumber);
constexpr Mask kMark = bit(CharClass::kMark);
constexpr Mask kSpace = bit(CharClass::kSpace) | kNewline;
constexpr Mask kLower = bit(CharClass::kLower);
constexpr Mask kCaseless = bit(CharClass::kLetter) | kMark;
constexpr Mask kLetter = bit(CharClass::kUpper) | kLower | bit(CharClass::kLetter);
constexpr Mask kUpperRun = bit(CharClass::kUpper) | kCaseless;
constexpr Mask kLowerRun = kLower | kCaseless;
constexpr Mask kWordPrefix = ~(kNewline | kLetter | kNumber);
constexpr Mask kPunctuation = ~(kSpace | kLetter | kNumber);

constexpr CharClass ascii_class(unsigned char c) {
  if (c >= 'A' && c <= 'Z') return CharClass::kUpper;
  if (c >= 'a' && c <= 'z') return CharClass::kLower;
  if (c >= '0' && c <= '9') return CharClass::kNumber;
  if (c == '\r' || c == '\n') return CharClass::kNewline;
  if (c == ' ' || c == '\t' || c == '\v' || c == '\f') return CharClass::kSpace;
  return CharClass::kOther;
}

constexpr auto kAscii = [] {
  std::array<std::uint8_t, 128> masks{};
  for (unsigned char c = 0; c < 128; ++c) masks[c] = static_cast<std::uint8_t>(bit(ascii_class(c)));
  return masks;
}();

struct Char {
  Mask mask;
  unsigned length;
};

Char wide_char(const unsigned char* at) {
  const auto low = [at](unsigned i) { return static_cast<char32_t>(at[i] & 0x3F); };
  const char32_t lead = at[0];
  if (lead < 0xE0) return {bit(class_of((lead & 0x1F) << 6 | low(1))), 2};
  if (lead < 0xF0) return {bit(class_of((lead & 0x0F) << 12 | low(1) << 6 | low(2))), 3};
  return {bit(class_of((lead & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3))), 4};
}

inline Char char_at(const unsigned char* at) {
  if (*at < 0x80) return {kAscii[*at], 1};
  return wide_char(at);
}

// Skips the characters of the mask.
template <Mask kOf>
const unsigned char* skip(const unsigned char* at, const unsigned char* end) {
  while (at != end) {
    const Char next = char_at(at);
    if ((next.mask & kOf) == 0) break;
    at += next.length;
  }
  return at;
}

// Length of (?i:'s|'t|'re|'ve|'m|'ll|'d) at an apostrophe; 0 = none. The long s, U+017F, folds to s.
unsigned contraction(const unsigned char* at, const unsigned char* end) {
  if (end - at < 2) return 0;
  const unsigned first = at[1] | 0x20U;
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (end - at < 3) return 0;
  if (at[1] == 0xC5 && at[2] == 0xBF) return 3;
  const unsigned second = at[2] | 0x20U;
  const bool pair = first == 'l' ? second == 'l' : (first == 'r' || first == 'v') && second == 'e';
  return pair ? 3 : 0;
}

const unsigned char* after_number(const unsigned char* at, const unsigned char* end) {
  for (int digits = 0; digits < 3 && at != end; ++digits) {
    const Char next = char_at(at);
    if ((next.mask & kNumber) == 0) break;
    at += next.length;
  }
  return at;
}

// ` ?[^\s\p{L}\p{N}]+` and the newlines (o200k: and slashes) after it; null if there is none.
template <BpeSplit kSplit>
const unsigned char* after_punctuation(const unsigned char* at, const unsigned char* end) {
  const unsigned char* const from = *at == ' ' ? at + 1 : at;
  const unsigned char* past = skip<kPunctuation>(from, end);
  if (past == from) return nullptr;
  while (past != end && (*past == '\r' || *past == '\n' || (kSplit == BpeSplit::kO200k && *past == '/'))) ++past;
  return past;
}

// A run of white space: up to its last newline; without one all of it, except the last character when a word may take
// that as its prefix.
const unsigned char* after_space(const unsigned char* at, const unsigned char* end) {
  const unsigned char* newline = nullptr;
  const unsigned char* last = at;
  const unsigned char* past = at;
  while (past != end) {
    const Char next = char_at(past);
    if ((next.mask & kSpace) == 0) break;
    last = past;
    past += next.length;
    if ((next.mask & kNewline) != 0) newline = past;
  }
  if (newline != nullptr) return newline;
  return past == end || last == at ? past : last;
}

const unsigned char* after_contraction(const unsigned char* at, const unsigned char* end) {
  return at != end && *at == '\'' ? at + contraction(at, end) : at;
}

// U*L+ and U+L* at one place. Greedy U* gives back characters until L+ has one.
struct CasedWord {
  const unsigned char* lower;  // end of U*L+; null = no match
  const unsigned char* upper;  // end of U+L* where U*L+ has no match; null likewise
};
CasedWord cased_word(const unsigned char* at, const unsigned char* end) {
  const unsigned char* caseless = nullptr;  // past the last character that is in L too
  const unsigned char* past = at;
  while (past != end) {
    const Char next = char_at(past);
    if ((next.mask & kUpperRun) == 0) {
      if ((next.mask & kLower) != 0) return {skip<kLowerRun>(past + next.length, end), nullptr};
      break;
    }
    past += next.length;
    if ((next.mask & kCaseless) != 0) caseless = past;
  }
  return {caseless, past == at ? nullptr : past};
}

// The two alternatives for words: first U*L+ with and without the prefix, then U+L* likewise.
const unsigned char* after_cased_word(const unsigned char* at, Char first, const unsigned char* end) {
  if ((first.mask & kLetter) != 0) {
    const CasedWord word = cased_word(at, end);
    return word.lower != nullptr ? word.lower : word.upper;
  }
  const CasedWord word = cased_word(at + first.length, end);
  if (word.lower != nullptr) return word.lower;
  // A mark is a prefix, and also a word of its own.
  if ((first.mask & kMark) != 0) return at + first.length;
  return word.upper;
}

// Null if no word starts here.
template <BpeSplit kSplit>
const unsigned char* after_word(const unsigned char* at, Char first, const unsigned char* end) {
  if constexpr (kSplit == BpeSplit::kO200k) {
    const unsigned char* const past = after_cased_word(at, first, end);
    return past == nullptr ? nullptr : after_contraction(past, end);
  } else {
    const unsigned char* const from = at + first.length;
    const unsigned char* const past = skip<kLetter>(from, end);
    return past != from || (first.mask & kLetter) != 0 ? past : nullptr;
  }
}

}  // namespace

template <BpeSplit kSplit>
const unsigned char* next_piece(const unsigned char* at, const unsigned char* end) {
  if (kSplit == BpeSplit::kCl100k && *at == '\'')
    if (const unsigned length = contraction(at, end); length != 0) return at + length;
  const Char first = char_at(at);
  if ((first.mask & (kWordPrefix | kLetter)) != 0)
    if (const auto* const past = after_word<kSplit>(at, first, end); past != nullptr) return past;
  if ((first.mask & kNumber) != 0) return after_number(at, end);
  if (const auto* const past = after_punctuation<kSplit>(at, end); past != nullptr) return past;
  return after_space(at, end);
}

template const unsigned char* next_piece<BpeSplit::kCl100k>(const unsigned char* at, const unsigned char* end);
template const unsigned char* next_piece<BpeSplit::kO200k>(const unsigned char* at, const unsigned char* end);

}  // namespace agentd
