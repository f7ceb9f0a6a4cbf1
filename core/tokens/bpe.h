// SPDX-License-Identifier: Apache-2.0
#pragma once
// bpe.h - counts and makes tokens of the byte-pair encodings cl100k_base and o200k_base, exactly as the models do.
//
// The vocabularies are tables in the program's file (bpe_tables.h): an unused one costs nothing, a used one is ready
// immediately.
//
// Threading: immutable, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/tokens/bpe_split.h"
#include "core/tokens/bpe_tables.h"
#include "core/tokens/tokens.h"

namespace agentd {

class Bpe {
 public:
  // How "<|endoftext|>" and the encoding's other special tokens in a text are read: as ordinary text, or as one token
  // each.
  enum class Special { kAsText, kRecognise };

  static const Bpe& cl100k_base();
  static const Bpe& o200k_base();
  // By name(); null for an unknown name.
  static const Bpe* find(std::string_view name);

  std::string_view name() const { return name_; }

  // encode().size(), without making the tokens. Accepts any bytes: every ill-formed part of UTF-8 counts as the U+FFFD
  // that a model would get for it. The time is linear in any text. Memory is allocated once for a text with a piece
  // over 255 bytes, and once for ill-formed text.
  std::uint64_t count(std::string_view text, Special special = Special::kAsText) const;
  std::vector<TokenId> encode(std::string_view text, Special special = Special::kAsText) const;
  // The bytes of the tokens, which may end within a character. kInvalid names an unknown token.
  Result<std::string> decode(std::span<const TokenId> tokens) const;

 private:
  struct SpecialToken {
    std::string_view text;
    TokenId token;
  };

  Bpe(std::string_view name, BpeSplit split, const unsigned char* image, std::span<const SpecialToken> specials)
      : name_(name), split_(split), tables_(image), specials_(specials) {}

  static const SpecialToken kCl100kSpecials[5];
  static const SpecialToken kO200kSpecials[2];

  template <typename Sink>
  void tokenize(std::string_view text, Special special, Sink& sink) const;
  template <typename Sink>
  void tokenize_valid(std::string_view text, Special special, Sink& sink) const;
  template <typename Sink>
  void tokenize_ordinary(std::string_view text, Sink& sink) const;
  // The special token at the start of the text, or null.
  const SpecialToken* special_at(std::string_view text) const;

  std::string_view name_;
  BpeSplit split_;
  BpeTables tables_;
  std::span<const SpecialToken> specials_;
};

// Counts rows by an exact encoding, with SimpleEstimator's overhead: 4 for every message, 1,600 for every image.
class BpeEstimator final : public TokenEstimator {
 public:
  explicit BpeEstimator(const Bpe& bpe) : bpe_(bpe) {}
  std::string_view name() const override { return bpe_.name(); }
  std::uint64_t count_text(std::string_view text) const override { return bpe_.count(text); }
  std::uint64_t count_row(const agentd_message& row) const override;

 private:
  std::uint64_t count_block(const agentd_block& block) const;

  const Bpe& bpe_;
};

}  // namespace agentd
