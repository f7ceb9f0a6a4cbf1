// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plugins/audit_log/line.h"
#include "plugins/workspace_tools/pattern.h"
#include "plugins/workspace_tools/text.h"

namespace workspace_tools {
namespace {

bool matches(const char* pattern, const char* path) { return Glob(pattern).matches(path); }

TEST(Glob, StaysWithinOnePart) {
  EXPECT_TRUE(matches("*.cc", "a.cc"));
  EXPECT_FALSE(matches("*.cc", "b/a.cc"));
  EXPECT_FALSE(matches("*.cc", "a.cch"));
  EXPECT_TRUE(matches("a*b*c", "a--b--bc"));
  EXPECT_FALSE(matches("a*b*c", "a--c--b"));
  EXPECT_TRUE(matches("?.c", "ä.c"));
  EXPECT_FALSE(matches("?", ""));
  EXPECT_TRUE(matches("./a", "a"));
}

TEST(Glob, CrossesPartsWithTwoStars) {
  EXPECT_TRUE(matches("**/*.cc", "a.cc"));
  EXPECT_TRUE(matches("**/*.cc", "x/y/a.cc"));
  EXPECT_TRUE(matches("src/**/a", "src/a"));
  EXPECT_TRUE(matches("src/**/a", "src/x/y/a"));
  EXPECT_FALSE(matches("src/**/a", "srcs/a"));
  EXPECT_TRUE(matches("**", "any/path"));
  EXPECT_TRUE(matches("a/**", "a/b/c"));
  EXPECT_FALSE(matches("a/**/b/**/c", "a/b/d"));
}

TEST(Glob, KnowsSetsAndAlternatives) {
  EXPECT_TRUE(matches("[a-c]x", "bx"));
  EXPECT_FALSE(matches("[!a-c]x", "bx"));
  EXPECT_TRUE(matches("[]]", "]"));
  EXPECT_TRUE(matches("[", "["));
  EXPECT_TRUE(matches("*.{cc,h}", "a.h"));
  EXPECT_TRUE(matches("{a,b/{c,d}}/e", "b/d/e"));
  EXPECT_FALSE(matches("*.{cc,h}", "a.hh"));
  EXPECT_TRUE(matches("a{b", "a{b"));
  EXPECT_TRUE(matches("a{}", "a{}")) << "braces without a comma stand for themselves";
}

TEST(Glob, TakesAnEscapedCharacterAsItIs) {
  EXPECT_TRUE(matches("\\*", "*"));
  EXPECT_FALSE(matches("\\*", "a"));
  EXPECT_TRUE(matches("\\{a,b\\}", "{a,b}"));
}

TEST(Glob, DoesNotExplode) {
  std::string pattern, text;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  text.assign(5'000, 'a');
  EXPECT_FALSE(Glob(pattern + "b").matches(text));
  std::string braces;
  for (int i = 0; i < 30; ++i) braces += "{a,b}";
  EXPECT_FALSE(Glob(braces).matches("x"));
  std::string stars;
  for (int i = 0; i < 50; ++i) stars += "**/";
  EXPECT_FALSE(Glob(stars + "x").matches("a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p"));
}

IgnoreRules::Verdict verdict(const char* file, const char* path, bool is_directory = false) {
  return IgnoreRules(file).decide(path, is_directory);
}

TEST(IgnoreRules, FollowGitignore) {
  using enum IgnoreRules::Verdict;
  EXPECT_EQ(verdict("*.o\n", "a/b/x.o"), kIgnore);
  EXPECT_EQ(verdict("# *.o\n\n", "x.o"), kNone);
  EXPECT_EQ(verdict("/x\n", "a/x"), kNone);
  EXPECT_EQ(verdict("/x\n", "x"), kIgnore);
  EXPECT_EQ(verdict("a/x\n", "b/a/x"), kNone);
  EXPECT_EQ(verdict("out/\n", "out"), kNone);
  EXPECT_EQ(verdict("out/\n", "out", true), kIgnore);
  EXPECT_EQ(verdict("*.o\n!keep.o\n", "keep.o"), kKeep);
  EXPECT_EQ(verdict("!keep.o\n*.o\n", "keep.o"), kIgnore);
  EXPECT_EQ(verdict("x  \r\n", "x"), kIgnore);
  EXPECT_EQ(verdict("\\#x\n", "#x"), kIgnore);
  EXPECT_EQ(verdict("a{b,c}\n", "ab"), kNone);
  EXPECT_EQ(verdict("a{b,c}\n", "a{b,c}"), kIgnore);
  EXPECT_EQ(verdict("a/**\n", "a/b/c"), kIgnore);
}

TEST(Text, IsCappedBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "€";
  const std::string got = capped(text, 100);
  EXPECT_LE(got.size(), 150u);
  EXPECT_EQ(got.find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_EQ(capped("short", 100), "short");
}

TEST(Text, SplitsLinesWithAndWithoutTheirEnds) {
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_EQ(lines_of("a\nb").size(), 2u);
  EXPECT_EQ(lines_of("a\nb\n").size(), 2u);
  EXPECT_EQ(lines_of("\n\n").size(), 2u);
  EXPECT_EQ(lines_of("a\r\n")[0], "a");
}

TEST(Text, NormalisesPaths) {
  EXPECT_EQ(normal_path("/w", "a/./b/../c"), "/w/a/c");
  EXPECT_EQ(normal_path("/w", "/x//y/"), "/x/y");
  EXPECT_EQ(normal_path("/w", "../../../a"), "/a");
  EXPECT_EQ(normal_path("", "."), "/");
}

TEST(AuditLine, TellsTheTimeInUtc) {
  EXPECT_EQ(audit_log::utc_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(audit_log::utc_time(1'700'000'000'123), "2023-11-14T22:13:20.123Z");
}

TEST(AuditLine, IsEmptyForWhatIsNoObject) {
  EXPECT_EQ(audit_log::make_line("[]", "now", {}), "");
  EXPECT_EQ(audit_log::make_line("{", "now", {}), "");
}

}  // namespace
}  // namespace workspace_tools
