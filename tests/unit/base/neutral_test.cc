// SPDX-License-Identifier: Apache-2.0
#include "core/base/neutral.h"

#include <gtest/gtest.h>

#include "core/base/visible_word.h"

namespace agentd {
namespace {

TEST(Neutral, CharactersThatShowNothingAreEscaped) {
  const std::pair<const char*, const char*> cases[] = {{"\u115f\u1160", "\\u{115f}\\u{1160}"},
                                                       {"\u202e", "\\u{202e}"},
                                                       {"\u2061\u2064", "\\u{2061}\\u{2064}"},
                                                       {"\u2066", "\\u{2066}"},
                                                       {"\u3164", "\\u{3164}"},
                                                       {"\U000E0041", "\\u{e0041}"},
                                                       {"\U000E0100", "\\u{e0100}"},
                                                       {"\U000E01EF", "\\u{e01ef}"}};
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(neutral(text), shown);
    EXPECT_EQ(visible(text), shown);
    EXPECT_EQ(neutral_line(text, 100), shown);
  }
}

TEST(Neutral, WhereAPersonDecidesMoreIsShown) {
  const std::pair<const char*, const char*> cases[] = {{"\u00ad", "\\xad"},
                                                       {"\u061c", "\\u{061c}"},
                                                       {"\u17b4", "\\u{17b4}"},
                                                       {"\u180e", "\\u{180e}"},
                                                       {"\u200b", "\\u{200b}"},
                                                       {"\u200f", "\\u{200f}"},
                                                       {"\u2060", "\\u{2060}"},
                                                       {"\u2800", "\\u{2800}"},
                                                       {"\ufeff", "\\u{feff}"},
                                                       {"\ufe00", "\\u{fe00}"},
                                                       {"a\u200c\u00a0", "a\\u{200c}\\xa0"}};
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(neutral(text), text);
    EXPECT_EQ(visible(text), shown);
  }
}

TEST(Neutral, WhatHonestTextNeedsStays) {
  for (const char* const text : {"a\nb\t~", "\u0645\u06cc\u200c\u062e", "\U0001F468\u200d\U0001F469", "\u26a0\ufe0f",
                                 "\u3000\u65e5", "1\u00a0%", "\u200f\u05d0(x)"})
    EXPECT_EQ(neutral(text), text);
}

TEST(VisibleWord, IsWhatAShellReadsAsThatWord) {
  EXPECT_EQ(visible_word("plain"), "plain");
  EXPECT_EQ(visible_word("two words"), "'two words'");
  EXPECT_EQ(visible_word("# comment\nevil"), "$'# comment\\nevil'");
  EXPECT_EQ(visible_word("a\tb\rc\x1b it's \\"), "$'a\\tb\\rc\\x1b it\\'s \\\\'");
  EXPECT_EQ(visible_word("k\u200b\U000E0041\u00e4"), "$'k\\u200b\\U000e0041\u00e4'");
  EXPECT_EQ(visible_word("\u00a0"), "$'\\u00a0'");
}

}  // namespace
}  // namespace agentd
