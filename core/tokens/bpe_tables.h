// SPDX-License-Identifier: Apache-2.0
#pragma once
// bpe_tables.h - one vocabulary as read-only tables, laid out by vocabulary/pack.cc at build time.
//
// The tables are used in place in the program's file: nothing is parsed, built or relocated, and a page is read when
// it is first used. An image consists of, in 64-bit words of the machine:
//   header   kHeaderWords: magic, cells, tokens, filter words, pair slots, root cell
//   cells    the trie of all tokens as a double array: a child of base b by byte c is cell b ^ c
//   tokens   per token its last merge, its longest proper prefix, its length, and whether it is a half of any merge
//   filter   a bit for each hash of a pair: most pairs are not merges, and it is small enough for a processor's cache
//   pairs    32-bit slots: a hash table from the two halves of a merge to its token
//
// Threading: immutable.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace agentd {

using TokenId = std::uint32_t;

class BpeTables {
 public:
  static constexpr std::uint64_t kMagic = 0x3145'5042'6461'6761;
  static constexpr std::size_t kHeaderWords = 8;
  static constexpr unsigned kTokenBits = 18;
  static constexpr TokenId kNone = (1U << kTokenBits) - 1;  // not a token
  static constexpr TokenId kBytes = 256;                    // tokens below it are single bytes, not made by a merge
  static constexpr unsigned kMaxTokenLength = 255;

  // A cell: base in 22 bits, the byte that leads here (or kNoLabel) in 9, the token in 18.
  static constexpr unsigned kBaseBits = 22, kLabelBits = 9;
  static constexpr std::uint64_t kNoLabel = 256;
  static constexpr std::uint64_t pack_cell(std::uint64_t base, std::uint64_t label, TokenId token) {
    return base | label << kBaseBits | std::uint64_t{token} << (kBaseBits + kLabelBits);
  }
  // A token: left and right half of its last merge, longest proper prefix, length; the packer adds
  // the two flags. A byte's halves are itself, and its prefix field is the byte.
  static constexpr std::uint64_t kEverLeft = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kEverRight = std::uint64_t{1} << 63;
  static constexpr std::uint64_t pack_token(TokenId left, TokenId right, TokenId prefix, std::uint64_t length) {
    return left | std::uint64_t{right} << kTokenBits | std::uint64_t{prefix} << (2 * kTokenBits) |
           length << (3 * kTokenBits);
  }
  // A pair slot: the token in 18 bits, 14 bits of the hash above it.
  static constexpr std::uint32_t kEmptySlot = 0xFFFF'FFFF;
  static constexpr std::uint64_t pair_hash(TokenId left, TokenId right) {
    const std::uint64_t mixed = (std::uint64_t{left} << kTokenBits | right) * 0x9E37'79B9'7F4A'7C15;
    return mixed ^ mixed >> 29;
  }
  static constexpr std::size_t slot_of(std::uint64_t hash, std::size_t slots) { return (hash >> 32) * slots >> 32; }
  static constexpr std::uint32_t fingerprint_of(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash & 0x3FFF) << kTokenBits;
  }

  explicit BpeTables(const unsigned char* image)
      : cells_(image + kHeaderWords * sizeof(std::uint64_t)),
        tokens_(cells_ + word(image, 1) * sizeof(std::uint64_t)),
        filter_(tokens_ + word(image, 2) * sizeof(std::uint64_t)),
        pairs_(filter_ + word(image, 3) * sizeof(std::uint64_t)),
        token_count_(word(image, 2)),
        filter_bits_(word(image, 3) * 64),
        slot_count_(word(image, 4)),
        root_(word(cells_, word(image, 5))) {}

  std::size_t size() const { return token_count_; }

  // The longest token at the start of [begin, end), which is not empty. Every byte is a token.
  struct Match {
    TokenId token;
    std::size_t length;
  };
  Match longest(const unsigned char* begin, const unsigned char* end) const {
    std::uint64_t cell = root_;
    Match best{kNone, 0};
    for (const unsigned char* at = begin; at != end; ++at) {
      const std::uint64_t child = word(cells_, (cell & kBaseMask) ^ *at);
      if ((child >> kBaseBits & kLabelMask) != *at) break;
      cell = child;
      const auto token = static_cast<TokenId>(cell >> (kBaseBits + kLabelBits));
      if (token != kNone) best = {token, static_cast<std::size_t>(at - begin) + 1};
    }
    return best;
  }

  // The token that merging the two makes, or kNone.
  TokenId merged(TokenId left, TokenId right) const {
    const std::uint64_t hash = pair_hash(left, right);
    const std::size_t bit = slot_of(hash, filter_bits_);
    if ((word(filter_, bit / 64) >> bit % 64 & 1) == 0) return kNone;
    for (std::size_t at = slot_of(hash, slot_count_);; at = at + 1 == slot_count_ ? 0 : at + 1) {
      const std::uint32_t slot = half_word(at);
      if (slot == kEmptySlot) return kNone;
      const TokenId made = slot & kNone;
      if ((slot ^ fingerprint_of(hash)) == made && left_of(token(made)) == left && right_of(token(made)) == right)
        return made;
    }
  }

  // A token's word, and its fields.
  std::uint64_t token(TokenId token) const { return word(tokens_, token); }
  static TokenId left_of(std::uint64_t token) { return static_cast<TokenId>(token) & kNone; }
  static TokenId right_of(std::uint64_t token) { return field(token, 1); }
  static TokenId prefix_of(std::uint64_t token) { return field(token, 2); }
  static std::size_t length_of(std::uint64_t token) { return token >> (3 * kTokenBits) & kMaxTokenLength; }
  // For a token below kBytes.
  static unsigned char byte_of(std::uint64_t token) { return static_cast<unsigned char>(field(token, 2)); }

 private:
  static constexpr std::uint64_t kBaseMask = (1U << kBaseBits) - 1;
  static constexpr std::uint64_t kLabelMask = (1U << kLabelBits) - 1;

  static std::uint64_t word(const unsigned char* words, std::size_t at) {
    std::uint64_t value;
    std::memcpy(&value, words + at * sizeof value, sizeof value);
    return value;
  }
  std::uint32_t half_word(std::size_t at) const {
    std::uint32_t value;
    std::memcpy(&value, pairs_ + at * sizeof value, sizeof value);
    return value;
  }
  static TokenId field(std::uint64_t token, unsigned which) {
    return static_cast<TokenId>(token >> (which * kTokenBits)) & kNone;
  }

  const unsigned char* cells_;
  const unsigned char* tokens_;
  const unsigned char* filter_;
  const unsigned char* pairs_;
  std::size_t token_count_, filter_bits_, slot_count_;
  std::uint64_t root_;
};

}  // namespace agentd
