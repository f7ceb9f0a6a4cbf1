// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/matcher.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace agentd {
namespace {

constexpr MatcherRules kAll[] = {MatcherRules::kAgentd, MatcherRules::kDocker, MatcherRules::kGeminiTool,
                                 MatcherRules::kExact};

bool matches(std::string_view text, MatcherRules rules, std::string_view subject) {
  const auto matcher = Matcher::parse(text, rules);
  EXPECT_TRUE(matcher) << text;
  return matcher && matcher->matches(subject);
}

bool agentd(std::string_view text, std::string_view subject) { return matches(text, MatcherRules::kAgentd, subject); }

TEST(Matcher, MatchesEverythingWhenItIsEmptyOrAStar) {
  EXPECT_TRUE(Matcher().matches("bash"));
  EXPECT_TRUE(Matcher().matches_all());
  for (const MatcherRules rules : kAll)
    for (const char* const text : {"", "*"}) {
      const auto matcher = Matcher::parse(text, rules);
      EXPECT_TRUE(matcher->matches_all());
      EXPECT_TRUE(matcher->matches("anything") && matcher->matches(""));
      EXPECT_EQ(matcher->text(), text);
    }
}

TEST(Matcher, TakesAPlainNameForThatNameAlone) {
  EXPECT_TRUE(agentd("Edit", "Edit"));
  EXPECT_FALSE(agentd("Edit", "MultiEdit"));
  EXPECT_FALSE(agentd("Edit", "edit"));
  EXPECT_TRUE(agentd("mcp:server:some-tool.v2", "mcp:server:some-tool.v2"));
  EXPECT_FALSE(agentd("a.b", "axb")) << "a dot in a name is a dot";
  EXPECT_FALSE(agentd("Edit", ""));
}

TEST(Matcher, TakesNamesInAListForAnyOfThem) {
  for (const char* const text : {"Edit|Write", "Edit,Write", "Edit, Write", "Edit | Write", "Edit|Write|"}) {
    EXPECT_TRUE(agentd(text, "Edit")) << text;
    EXPECT_TRUE(agentd(text, "Write")) << text;
    EXPECT_FALSE(agentd(text, "MultiEdit")) << text;
    EXPECT_FALSE(agentd(text, "")) << text;
    EXPECT_FALSE(agentd(text, "Edit|Write")) << text;
  }
}

TEST(Matcher, TakesEverythingElseForAnExpressionFoundAnywhere) {
  EXPECT_TRUE(agentd("mcp__.*__write", "mcp__fs__write_file"));
  EXPECT_TRUE(agentd("Edit.*", "MultiEdit"));
  EXPECT_TRUE(agentd("^Edit$|^Write$", "Write"));
  EXPECT_FALSE(agentd("^Edit$", "MultiEdit"));
}

TEST(Matcher, AnchorsDockersExpressionsAtBothEnds) {
  EXPECT_TRUE(matches("shell|edit_.*", MatcherRules::kDocker, "edit_file"));
  EXPECT_FALSE(matches("shell|edit_.*", MatcherRules::kDocker, "shell_background"));
  EXPECT_FALSE(matches("shell", MatcherRules::kDocker, "a shell"));
}

TEST(Matcher, FindsGeminisExpressionsAnywhere) {
  EXPECT_TRUE(matches("write", MatcherRules::kGeminiTool, "write_file"));
  EXPECT_TRUE(matches("write_.*|replace", MatcherRules::kGeminiTool, "replace"));
}

// Taken literally, as Gemini CLI takes what is no expression of JavaScript, they would match no tool at all.
TEST(Matcher, RefusesExpressionsThatOnlyJavaScriptReads) {
  for (const MatcherRules rules : {MatcherRules::kAgentd, MatcherRules::kDocker, MatcherRules::kGeminiTool})
    for (const char* const text : {"^(?!read_).*$", "(?<=run_)shell", "(write)_\\1", "tool("}) {
      const auto matcher = Matcher::parse(text, rules);
      ASSERT_FALSE(matcher) << text;
      EXPECT_EQ(matcher.error().code, Code::kInvalid) << text;
      EXPECT_NE(matcher.error().message.find("RE2 syntax: no look-around"), std::string::npos) << text;
    }
}

TEST(Matcher, ReadsNothingIntoAnExactText) {
  EXPECT_TRUE(matches("a|b", MatcherRules::kExact, "a|b"));
  EXPECT_FALSE(matches("a|b", MatcherRules::kExact, "a"));
  EXPECT_FALSE(matches("start.*", MatcherRules::kExact, "startup"));
  EXPECT_TRUE(matches("(", MatcherRules::kExact, "("));
}

TEST(Matcher, SaysWhatIsWrongWithAnExpression) {
  for (const MatcherRules rules : {MatcherRules::kAgentd, MatcherRules::kDocker, MatcherRules::kGeminiTool}) {
    const auto matcher = Matcher::parse("Bash(", rules);
    ASSERT_FALSE(matcher);
    EXPECT_EQ(matcher.error().code, Code::kInvalid);
    EXPECT_EQ(matcher.error().message.find("the matcher 'Bash(' is not a valid regular expression: "), 0u);
  }
  EXPECT_EQ(Matcher::parse(" | ,", MatcherRules::kAgentd).error().message, "the matcher ' | ,' names nothing");
}

TEST(Matcher, BoundsItsSizeAndItsMemory) {
  EXPECT_FALSE(Matcher::parse(std::string(4097, 'a'), MatcherRules::kAgentd));
  EXPECT_TRUE(Matcher::parse(std::string(4096, 'a'), MatcherRules::kAgentd));
  EXPECT_FALSE(Matcher::parse("(\\pL{900}){900}\\pL{900}", MatcherRules::kAgentd));
  EXPECT_FALSE(Matcher::parse("\\pL{900}\\pN{900}\\pS{900}\\pL{900}\\pL{900}\\pL{900}", MatcherRules::kDocker));
}

TEST(Matcher, IsSharedByItsCopies) {
  std::optional<Matcher> copy;
  {
    const auto original = Matcher::parse("^b.sh$", MatcherRules::kAgentd);
    copy = *original;
  }
  EXPECT_TRUE(copy->matches("bash"));
  EXPECT_FALSE(copy->matches_all());
}

TEST(Matcher, SurvivesRandomBytes) {
  std::mt19937 random(11);
  for (int i = 0; i < 5'000; ++i) {
    std::string text, subject;
    const std::string_view marks = "|,*()[a.^";
    for (std::size_t j = random() % 12; j > 0; --j)
      text += random() % 4 == 0 ? static_cast<char>(random()) : marks[random() % marks.size()];
    for (std::size_t j = random() % 12; j > 0; --j) subject += static_cast<char>(random());
    for (const MatcherRules rules : kAll) {
      const auto matcher = Matcher::parse(text, rules);
      if (matcher)
        (void)matcher->matches(subject);
      else
        ASSERT_FALSE(matcher.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace agentd
