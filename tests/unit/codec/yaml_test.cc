// SPDX-License-Identifier: Apache-2.0
#include "core/codec/yaml.h"

#include <gtest/gtest.h>

namespace agentd {
namespace {

std::string error_of(std::string_view text) {
  const auto node = parse_yaml(text, "f.yaml");
  return node ? "" : node.error().message;
}

TEST(Yaml, GivesATreeWithPlaces) {
  const auto node = parse_yaml("a: 1\nlist:\n  - x\n  - {y: z}\n", "f.yaml");
  ASSERT_TRUE(node);
  const YamlNode* const list = node->find("list");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->line, 2);
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_EQ(list->items[0].line, 3);
  EXPECT_EQ(list->items[1].find("y")->scalar, "z");
  EXPECT_EQ(node->find("none"), nullptr);
}

TEST(Yaml, TurnsPlainScalarsIntoJsonValuesAndKeepsQuotedOnes) {
  const auto node = parse_yaml("{a: 5, b: '5', c: true, d: ~, e: 2.5, f: text, g: \"null\", h: }", "f");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->json(), R"({"a":5,"b":"5","c":true,"d":null,"e":2.5,"f":"text","g":"null","h":null})");
}

TEST(Yaml, NamesFileLineAndColumnOfAMistake) {
  EXPECT_EQ(error_of("a: 1\nb: [1, 2\n").substr(0, 7), "f.yaml:");
  EXPECT_EQ(error_of("a: 1\n\tb: 2\n").substr(0, 9), "f.yaml:2:");
  EXPECT_EQ(error_of("ok: 1\n\"x: 1").substr(0, 9), "f.yaml:2:");
}

TEST(Yaml, RefusesARepeatedKey) { EXPECT_EQ(error_of("a: 1\nb: 2\na: 3\n"), "f.yaml:3:1: 'a' is repeated"); }

TEST(Yaml, RefusesAKeyThatIsNotText) {
  EXPECT_NE(error_of("? [1, 2]\n: x\n").find("a key must be plain text"), std::string::npos);
}

TEST(Yaml, ReadsAliasesAsWhatTheyStandFor) {
  const auto node = parse_yaml("a: &x {k: v}\nb: *x\n", "f");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->json(), R"({"a":{"k":"v"},"b":{"k":"v"}})");
}

TEST(Yaml, RefusesAnUnknownAlias) { EXPECT_NE(error_of("a: *nobody\n"), ""); }

TEST(Yaml, RefusesAnAliasBomb) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) text += ", " + before;
    text += "]\n";
  }
  EXPECT_NE(error_of(text).find("more than 100000 values"), std::string::npos) << error_of(text);
}

TEST(Yaml, RefusesAnAliasInsideItself) { EXPECT_NE(error_of("a: &a [*a]\n"), ""); }

TEST(Yaml, RefusesTooManyLevels) {
  const std::string text = std::string(100, '[') + std::string(100, ']');
  EXPECT_NE(error_of(text).find("64 levels"), std::string::npos) << error_of(text);
}

