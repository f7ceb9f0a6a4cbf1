// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/bpe.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/tokens/bpe_merge.h"

// Made by vocabulary/pack.cc, placed by vocabulary/images.cc.in.
extern "C" {
extern const unsigned char agentd_bpe_cl100k_base[];
extern const unsigned char agentd_bpe_o200k_base[];
}

namespace agentd {
namespace {

constexpr std::string_view kSpecialStart = "<|";

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

struct Counter {
  std::uint64_t count = 0;
  void add(TokenId) { ++count; }
  void add(std::span<const TokenId> tokens) { count += tokens.size(); }
};

struct Collector {
  std::vector<TokenId> tokens;
  void add(TokenId token) { tokens.push_back(token); }
  void add(std::span<const TokenId> more) { tokens.insert(tokens.end(), more.begin(), more.end()); }
};

template <BpeSplit kSplit, typename Sink>
void tokenize_pieces(const BpeTables& tables, std::string_view text, Sink& sink) {
  PieceStack stack;
  const unsigned char* const end = bytes_of(text) + text.size();
  for (const unsigned char* at = bytes_of(text); at != end;) {
    const unsigned char* const past = next_piece<kSplit>(at, end);
    const BpeTables::Match match = tables.longest(at, past);
    if (match.length == static_cast<std::size_t>(past - at)) {
      sink.add(match.token);
    } else {
      merge_piece(tables, at, past, match, stack);
      sink.add(stack.tokens());
    }
    at = past;
  }
}

// A token's bytes are those of its two halves.
void append_bytes(const BpeTables& tables, TokenId token, std::string& out) {
  const std::uint64_t word = tables.token(token);
  if (token < BpeTables::kBytes) {
    out.push_back(static_cast<char>(BpeTables::byte_of(word)));
    return;
  }
  append_bytes(tables, BpeTables::left_of(word), out);
  append_bytes(tables, BpeTables::right_of(word), out);
}

}  // namespace

const Bpe::SpecialToken Bpe::kCl100kSpecials[5] = {{"<|endoftext|>", 100'257},
                                                   {"<|fim_prefix|>", 100'258},
                                                   {"<|fim_middle|>", 100'259},
                                                   {"<|fim_suffix|>", 100'260},
                                                   {"<|endofprompt|>", 100'276}};
const Bpe::SpecialToken Bpe::kO200kSpecials[2] = {{"<|endoftext|>", 199'999}, {"<|endofprompt|>", 200'018}};

const Bpe& Bpe::cl100k_base() {
  static const Bpe bpe("cl100k_base", BpeSplit::kCl100k, agentd_bpe_cl100k_base, kCl100kSpecials);
  return bpe;
}

const Bpe& Bpe::o200k_base() {
  static const Bpe bpe("o200k_base", BpeSplit::kO200k, agentd_bpe_o200k_base, kO200kSpecials);
  return bpe;
}

const Bpe* Bpe::find(std::string_view name) {
  if (name == "cl100k_base") return &cl100k_base();
  if (name == "o200k_base") return &o200k_base();
  return nullptr;
}

const Bpe::SpecialToken* Bpe::special_at(std::string_view text) const {
  const auto found = std::find_if(specials_.begin(), specials_.end(),
                                  [&](const SpecialToken& one) { return text.starts_with(one.text); });
  return found == specials_.end() ? nullptr : &*found;
}

template <typename Sink>
void Bpe::tokenize_ordinary(std::string_view text, Sink& sink) const {
  switch (split_) {
    case BpeSplit::kCl100k:
      return tokenize_pieces<BpeSplit::kCl100k>(tables_, text, sink);
    case BpeSplit::kO200k:
      return tokenize_pieces<BpeSplit::kO200k>(tables_, text, sink);
  }
}

template <typename Sink>
void Bpe::tokenize_valid(std::string_view text, Special special, Sink& sink) const {
  std::size_t from = 0;
  if (special == Special::kRecognise) {
    for (std::size_t at = text.find(kSpecialStart); at != std::string_view::npos;) {
      const SpecialToken* const found = special_at(text.substr(at));
      if (found != nullptr) {
        tokenize_ordinary(text.substr(from, at - from), sink);
        sink.add(found->token);
        from = at + found->text.size();
      }
      at = text.find(kSpecialStart, found != nullptr ? from : at + 1);
    }
  }
  tokenize_ordinary(text.substr(from), sink);
}

template <typename Sink>
void Bpe::tokenize(std::string_view text, Special special, Sink& sink) const {
  if (is_utf8(text)) return tokenize_valid(text, special, sink);
  tokenize_valid(to_utf8(text), special, sink);
}

std::uint64_t Bpe::count(std::string_view text, Special special) const {
  Counter counter;
  tokenize(text, special, counter);
  return counter.count;
}

std::vector<TokenId> Bpe::encode(std::string_view text, Special special) const {
  Collector collector;
  tokenize(text, special, collector);
  return std::move(collector.tokens);
}

Result<std::string> Bpe::decode(std::span<const TokenId> tokens) const {
  std::string out;
  for (const TokenId token : tokens) {
    const auto special =
        std::find_if(specials_.begin(), specials_.end(), [&](const SpecialToken& one) { return one.token == token; });
    if (token < tables_.size()) {
      append_bytes(tables_, token, out);
    } else if (special != specials_.end()) {
      out.append(special->text);
    } else {
      return Error{Code::kInvalid, "the encoding " + std::string(name_) + " has no token " + std::to_string(token)};
    }
  }
  return out;
}

}  // namespace agentd
