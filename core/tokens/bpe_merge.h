// SPDX-License-Identifier: Apache-2.0
#pragma once
// bpe_merge.h - the tokens of one piece that is not a token itself.
//
// Byte-pair encoding merges the pair of the lowest rank until there is none. The result is the only sequence of tokens
// in which no two neighbours, taken alone, would merge differently. So it is found from left to right: the longest
// token that fits, a shorter one if it would merge with the token before, one step back if none does not. A dead end is
// never tried again, so that the time is linear for any piece.
//
// Threading: functions over constant data; a PieceStack is thread-compatible.

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "core/tokens/bpe_tables.h"

namespace agentd {

// The tokens found so far and the dead ends. Short pieces use its arrays; the first long piece allocates memory, which
// later ones reuse.
class PieceStack {
 public:
  // Prepares for a piece of that many bytes, with every place open.
  void reset(std::size_t bytes);

  std::span<const TokenId> tokens() const { return {tokens_, size_}; }
  bool empty() const { return size_ == 0; }
  TokenId top() const { return tokens_[size_ - 1]; }
  void push(TokenId token) { tokens_[size_++] = token; }
  void pop() { --size_; }
  bool open(std::size_t place) const { return (dead_[place / 64] >> place % 64 & 1) == 0; }
  void close(std::size_t place) { dead_[place / 64] |= std::uint64_t{1} << place % 64; }

 private:
  static constexpr std::size_t kShort = 255;

  std::array<TokenId, kShort + 1> short_tokens_;
  std::array<std::uint64_t, (kShort + 1) / 64> short_dead_;
  std::unique_ptr<TokenId[]> long_tokens_;
  std::unique_ptr<std::uint64_t[]> long_dead_;
  std::size_t long_bytes_ = 0;
  TokenId* tokens_ = nullptr;
  std::uint64_t* dead_ = nullptr;
  std::size_t size_ = 0;
};

// Leaves the tokens of [begin, end) in the stack. `first` is the longest token at its start.
void merge_piece(const BpeTables& tables, const unsigned char* begin, const unsigned char* end, BpeTables::Match first,
                 PieceStack& stack);

}  // namespace agentd
