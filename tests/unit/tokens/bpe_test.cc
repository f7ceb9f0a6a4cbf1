// SPDX-License-Identifier: Apache-2.0
#include "core/tokens/bpe.h"

#include <gtest/gtest.h>

#include <array>
#include <charconv>
#include <fstream>
#include <functional>
#include <random>
#include <thread>
#include <unordered_map>

#include "core/base/bytes.h"
#include "core/conversation/rows.h"

namespace agentd {
namespace {

constexpr std::size_t kMegabyte = 1U << 20;

std::array<const Bpe*, 2> both() { return {&Bpe::cl100k_base(), &Bpe::o200k_base()}; }

// A line of bpe_golden.txt: the bytes, and the reference's tokens.
struct Golden {
  std::string bytes;
  struct {
    std::vector<TokenId> plain, special;
  } by[2];
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back().push_back(c);
  return parts;
}

std::vector<TokenId> tokens_in(const std::string& list) {
  std::vector<TokenId> tokens;
  if (list.empty()) return tokens;
  for (const std::string& each : split(list, ',')) tokens.push_back(static_cast<TokenId>(std::stoul(each)));
  return tokens;
}

std::string from_hex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(&digits[i], &digits[i] + 2, value, 16);
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

std::vector<Golden> read_golden() {
  std::ifstream in(AGENTD_BPE_GOLDEN);
  std::vector<Golden> all;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() != 5) return {};
    Golden one{from_hex(fields[0]), {}};
    for (std::size_t i = 0; i < 2; ++i) one.by[i] = {tokens_in(fields[1 + 2 * i]), tokens_in(fields[2 + 2 * i])};
    all.push_back(std::move(one));
  }
  return all;
}

// Byte-pair encoding by its definition: of all neighbouring pairs that form a token, the one of the lowest rank is
// merged, the leftmost first, until there is none.
class Naive {
 public:
  explicit Naive(const Bpe& bpe) {
    for (TokenId token = 0;; ++token) {
      const auto bytes = bpe.decode(std::array{token});
      if (!bytes) break;
      ranks_.emplace(*bytes, token);
    }
  }
  std::size_t size() const { return ranks_.size(); }

  std::vector<TokenId> encode(const std::string& piece) const {
    if (const auto whole = ranks_.find(piece); whole != ranks_.end()) return {whole->second};
    std::vector<std::string> parts;
    for (const char c : piece) parts.emplace_back(1, c);
    while (merge_one(parts)) {
    }
    std::vector<TokenId> tokens;
    for (const std::string& part : parts) tokens.push_back(ranks_.at(part));
    return tokens;
  }

 private:
  bool merge_one(std::vector<std::string>& parts) const {
    TokenId least = BpeTables::kNone;
    std::size_t where = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks_.find(parts[i] + parts[i + 1]);
      if (found != ranks_.end() && found->second < least) least = found->second, where = i;
    }
    if (least == BpeTables::kNone) return false;
    parts[where] += parts[where + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(where) + 1);
    return true;
  }

  std::unordered_map<std::string, TokenId> ranks_;
};

std::string utf8_of(char32_t code) {
  const auto byte = [](char32_t value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000) return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)), byte(0x80 | (code >> 6 & 0x3F)),
          byte(0x80 | (code & 0x3F))};
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  char32_t within(char32_t from, char32_t to) {
    return std::uniform_int_distribution<std::uint32_t>(from, to)(engine_);
  }
  // Valid UTF-8 of runs of a few alphabets.
  std::string text(std::size_t runs) {
    constexpr std::array<std::array<char32_t, 2>, 12> kAlphabets{{{0, 127},
                                                                  {'a', 'z'},
                                                                  {'A', 'z'},
                                                                  {' ', ' '},
                                                                  {'\t', '\r'},
                                                                  {'!', '9'},
                                                                  {0x80, 0x24F},
                                                                  {0x300, 0x3FF},
                                                                  {0x600, 0xDFF},
                                                                  {0x2000, 0x30FF},
                                                                  {0x4E00, 0xD7FF},
                                                                  {0xE000, 0x10FFFF}}};
    std::string out;
    for (std::size_t run = 0; run < runs; ++run) {
      const auto& [from, to] = kAlphabets[within(0, kAlphabets.size() - 1)];
      for (char32_t left = within(1, 8); left > 0; --left) out += utf8_of(within(from, to));
    }
    return out;
  }

 private:
  std::mt19937 engine_;
};

