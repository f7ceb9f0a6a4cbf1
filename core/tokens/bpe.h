// SPDX-License-Identifier: Apache-2.0
#pragma once
// bpe.h - counts and makes the tokens of the byte-pair encodings cl100k_base and o200k_base,
// exactly as the models that use them do.
//
// The vocabularies are tables in the program's file (bpe_tables.h): one that is not used costs
// nothing, one that is used is ready at once.
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
  // What "<|endoftext|>" and the encoding's other special tokens are in a text: ordinary text, or
  // one token each.
  enum class Special { kAsText, kRecognise };

  static const Bpe& cl100k_base();
  static const Bpe& o200k_base();
  // By name(); null for an unknown name.
  static const Bpe* find(std::string_view name);

  std::string_view name() const { return name_; }

  // encode().size(), without making the tokens. Any bytes: every ill-formed part of UTF-8 counts as
  // the U+FFFD that a model would get for it. Time is linear in the text, whatever it is; memory is
  // taken once for a text with a piece over 255 bytes, and once for ill-formed text.
  std::uint64_t count(std::string_view text, Special special = Special::kAsText) const;
  std::vector<TokenId> encode(std::string_view text, Special special = Special::kAsText) const;
  // The bytes of the tokens, which may end within a character. kInvalid names a token that the
  // encoding does not have.
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
  // The special token that starts the text; null if there is none.
  const SpecialToken* special_at(std::string_view text) const;

  std::string_view name_;
  BpeSplit split_;
  BpeTables tables_;
  std::span<const SpecialToken> specials_;
};

// Counts rows by an exact encoding. Adds what SimpleEstimator adds: 4 for every message, 1,600 for
// every image.
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
