// SPDX-License-Identifier: Apache-2.0
// The part of a text that is shown with a hit.
#include "core/search/snippet.h"

#include <gtest/gtest.h>

#include "core/base/bytes.h"

namespace agentd {
namespace {

// Every place of `word` in the text.
std::vector<TextRange> places(const std::string& text, const std::string& word) {
  std::vector<TextRange> out;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size())
    out.push_back({at, at + word.size()});
  return out;
}

// The snippet with brackets around its matches.
std::string marked(const Snippet& snippet) {
  std::string out = snippet.text;
  for (auto match = snippet.matches.rbegin(); match != snippet.matches.rend(); ++match)
    out.insert(match->to, "]").insert(match->from, "[");
  return out;
}

std::string shown(const std::string& text, const std::string& word, std::size_t columns = 40) {
  return marked(snippet_of(text, places(text, word), columns));
}

TEST(Snippet, IsAShortTextAsAWhole) {
  EXPECT_EQ(shown("the quick fox", "quick"), "the [quick] fox");
  EXPECT_EQ(shown("fox", "fox"), "[fox]");
}

TEST(Snippet, IsCutAroundTheMatchAtWords) {
  const std::string text = "one two three four five six seven eight nine ten needle eleven twelve thirteen fourteen";
  const std::string out = shown(text, "needle");
  EXPECT_EQ(out, "…nine ten [needle] eleven twelve thirteen…");
}

TEST(Snippet, ShowsWhereMostMatchesAre) {
  const std::string text = "lone needle " + std::string(100, 'x') + " needle and needle and needle";
  EXPECT_EQ(shown(text, "needle", 60), "…[needle] and [needle] and [needle]");
}

TEST(Snippet, IsOneLine) { EXPECT_EQ(shown("\n\n a\r\n\tneedle  \n b\n", "needle"), "a [needle] b"); }

TEST(Snippet, IsHarmlessForATerminal) {
  const std::string text = "a\x1b[31m needle \x07 \u202e \xff b";
  const std::string out = shown(text, "needle");
  EXPECT_EQ(out.find('\x1b'), std::string::npos) << out;
  EXPECT_EQ(out.find("\u202e"), std::string::npos) << out;
  EXPECT_TRUE(is_utf8(out)) << out;
  EXPECT_NE(out.find("[needle]"), std::string::npos) << out;
}

TEST(Snippet, CutsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "检索";
  text += "针" + text;
  const Snippet out = snippet_of(text, places(text, "针"), 40);
  EXPECT_TRUE(is_utf8(out.text)) << out.text;
  EXPECT_NE(marked(out).find("[针]"), std::string::npos) << out.text;
  EXPECT_LE(out.text.size(), 40u / 2 * 3 + 6);
}

TEST(Snippet, OfALongMatchIsItsBeginning) {
  const std::string word(500, 'y');
  const Snippet out = snippet_of("a " + word, places("a " + word, word), 40);
  ASSERT_EQ(out.matches.size(), 1u);
  EXPECT_EQ(out.matches[0].to, out.text.size() - std::string("…").size());
}

TEST(Snippet, WithoutMatchesIsTheBeginning) { EXPECT_EQ(snippet_of("some text", {}, 40).text, "some text"); }

}  // namespace
}  // namespace agentd