// Far deeper than any stack: the reader must refuse it before it recurses.
TEST(Yaml, SurvivesADepthBomb) {
  EXPECT_NE(error_of(std::string(1'000'000, '[')), "");
  EXPECT_NE(error_of(std::string(300'000, '{')), "");
  std::string blocks;
  for (int i = 0; i < 3'000; ++i) blocks += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_NE(error_of(blocks), "");
  std::string dashes;
  for (int i = 0; i < 200'000; ++i) dashes += "- ";
  EXPECT_NE(error_of(dashes), "");
}

TEST(Yaml, GivesNullForAnEmptyDocument) {
  const auto node = parse_yaml("# nothing\n", "f");
  ASSERT_TRUE(node);
  EXPECT_EQ(node->kind, YamlNode::Kind::kNull);
}

TEST(FrontMatter, PartsHeadAndBody) {
  const auto parts = parse_front_matter("---\nname: x\n---\nBody\n---\nmore\n", "r.md");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->head.find("name")->scalar, "x");
  EXPECT_EQ(parts->head.find("name")->line, 2);
  EXPECT_EQ(parts->body, "Body\n---\nmore\n");
}

TEST(FrontMatter, IsAbsentWithoutItsFirstLine) {
  for (const char* text : {"Body\n", "----\nx\n", "", "a\n---\nx: 1\n---\n"}) {
    const auto parts = parse_front_matter(text, "r.md");
    ASSERT_TRUE(parts);
    EXPECT_EQ(parts->head.kind, YamlNode::Kind::kNull);
    EXPECT_EQ(parts->body, text);
  }
}

// It would become a part of the text.
TEST(FrontMatter, ThatDoesNotBeginTheFileIsAMistake) {
  for (const char* text : {" ---\nx: 1\n---\n", "\n---\nx: 1\n---\n", "+++\nx = 1\n+++\n", "---\nx: 1\n"})
    EXPECT_FALSE(parse_front_matter(text, "r.md")) << text;
  const auto parts = parse_front_matter("--- \nname: x\n---\t\nBody\n", "r.md");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->head.find("name")->scalar, "x");
  EXPECT_EQ(parts->body, "Body\n");
}

TEST(FrontMatter, ReadsCrlf) {
  const auto parts = parse_front_matter("---\r\nname: x\r\n---\r\nBody", "r.md");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->head.find("name")->scalar, "x");
  EXPECT_EQ(parts->body, "Body");
}

TEST(Yaml, AQuoteThatIsNotClosedIsAMistakeWhereItBegins) {
  const auto mistake = [](const char* text) {
    const auto parsed = parse_yaml(text, "f");
    return parsed ? std::string() : parsed.error().message;
  };
  const std::string open = "the string that begins here has no closing quote";
  EXPECT_EQ(mistake("model: \"unterminated\n"), "f:1:8: " + open);
  EXPECT_EQ(mistake("a: 'x'\nb: 'it''s\nc: 1\n"), "f:2:4: " + open);
  EXPECT_EQ(mistake("a:\n  - ok\n  - \"one\\\"\n"), "f:3:5: " + open);
  EXPECT_EQ(mistake("a: \"one\n\n"), "f:1:4: " + open);
  EXPECT_NE(mistake("a: \"one"), "");
  EXPECT_NE(mistake("a: [1, \"one]\n"), "");
  for (const char* const fine : {"a: \"two\n  lines\"\n", "a: 'x' # it's\n", "a: \"x\\\\\"\n", "'a b': \"c\"\n",
                                 "a: it's\n", "a: &x 'y'\nb: *x\n", "a: |\n  \"block\n", "a: ''\n", "- \"\"\n",
                                 "a: {b: 'c', d: \"e\"}\n", "\xEF\xBB\xBFmodel: \"x\"\n"})
    EXPECT_EQ(mistake(fine), "") << fine;
}

TEST(Yaml, AMistakeSaysWhatToDoAndNotWhatTheParserMisses) {
  const auto mistake = [](const char* text) {
    const auto parsed = parse_yaml(text, "f");
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_NE(mistake("a: b: c\n").find("a ':' cannot be here: quote a text"), std::string::npos) << mistake("a: b: c\n");
  EXPECT_NE(mistake("allow: *bash\n").find("quote a text that begins with '*'"), std::string::npos)
      << mistake("allow: *bash\n");
  EXPECT_NE(mistake("a: [1, 2\n").find("the '[' has no closing ']'"), std::string::npos) << mistake("a: [1, 2\n");
}

TEST(Yaml, InvalidUtf8IsReportedAtItsPlace) {
  const auto parsed = parse_yaml("a: 1\nb: \"x\xff\"\n", "f");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "f:2:6: not valid UTF-8: save the file as UTF-8");
  EXPECT_TRUE(parse_yaml("a: Grüße\n", "f"));
}

TEST(Yaml, ASecondDocumentIsAMistake) {
  EXPECT_TRUE(parse_yaml("---\na: 1\n", "f"));
  EXPECT_TRUE(parse_yaml("", "f"));
  const auto two = parse_yaml("a: 1\n---\nb: 2\n", "f");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message,
            "f:3:1: a second document begins here and would be ignored: "
            "write one document, without '---' in it");
}

TEST(FrontMatter, MayBeEmptyAndMayHaveNoBody) {
  const auto parts = parse_front_matter("---\n---", "r.md");
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->body, "");
}

TEST(FrontMatter, WithoutItsLastLineIsAMistake) {
  const auto parts = parse_front_matter("---\nname: x\n", "r.md");
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().message, "r.md:1:1: the front matter has no closing line of ---");
}

TEST(FrontMatter, NamesTheLineOfTheFileInItsMistakes) {
  const auto parts = parse_front_matter("---\nname: x\nname: y\n---\n", "r.md");
  ASSERT_FALSE(parts);
  EXPECT_EQ(parts.error().message, "r.md:3:1: 'name' is repeated");
}

}  // namespace
}  // namespace agentd
