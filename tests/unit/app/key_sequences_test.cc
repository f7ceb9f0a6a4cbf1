// SPDX-License-Identifier: Apache-2.0
#include "core/app/key_sequences.h"

#include <gtest/gtest.h>

#include <random>

namespace agentd::app {
namespace {

// Fed in these pieces.
std::string fed(const std::string& typed, const std::vector<std::size_t>& cuts) {
  std::string out, rest;
  std::size_t begin = 0;
  const auto feed = [&](std::size_t end) {
    const std::string piece = rest + typed.substr(begin, end - begin);
    rest.clear();
    out += known_keys(piece, rest);
    begin = end;
  };
  for (const std::size_t cut : cuts) feed(cut);
  feed(typed.size());
  return out + rest;
}

TEST(KeySequences, AreTheSameWhereverTheInputIsCut) {
  constexpr const char* kPieces[] = {"a",      "h\xC3\xA9", "\x1b[A",     "\x1b[1;5C",    "\x1b[3~",   "\x1bOH",
                                     "\033b",  "\x1b\x7f",  "\x1b[1;5P",  "\x1b[<0;1;2M", "\x1b[M !!", "\x1b[[A",
                                     "\x1bOP", "\x1bO2P",   "\x1b\x1b[A", "\x1b[2~"};
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::string typed, kept;
    for (int i = 0; i < 6; ++i) {
      const std::size_t which = random() % std::size(kPieces);
      typed += kPieces[which];
      if (which < 8) kept += kPieces[which];
    }
    ASSERT_EQ(fed(typed, {}), kept);
    for (std::size_t cut = 1; cut < typed.size(); ++cut) ASSERT_EQ(fed(typed, {cut}), kept) << cut;
    std::vector<std::size_t> all;
    for (std::size_t cut = 1; cut < typed.size(); ++cut) all.push_back(cut);
    ASSERT_EQ(fed(typed, all), kept);
  }
}

TEST(KeySequences, OfReportsEndWithTheirTerminator) {
  EXPECT_EQ(fed("a\x1b]11;rgb:0/0/0\x1b\\b", {}), "ab");
  EXPECT_EQ(fed("a\x1b]0;title\ab", {}), "ab");
  EXPECT_EQ(fed("a\x1bP1+r\x1b\\b", {}), "ab");
  EXPECT_EQ(fed("a\x1bPb", {}), "a\x1bPb") << "Alt with P";
}

TEST(KeySequences, ThatAreBrokenTakeNothingBehindThem) {
  EXPECT_EQ(fed("a\x1b[1;\rb", {}), "a\rb");
  EXPECT_EQ(fed("a\x1b[1\x1b[Ab", {}), "a\x1b[Ab");
  std::string rest;
  EXPECT_EQ(known_keys("a\x1b[20", rest), "a");
  EXPECT_EQ(rest, "\x1b[20");
}

}  // namespace
}  // namespace agentd::app