void expect_round_trip(const Bpe& bpe, const std::string& text) {
  const std::vector<TokenId> tokens = bpe.encode(text);
  EXPECT_EQ(bpe.count(text), tokens.size()) << bpe.name() << ": " << text.substr(0, 200);
  const auto back = bpe.decode(tokens);
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == text) << bpe.name() << ": " << text.substr(0, 200);
}

// The pieces of a text with '|' between them.
template <BpeSplit kSplit>
std::string pieces(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = at + text.size();
  std::string out;
  while (at != end) {
    const auto* const past = next_piece<kSplit>(at, end);
    out.append(out.empty() ? "" : "|").append(at, past);
    at = past;
  }
  return out;
}

// Tokens rarely show where a piece ended, since few merges cross an ambiguous place.
TEST(BpeSplit, PiecesOfCl100kAreThoseOfItsPattern) {
  const auto of = pieces<BpeSplit::kCl100k>;
  EXPECT_EQ(of("x'\u017Fabc"), "x|'\u017F|abc");
  EXPECT_EQ(of("IT'LLgo"), "IT|'LL|go");
  EXPECT_EQ(of("\u0301AB"), "\u0301AB");
  EXPECT_EQ(of("\u0301\n"), "\u0301\n");
  EXPECT_EQ(of("!\u0301\u0301AB"), "!\u0301\u0301|AB");
  EXPECT_EQ(of("HTTPServer's"), "HTTPServer|'s");
  EXPECT_EQ(of("12345a"), "123|45|a");
  EXPECT_EQ(of(" !!\n\n//\nx"), " !!\n\n|//\n|x");
  EXPECT_EQ(of("a  \n  b   c "), "a|  \n| | b|  | c| ");
}

TEST(BpeSplit, PiecesOfO200kAreThoseOfItsPattern) {
  const auto of = pieces<BpeSplit::kO200k>;
  EXPECT_EQ(of("x'\u017Fabc"), "x'\u017F|abc");
  EXPECT_EQ(of("IT'LLgo"), "IT'LL|go");
  EXPECT_EQ(of("\u0301AB"), "\u0301|AB");
  EXPECT_EQ(of("\u0301\n"), "\u0301|\n");
  EXPECT_EQ(of("!\u0301\u0301AB"), "!\u0301\u0301|AB");
  EXPECT_EQ(of("AB\u00AACDe"), "AB\u00AACDe");
  EXPECT_EQ(of("AB\u00AACD"), "AB\u00AA|CD");
  EXPECT_EQ(of("HTTPServer's"), "HTTPServer's");
  EXPECT_EQ(of(" !!\n\n//\nx"), " !!\n\n//\n|x");
  EXPECT_EQ(of("a  \n  b   c "), "a|  \n| | b|  | c| ");
}

TEST(BpeSplit, OnlyTheWhiteSpaceOfTheReferenceIsWhiteSpace) {
  const auto of = pieces<BpeSplit::kO200k>;
  EXPECT_EQ(of("!\u0085\u0085!"), "!|\u0085|\u0085|!");
  EXPECT_EQ(of("!\uFEFF\uFEFF!"), "!\uFEFF\uFEFF!");
}

TEST(Bpe, TokensAreThoseOfTheReference) {
  const std::vector<Golden> all = read_golden();
  ASSERT_GT(all.size(), 150u);
  for (const Golden& one : all)
    for (std::size_t i = 0; i < 2; ++i) {
      const Bpe& bpe = *both()[i];
      EXPECT_EQ(bpe.encode(one.bytes), one.by[i].plain) << bpe.name() << ": " << one.bytes;
      EXPECT_EQ(bpe.count(one.bytes), one.by[i].plain.size()) << bpe.name() << ": " << one.bytes;
    }
}

TEST(Bpe, SpecialTokensAreThoseOfTheReferenceWhenRecognised) {
  std::size_t differ = 0;
  for (const Golden& one : read_golden())
    for (std::size_t i = 0; i < 2; ++i) {
      const Bpe& bpe = *both()[i];
      EXPECT_EQ(bpe.encode(one.bytes, Bpe::Special::kRecognise), one.by[i].special) << one.bytes;
      EXPECT_EQ(bpe.count(one.bytes, Bpe::Special::kRecognise), one.by[i].special.size());
      differ += one.by[i].special != one.by[i].plain;
    }
  EXPECT_GT(differ, 10u);
}

