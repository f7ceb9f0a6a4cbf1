// SPDX-License-Identifier: Apache-2.0
// Texts that users read have no private words, and the rule finds each kind of text that has one.
#include "tests/tidy/words.h"

#include "tests/tidy/small_tree.h"

namespace tidy {
namespace {

const std::vector<RefusedWord> kWords{{"set aside", "quarantined", false}, {"who", "the subject", true}};

Findings found_in(const std::filesystem::path& root) { return private_words(root, kWords); }

TEST(Words, AreReadWithTheirReplacements) {
  const std::vector<RefusedWord> words = read_words(kRoot / "tests/tidy/words.txt");
  EXPECT_GT(words.size(), 30u);
  for (const RefusedWord& word : words) {
    EXPECT_FALSE(word.phrase.empty());
    EXPECT_FALSE(word.instead.empty()) << word.phrase;
    EXPECT_EQ(word.phrase.find('^'), std::string::npos) << word.phrase;
  }
}

TEST(Literals, AreJoinedAndComeWithoutCommentsIncludesAndCharacters) {
  const std::vector<Literal> found =
      literals_of("#include \"a\"\n// \"b\"\nf('\"', \"c\"\n  \"d\\\"e\"); /* \"f\" */\ng(1'000, R\"x(h \"i\")x\");\n");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].text, "cd\\\"e");
  EXPECT_EQ(found[0].line, 3u);
  EXPECT_EQ(found[1].text, "h \"i\"");
  EXPECT_EQ(found[1].line, 5u);
}

TEST(Paragraphs, LeaveFencedCodeOut) {
  const std::vector<Literal> found = paragraphs_of("# A\n\nb\nc\n- d\n\n```\ne\n```\n| f | g |\n");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[1].text, "b c");
  EXPECT_EQ(found[1].line, 3u);
  EXPECT_EQ(found[3].text, "| f | g |");
  EXPECT_EQ(found[3].line, 10u);
}

TEST_F(Tree, WithPlainTextsHasNoPrivateWords) {
  code("core/base/good.cc", "const char* text = \"a preset aside, and set asides\";  // set aside\n");
  put("docs/good.md", "| who | what |\n|---|---|\n\nThe user who asks.\n");
  EXPECT_EQ(joined(found_in(root_)), "");
}

TEST_F(Tree, WithAPrivateWordInAMessageIsFound) {
  code("core/base/bad.cc", "const char* text = \"it is set\"\n  \" aside\";\n");
  EXPECT_EQ(joined(found_in(root_)), "core/base/bad.cc:2: 'set aside': write quarantined\n");
}

TEST_F(Tree, WithAMessageThatBeginsWithAPrivateWordIsFound) {
  code("core/base/bad.cc", "g(\"who\", \"the user who asks\");\nf(\"who asks\");\n");
  EXPECT_EQ(joined(found_in(root_)), "core/base/bad.cc:3: 'who': write the subject\n");
}

TEST_F(Tree, WithACommentThatBeginsWithAPrivateWordIsFound) {
  code("core/base/bad.cc", "// The user\n// who asks.\n  // Who asks.\nint x;  // who asks\n");
  EXPECT_EQ(joined(found_in(root_)), "core/base/bad.cc:4: 'who': write the subject\n");
}

TEST_F(Tree, WithAPrivateWordAcrossLinesOfAPageIsFound) {
  put("docs/bad.md", "# A\n\nA hook is Set\naside.\n");
  put("README.md", "A hook is set aside.\n");
  EXPECT_EQ(joined(found_in(root_)),
            "README.md:1: 'set aside': write quarantined\ndocs/bad.md:3: 'set aside': write quarantined\n");
}

TEST_F(Tree, WithASentenceThatBeginsWithAPrivateWordIsFound) {
  put("docs/bad.md", "A hook asks. Who answers decides.\n\n| event | who is called |\n");
  EXPECT_EQ(joined(found_in(root_)),
            "docs/bad.md:1: 'who': write the subject\ndocs/bad.md:3: 'who': write the subject\n");
}

TEST(ThisTree, HasNoPrivateWords) {
  EXPECT_EQ(joined(private_words(kRoot, read_words(kRoot / "tests/tidy/words.txt"))), "");
}

}  // namespace
}  // namespace tidy
