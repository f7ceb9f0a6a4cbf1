// SPDX-License-Identifier: Apache-2.0
// Texts and queries in the form that the index reads.
#include "core/search/terms.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace agentd {
namespace {

std::string expression(std::string_view query) {
  const auto out = match_expression(query);
  return out ? *out : "error: " + out.error().message;
}

// The words of an indexed text, with one blank between them.
std::string words(std::string_view text) {
  std::string out;
  for (const char c : index_text(text))
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// ---- texts

TEST(IndexText, LeavesOtherScriptsAsTheyAre) {
  EXPECT_EQ(index_text("a plain text, Ünïcode: да 12.5"), "a plain text, Ünïcode: да 12.5");
  EXPECT_EQ(index_text(""), "");
}

TEST(IndexText, WritesRunsAsPairsAndTheirLastCharacter) {
  EXPECT_EQ(words("全文检索"), "全文 文检 检索 索");
  EXPECT_EQ(words("中"), "中");
  EXPECT_EQ(words("用FTS5检索！好"), "用 FTS5 检索 索 ！ 好");
  EXPECT_EQ(words("データベース"), "デー ータ タベ ベー ース ス");
  EXPECT_EQ(words("안녕 세계"), "안녕 녕 세계 계");
  EXPECT_EQ(words("𠀀𠀁"), "𠀀𠀁 𠀁");
}

TEST(IndexText, ReadsFullWidthLettersAsAscii) { EXPECT_EQ(words("ＡＢｃ１２"), "ABc12"); }

TEST(IndexText, HasNoControlCharacters) {
  const std::string out = index_text(std::string("a\0b\x01\x02\x7f\n\tc", 9) + "中\x01文");
  EXPECT_TRUE(std::none_of(out.begin(), out.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; })) << out;
}

TEST(IndexText, IllFormedBytesAreBlanks) {
  EXPECT_EQ(words("a\xff b\xffz"), "a b z");
  EXPECT_EQ(words("中\xe4\xb8"), "中");
}

// ---- places in the source

// The source of every word of the indexed text.
std::vector<std::string> sources(std::string_view text) {
  const std::string indexed = index_text(text);
  std::vector<TextRange> ranges;
  for (std::size_t at = 0; at < indexed.size();) {
    const std::size_t end = std::min(indexed.find(' ', at), indexed.size());
    if (end > at) ranges.push_back({at, end});
    at = end + 1;
  }
  std::vector<std::string> out;
  for (const TextRange& range : source_ranges(text, ranges))
    out.emplace_back(text.substr(range.from, range.to - range.from));
  return out;
}

TEST(SourceRanges, AreTheBytesThatAWordComesFrom) {
  EXPECT_EQ(sources("one two  three"), (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(sources("用FTS5检索x"), (std::vector<std::string>{"用", "FTS5", "检索", "索", "x"}));
  EXPECT_EQ(sources("a\nＡＢ b"), (std::vector<std::string>{"a", "ＡＢ", "b"}));
}

TEST(SourceRanges, OfAPhraseIsItsWhole) {
  const std::string text = "前全文检索后", indexed = index_text(text);
  const std::size_t from = indexed.find("全文"), to = indexed.find("检索") + std::string("检索").size();
  const auto out = source_ranges(text, std::vector<TextRange>{{from, to}});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(text.substr(out[0].from, out[0].to - out[0].from), "全文检索");
}

// ---- queries

TEST(MatchExpression, EveryWordIsQuoted) {
  EXPECT_EQ(expression("hello world"), "\"hello\" \"world\"");
  EXPECT_EQ(expression("  a\tb\u3000c\u00a0d "), "\"a\" \"b\" \"c\" \"d\"");
  EXPECT_EQ(expression("NEAR(a b, 2) OR c NOT d"), "\"NEAR(a\" \"b,\" \"2)\" \"OR\" \"c\" \"NOT\" \"d\"");
  EXPECT_EQ(expression("body:x ^y z* {a} + -b"), "\"body:x\" \"^y\" \"z*\" \"{a}\" \"-b\"");
}

TEST(MatchExpression, QuotesMakeAPhrase) {
  EXPECT_EQ(expression("a \"b c\" d"), "\"a\" \"b c\" \"d\"");
  EXPECT_EQ(expression("a\"b c\"d"), "\"a\" \"b c\" \"d\"");
  EXPECT_EQ(expression("a \"b c"), "\"a\" \"b c\"");
  EXPECT_EQ(expression("\"\" a \" \" \""), "\"a\"");
}

TEST(MatchExpression, ARunIsThePhraseOfItsPairs) {
  // With one blank where there are several.
  const auto one_blank = [](std::string text) {
    for (std::size_t at = 0; (at = text.find("  ")) != std::string::npos;) text.erase(at, 1);
    return text;
  };
  EXPECT_EQ(one_blank(expression("检索")), "\" 检索 \"");
  EXPECT_EQ(one_blank(expression("全文检索")), "\" 全文 文检 检索 \"");
  // The run ends there, so its last character follows.
  EXPECT_EQ(one_blank(expression("检索x")), "\" 检索 索 x\"");
  EXPECT_EQ(one_blank(expression("检索。")), "\" 检索 。\"");
}

TEST(MatchExpression, OneCharacterIsTheBeginningOfAPair) {
  EXPECT_EQ(expression("检"), "\" 检 \"*");
  EXPECT_EQ(expression("x检"), "\"x 检 \"*");
  EXPECT_EQ(expression("检x"), "\" 检 x\"");
}

TEST(MatchExpression, NeedsAWord) {
  for (const char* const query : {"", "  ", "\"", "\"\"", "* - :", "。！", "\x01\x02"})
    EXPECT_EQ(expression(query), "error: the text to search for has no word: a word has at least one letter or digit")
        << query;
}

TEST(MatchExpression, HasLimits) {
  EXPECT_EQ(expression(std::string(kQueryBytesMax, 'x')).front(), '"');
  EXPECT_EQ(expression(std::string(kQueryBytesMax + 1, 'x')).substr(0, 6), "error:");
  std::string query;
  for (std::size_t i = 0; i < kQueryWordsMax; ++i) query += "x ";
  EXPECT_EQ(expression(query).front(), '"');
  EXPECT_EQ(expression(query + "x").substr(0, 6), "error:");
}

}  // namespace
}  // namespace agentd