TEST(Bpe, GoldenTokensDecodeToTheText) {
  for (const Golden& one : read_golden())
    for (std::size_t i = 0; i < 2; ++i) {
      const auto text = both()[i]->decode(one.by[i].special);
      ASSERT_TRUE(text);
      EXPECT_EQ(*text, to_utf8(one.bytes));
    }
}

TEST(Bpe, EachEncodingIsFoundByItsName) {
  for (const Bpe* bpe : both()) EXPECT_EQ(Bpe::find(bpe->name()), bpe);
  EXPECT_NE(Bpe::find("cl100k_base"), Bpe::find("o200k_base"));
}

TEST(Bpe, AnUnknownNameFindsNothing) {
  for (const char* name : {"", "bpe", "CL100K_BASE", "o200k", "p50k_base"}) EXPECT_EQ(Bpe::find(name), nullptr) << name;
}

TEST(Bpe, AnUnknownTokenIsNamedByTheError) {
  for (const TokenId token : {100'256u, 100'261u, 100'277u, 4'000'000'000u}) {
    const auto text = Bpe::cl100k_base().decode(std::array{TokenId{15339}, token});
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, Code::kInvalid);
    EXPECT_EQ(text.error().message, "the encoding cl100k_base has no token " + std::to_string(token));
  }
}

TEST(Bpe, SpecialTokensDecodeToTheirText) {
  EXPECT_EQ(*Bpe::cl100k_base().decode(std::array{100'257u, 100'276u}), "<|endoftext|><|endofprompt|>");
  EXPECT_EQ(*Bpe::o200k_base().decode(std::array{199'999u, 200'018u}), "<|endoftext|><|endofprompt|>");
}

