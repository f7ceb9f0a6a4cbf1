// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/bpe_merge.h"

#include <algorithm>

namespace agentd {
namespace {

// True if merging the bytes of both gives these two again. Undoes their last merges, the later one first, and checks
// for a merge across the seam that would have come before the undone one. Of two merges of one rank the left one comes
// first.
bool stay_apart(const BpeTables& tables, TokenId left, TokenId right) {
  TokenId limit = BpeTables::kNone;
  std::uint64_t left_word = tables.token(left), right_word = tables.token(right);
  for (;;) {
    if ((left_word & BpeTables::kEverLeft) != 0 && (right_word & BpeTables::kEverRight) != 0 &&
        tables.merged(left, right) < limit)
      return false;
    if (left > right) {
      if (left < BpeTables::kBytes) return true;
      limit = left;
      left = BpeTables::right_of(left_word);
      left_word = tables.token(left);
    } else {
      if (right < BpeTables::kBytes) return true;
      limit = right + 1;
      right = BpeTables::left_of(right_word);
      right_word = tables.token(right);
    }
  }
}

}  // namespace

void PieceStack::reset(std::size_t bytes) {
  size_ = 0;
  if (bytes <= kShort) {
    tokens_ = short_tokens_.data();
    dead_ = short_dead_.data();
  } else {
    if (bytes > long_bytes_) {
      // Twice the size, so that growing pieces rarely allocate.
      long_bytes_ = std::max(bytes, 2 * long_bytes_);
      long_tokens_.reset(new TokenId[long_bytes_]);
      long_dead_.reset(new std::uint64_t[long_bytes_ / 64 + 1]);
    }
    tokens_ = long_tokens_.get();
    dead_ = long_dead_.get();
  }
  std::fill_n(dead_, bytes / 64 + 1, 0);
}

void merge_piece(const BpeTables& tables, const unsigned char* begin, const unsigned char* end, BpeTables::Match first,
                 PieceStack& stack) {
  stack.reset(static_cast<std::size_t>(end - begin));
  TokenId token = first.token;
  std::size_t length = first.length;
  for (const unsigned char* at = begin;;) {
    const std::size_t past = static_cast<std::size_t>(at - begin) + length;
    if (stack.open(past) && (stack.empty() || stay_apart(tables, stack.top(), token))) {
      stack.push(token);
      at += length;
      if (at == end) return;
      const BpeTables::Match next = tables.longest(at, end);
      token = next.token;
      length = next.length;
    } else if (length > 1) {
      token = BpeTables::prefix_of(tables.token(token));
      length = BpeTables::length_of(tables.token(token));
    } else {
      // No token continues from here: drop the one before and close its end.
      stack.close(static_cast<std::size_t>(at - begin));
      token = stack.top();
      length = BpeTables::length_of(tables.token(token));
      stack.pop();
      at -= length;
    }
  }
}

}  // namespace agentd
