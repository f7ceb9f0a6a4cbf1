// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/document.h"

#include <gtest/gtest.h>

namespace session_memory {
namespace {

TEST(Document, IsCutByItsHeadings) {
  const auto made =
      chunks_of("guide.md", "Intro.\n\n# Install\nGet it.\n\n## On Linux ##\nUse apt.\n\nUsage\n=====\nRun it.\n");
  ASSERT_EQ(made.size(), 4u);
  EXPECT_EQ(made[0].title, "guide.md");
  EXPECT_EQ(made[0].text, "Intro.");
  EXPECT_EQ(made[1].title, "guide.md › Install");
  EXPECT_EQ(made[2].title, "guide.md › On Linux");
  EXPECT_EQ(made[3].title, "guide.md › Usage");
  EXPECT_EQ(made[3].text, "Run it.");
}

TEST(Document, HeadingsInsideOfAFenceAreText) {
  const auto made = chunks_of("d", "# One\n```sh\n# a comment\nmake\n```\nafter\n~~~\n## no\n~~~\n");
  ASSERT_EQ(made.size(), 1u);
  EXPECT_NE(made[0].text.find("# a comment"), std::string::npos);
  EXPECT_NE(made[0].text.find("## no"), std::string::npos);
}

TEST(Document, ALongSectionIsCutBetweenParagraphs) {
  std::string text = "# Long\n";
  for (int i = 0; i < 30; ++i) text += "Paragraph " + std::to_string(i) + " " + std::string(150, 'x') + "\n\n";
  const auto made = chunks_of("d", text);
  ASSERT_GT(made.size(), 2u);
  std::string all;
  for (const Chunk& each : made) {
    EXPECT_LE(each.text.size(), kChunkBytesMax);
    EXPECT_TRUE(each.text.starts_with("Paragraph ")) << each.text.substr(0, 30);
    EXPECT_EQ(each.title, "d › Long");
    all += each.text;
  }
  for (int i = 0; i < 30; ++i) EXPECT_NE(all.find("Paragraph " + std::to_string(i) + " "), std::string::npos) << i;
}

TEST(Document, AFenceIsKeptWholeIfItFits) {
  const std::string fence = "```\n" + std::string(1200, 'a') + "\n```";
  const auto made = chunks_of("d", std::string(1500, 'b') + "\n\n" + fence + "\n");
  bool whole = false;
  for (const Chunk& each : made) whole = whole || each.text.find(fence) != std::string::npos;
  EXPECT_TRUE(whole || made.size() > 1);
  for (const Chunk& each : made) EXPECT_LE(each.text.size(), kChunkBytesMax + 64);
}

TEST(Document, AFenceThatIsTooLongIsClosedAndOpenedAgain) {
  std::string text = "```cpp\n";
  for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + " " + std::string(60, 'x') + "\n";
  const auto made = chunks_of("d", text + "```\n");
  ASSERT_GT(made.size(), 2u);
  for (const Chunk& each : made) {
    EXPECT_TRUE(each.text.starts_with("```cpp\n")) << each.text.substr(0, 20);
    EXPECT_TRUE(each.text.ends_with("\n```")) << each.text.substr(each.text.size() - 20);
  }
}

TEST(Document, NothingIsMadeOfNothing) {
  EXPECT_TRUE(chunks_of("d", "").empty());
  EXPECT_TRUE(chunks_of("d", "# Only\n## Headings\n\n").empty());
}

TEST(Document, AVeryLongOneIsBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "# H" + std::to_string(i) + "\ntext\n";
  EXPECT_EQ(chunks_of("d", text).size(), kChunksMax + 1);
}

}  // namespace
}  // namespace session_memory
