// SPDX-License-Identifier: Apache-2.0
#include "core/base/bytes.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

namespace agentd {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

TEST(AsciiLower, ChangesTheLettersOfAsciiAlone) {
  EXPECT_EQ(ascii_lower("Content-TYPE @[`{ 09"), "content-type @[`{ 09");
  EXPECT_EQ(ascii_lower("\xC3\x84\xC4\xB0K"), "\xC3\x84\xC4\xB0k");
  EXPECT_EQ(ascii_lower(std::string_view("A\0B", 3)), std::string("a\0b", 3));
}

TEST(Utf8, WellFormedTextIsAccepted) {
  for (const std::string_view good : {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF",
                                      "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "12345678\xC3\xA9"})
    EXPECT_TRUE(is_utf8(good)) << good;
  EXPECT_TRUE(is_utf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, IllFormedTextIsRefused) {
  for (const std::string_view bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "12345678\xFF", "1234567\xC3"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

TEST(Utf8, RepairKeepsWhatIsValid) {
  EXPECT_EQ(to_utf8("a\xC3\xA9z"), "a\xC3\xA9z");
  EXPECT_EQ(to_utf8("a\xFFz"), "a" + std::string(kReplacement) + "z");
  EXPECT_EQ(to_utf8("\xE2\x82"), kReplacement);  // a cut character
  EXPECT_EQ(to_utf8("\xF0\x9F\x98z"), std::string(kReplacement) + "z");
  std::string three;
  for (int i = 0; i < 3; ++i) three += kReplacement;
  EXPECT_EQ(to_utf8("\xED\xA0\x80"), three);  // a surrogate: no byte could have followed the first
  EXPECT_EQ(to_utf8("\xF5\x80\x80"), three);
}

TEST(Utf8, RepairOfRandomBytesIsAlwaysValid) {
  std::mt19937 random(7);
  for (int i = 0; i < 3'000; ++i) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_TRUE(is_utf8(to_utf8(bytes)));
  }
}

TEST(Utf8, PrefixAndSuffixNeverPartACharacter) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
  for (std::size_t bytes = 0; bytes <= text.size() + 2; ++bytes) {
    const std::string_view head = utf8_prefix(text, bytes);
    const std::string_view tail = utf8_suffix(text, bytes);
    EXPECT_TRUE(is_utf8(head)) << bytes;
    EXPECT_TRUE(is_utf8(tail)) << bytes;
    EXPECT_LE(head.size(), bytes);
    EXPECT_LE(tail.size(), bytes);
    EXPECT_TRUE(text.starts_with(head));
    EXPECT_TRUE(text.ends_with(tail));
    EXPECT_GT(head.size() + 4, std::min(bytes, text.size()));
  }
}

TEST(OneLine, WhitespaceBecomesOneSpaceAndControlsAreShown) {
  EXPECT_EQ(one_line("a\n\n\tb\r\nc", 100), "a b c");
  EXPECT_EQ(one_line("\x1b[31mred\x07", 100), "\\x1b[31mred\\x07");
}

TEST(OneLine, LongTextIsCutWithAMark) {
  const std::string line = one_line(std::string(300, 'x'), 20);
  EXPECT_EQ(line, std::string(17, 'x') + "...");
}

TEST(OneLine, CutTextIsValidAndHasNoReplacementOfItsOwn) {
  for (std::size_t spaces = 0; spaces < 60; ++spaces) {
    const std::string text = std::string(spaces, '\n') + std::string(40, 'y') +
                             "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC";
    const std::string line = one_line(text, 48);
    EXPECT_TRUE(is_utf8(line));
    EXPECT_LE(line.size(), 48u);
    EXPECT_EQ(line.find(kReplacement), std::string::npos) << spaces;
  }
}

TEST(Bytes, HexAndBigEndian) {
  const std::array<std::uint8_t, 3> bytes{0x00, 0xAB, 0xFF};
  EXPECT_EQ(hex(bytes), "00abff");
  std::string out;
  put_be32(out, 0x01020304u);
  put_be64(out, 0x0102030405060708u);
  EXPECT_EQ(out, std::string("\1\2\3\4\1\2\3\4\5\6\7\10", 12));
  EXPECT_EQ(get_be32(out.data()), 0x01020304u);
  EXPECT_EQ(get_be64(out.data() + 4), 0x0102030405060708u);
  std::string high;
  put_be64(high, UINT64_MAX - 1);
  EXPECT_EQ(get_be64(high.data()), UINT64_MAX - 1);
}

TEST(Bytes, CommasStandAtEveryThousand) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1'000), "1,000");
  EXPECT_EQ(with_commas(1'234'567), "1,234,567");
  EXPECT_EQ(with_commas(UINT64_MAX), "18,446,744,073,709,551,615");
}

}  // namespace
}  // namespace agentd