TEST(Bpe, VocabulariesAreWhole) {
  EXPECT_EQ(Naive(Bpe::cl100k_base()).size(), 100'256u);
  EXPECT_EQ(Naive(Bpe::o200k_base()).size(), 199'998u);
}

TEST(Bpe, EveryTokenOfLettersIsItsOwnEncoding) {
  const Bpe& bpe = Bpe::cl100k_base();
  std::size_t letters = 0;
  for (TokenId token = 0; token < 100'256; ++token) {
    const std::string text = *bpe.decode(std::array{token});
    if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos) continue;
    ++letters;
    EXPECT_EQ(bpe.encode(text), std::vector{token}) << text;
  }
  EXPECT_GT(letters, 10'000u);
}

TEST(Bpe, RandomTextComesBackWhole) {
  Random random(20'260'101);
  for (int i = 0; i < 2'000; ++i) {
    const std::string text = random.text(random.within(0, 30));
    for (const Bpe* bpe : both()) expect_round_trip(*bpe, text);
  }
}

TEST(Bpe, AnyBytesCountAsTheirRepairedText) {
  Random random(7);
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes = random.text(6);
    for (char32_t wrong = random.within(1, 5); wrong > 0 && !bytes.empty(); --wrong)
      bytes[random.within(0, static_cast<char32_t>(bytes.size()) - 1)] = static_cast<char>(random.within(0, 255));
    for (const Bpe* bpe : both()) EXPECT_EQ(bpe->encode(bytes), bpe->encode(to_utf8(bytes)));
  }
}

// Pieces without a cut in them, so that the merges alone are compared.
std::string random_piece(Random& random, std::size_t i) {
  constexpr std::array<std::array<char32_t, 2>, 6> kLetters{
      {{'a', 'z'}, {'a', 'c'}, {'a', 'h'}, {0x430, 0x44F}, {0x4E00, 0x4E80}, {0xAC00, 0xD7A3}}};
  const auto& [from, to] = kLetters[i % kLetters.size()];
  std::string piece;
  for (char32_t left = random.within(1, 40); left > 0; --left) piece += utf8_of(random.within(from, to));
  return piece;
}

TEST(Bpe, MergesAreThoseOfTheDefinition) {
  for (const Bpe* bpe : both()) {
    const Naive naive(*bpe);
    Random random(99);
    std::size_t merged = 0;
    for (std::size_t i = 0; i < 3'000; ++i) {
      const std::string piece = random_piece(random, i);
      const std::vector<TokenId> expected = naive.encode(piece);
      merged += expected.size() > 1;
      ASSERT_EQ(bpe->encode(piece), expected) << bpe->name() << ": " << piece;
    }
    EXPECT_GT(merged, 2'000u);
  }
}

TEST(Bpe, LongPiecesMergeLikeTheDefinition) {
  for (const Bpe* bpe : both()) {
    const Naive naive(*bpe);
    Random random(5);
    for (std::size_t length : {254u, 255u, 256u, 257u, 600u}) {
      std::string piece;
      while (piece.size() < length) piece += utf8_of(random.within('a', 'z'));
      EXPECT_EQ(bpe->encode(piece), naive.encode(piece)) << length;
      EXPECT_EQ(bpe->encode(std::string(length, 'a')), naive.encode(std::string(length, 'a')));
      EXPECT_EQ(bpe->encode(std::string(length, ' ')), naive.encode(std::string(length, ' ')));
    }
  }
}

// The time of merging pair by pair grows with the square of a piece: the tests below would run into
// the time limit of this program.
TEST(BpeAtAMegabyte, OneLetter) {
  const std::string text(kMegabyte, 'a');
  for (const Bpe* bpe : both()) {
    expect_round_trip(*bpe, text);
    EXPECT_EQ(bpe->count(text), kMegabyte / 8);
  }
}

TEST(BpeAtAMegabyte, Spaces) {
  const std::string text(kMegabyte, ' ');
  for (const Bpe* bpe : both()) {
    expect_round_trip(*bpe, text);
    EXPECT_EQ(bpe->count(text), kMegabyte / 128);
  }
}

std::string megabyte_of(const std::function<std::string()>& next) {
  std::string text;
  while (text.size() < kMegabyte) text += next();
  return text;
}

TEST(BpeAtAMegabyte, RandomLetters) {
  Random random(1);
  const std::string text = megabyte_of([&] { return utf8_of(random.within('a', 'z')); });
  for (const Bpe* bpe : both()) expect_round_trip(*bpe, text);
}

TEST(BpeAtAMegabyte, Base64) {
  Random random(2);
  const std::string text = megabyte_of([&] { return utf8_of(random.within('+', 'z')); });
  for (const Bpe* bpe : both()) expect_round_trip(*bpe, text);
}

TEST(BpeAtAMegabyte, IdeographsWithoutSpaces) {
  Random random(3);
  const std::string text = megabyte_of([&] { return utf8_of(random.within(0x4E00, 0x9FA5)); });
  for (const Bpe* bpe : both()) expect_round_trip(*bpe, text);
}

TEST(BpeAtAMegabyte, NewlinesMarksAndCapitals) {
  for (const char* unit : {"\n", " \n", "\xCC\x81", "A", "A\xCC\x81", "Aa", "'s", "<|", "\xFF"}) {
    const std::string text = megabyte_of([&] { return std::string(unit); });
    for (const Bpe* bpe : both()) EXPECT_EQ(bpe->count(text, Bpe::Special::kRecognise), bpe->count(text)) << unit;
  }
}

TEST(Bpe, ThreadsCountAlike) {
  const std::string text = Random(11).text(5'000);
  for (const Bpe* bpe : both()) {
    std::array<std::uint64_t, 4> counts{};
    {
      std::vector<std::jthread> threads;
      for (std::uint64_t& count : counts) threads.emplace_back([&text, &count, bpe] { count = bpe->count(text); });
    }
    for (const std::uint64_t count : counts) EXPECT_EQ(count, bpe->encode(text).size());
  }
}

std::uint64_t row_tokens(const Message& message) {
  Rows rows;
  rows.append(message, 1, 0);
  return BpeEstimator(Bpe::o200k_base()).count_row(rows[0]);
}

TEST(BpeEstimator, CountsTextExactlyAndFourPerMessage) {
  EXPECT_EQ(BpeEstimator(Bpe::o200k_base()).count_text("Hello, world!"), 4u);
  EXPECT_EQ(row_tokens(Message{}), 4u);
  EXPECT_EQ(row_tokens(Message::of_text(Role::kUser, "Hello, world!")), 8u);
}

TEST(BpeEstimator, CountsNamesAndArgumentsOfTools) {
  Message call;
  const std::string arguments = R"({"command":"ls -la /tmp"})";
  call.blocks = {Block::tool_use("c1", "bash", arguments)};
  const Bpe& bpe = Bpe::o200k_base();
  EXPECT_EQ(row_tokens(call), 4 + bpe.count("bash") + bpe.count(arguments));
}

TEST(BpeEstimator, CountsElidedTextWhole) {
  EXPECT_EQ(row_tokens(Message::of_text(Role::kUser, std::string(800'000, 'a'))), 100'004u);
}

}  // namespace
}  // namespace agentd
