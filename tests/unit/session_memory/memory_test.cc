// SPDX-License-Identifier: Apache-2.0
#include "plugins/session_memory/memory.h"

#include <gtest/gtest.h>

namespace session_memory {
namespace {

using agentd::JsonDocument;

Memory full() {
  Memory out;
  out.id = "01JZ8QF3V0000000000000000A";
  out.title = "Retry 429: wait as the header says";
  out.content = "First line\n\n---\n```sh\nmake\n```\n# not a heading of ours\n";
  out.subject = "http client";
  out.polarity = Polarity::kAvoid;
  out.outcome = Outcome::kPartial;
  out.tags = {"http", "c++", "重试", "with, comma", "quote\"d"};
  out.confidence = 0.1 + 0.2;
  out.uses = 3;
  out.helpful = 2;
  out.unhelpful = 1;
  out.created_ms = 1'767'225'600'123;
  out.used_ms = 1'767'225'600'999;
  out.superseded_by = "01JZ8QF3V0000000000000000B";
  out.provenance = {{"01JZ8QF3V0000000000000000C", 12, 40}, {"01JZ8QF3V0000000000000000D", 7, 0}, {"x#y", 0, 0}};
  out.origin = Origin::kDistilled;
  return out;
}

TEST(Memory, JsonReadsBackTheSame) {
  Memory before = full();
  before.project = "/home/me/project";
  const auto parsed = JsonDocument::parse(json_of(before));
  ASSERT_TRUE(parsed);
  const auto after = memory_of(parsed->root());
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(*after, before);
}

TEST(Memory, MarkdownReadsBackTheSame) {
  for (const std::string& content :
       {std::string("one line"), std::string("ends with a line end\n"), std::string("\n\nblank"), full().content,
        std::string("---\nlike front matter\n---\n")}) {
    Memory before = full();
    before.content = content;
    const auto after = memory_from_markdown(markdown_of(before), "x.md");
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(*after, before) << markdown_of(before);
  }
}

TEST(Memory, TitlesThatLookLikeOtherValuesReadBackTheSame) {
  for (const char* title :
       {"true", "null", "12", "[a]", "- x", "a: b", "# x", "it's \"so\"", "Größe", "a #1", "'x'", "key:"}) {
    Memory before = full();
    before.title = title;
    const auto after = memory_from_markdown(markdown_of(before), "x.md");
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(after->title, title);
  }
}

TEST(Memory, MarkdownAsAPersonEditsItIsRead) {
  const auto made = memory_from_markdown(
      "---\r\n# edited\r\ntitle: Use tabs, not spaces\r\ntags: [style, 'c++', \"two words\"]\r\nconfidence: 0.9\r\n"
      "polarity: do\r\n---\r\nThe user wants tabs.\r\n",
      "tabs.md");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->title, "Use tabs, not spaces");
  EXPECT_EQ(made->tags, (std::vector<std::string>{"style", "c++", "two words"}));
  EXPECT_EQ(made->confidence, 0.9);
  EXPECT_EQ(made->content, "The user wants tabs.\r");
  EXPECT_EQ(made->origin, Origin::kImported);
  EXPECT_TRUE(made->id.empty());
}

TEST(Memory, AFileWithoutFrontMatterIsOneMemory) {
  const auto headed = memory_from_markdown("# Deploying\n\nRun it twice.\n", "notes/deploy.md");
  ASSERT_TRUE(headed);
  EXPECT_EQ(headed->title, "Deploying");
  const auto bare = memory_from_markdown("Run it twice.\n", "notes/deploy.md");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->title, "deploy");
  EXPECT_EQ(bare->content, "Run it twice.");
}

TEST(Memory, AWrongFileNamesItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"---\ntitle: x\nnonsense\n---\n", "f.md:3: a line of the front matter is NAME: VALUE"},
      {"---\ntitle: x\ncolour: red\n---\n", "f.md:3: unknown name 'colour'"},
      {"---\ntitle: x\ntitle: y\n---\n", "f.md:3: 'title' is repeated"},
      {"---\ntitle: x\n", "f.md:1: the front matter has no closing line of ---"},
      {"---\npolarity: maybe\n---\n", "polarity must be do or avoid"},
      {"---\nconfidence: high\n---\n", "confidence must be a number from 0 to 1"},
      {"---\nuses: -3\n---\n", "uses must be an integer that is not negative"},
      {"", "f.md:1: the file has no text"},
      {" \n\n", "f.md:1: the file has no text"},
      {"\x89PNG\r\n\xff", "f.md:1: the file is not text in UTF-8"},
      {"---\nconfidence: 7\n---\n", "confidence must be a number from 0 to 1"}};
  for (const auto& [text, sentence] : cases) {
    const auto made = memory_from_markdown(text, "f.md");
    ASSERT_FALSE(made) << text;
    EXPECT_NE(made.error().message.find(sentence), std::string::npos) << made.error().message;
  }
}

TEST(Memory, EditChangesOnlyWhatAPersonMayChange) {
  Memory memory = full();
  const auto good = JsonDocument::parse(R"({"title":"new","confidence":0.2,"tags":["a","a",""],"superseded_by":""})");
  ASSERT_TRUE(edit(memory, good->root()));
  EXPECT_EQ(memory.title, "new");
  EXPECT_EQ(memory.confidence, 0.2);
  EXPECT_EQ(memory.tags, std::vector<std::string>{"a"});
  EXPECT_FALSE(memory.is_superseded());
  const auto bad = JsonDocument::parse(R"({"id":"x"})");
  const auto refused = edit(memory, bad->root());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("id cannot be edited"), std::string::npos);
  EXPECT_EQ(memory.id, full().id);
}

TEST(Memory, FittedTextsAreShortLinesOfValidText) {
  Memory memory = full();
  memory.title = std::string(500, 'x') + "\nsecond";
  memory.content = std::string(20'000, 'y') + "\xff";
  memory.tags.assign(100, "same");
  memory.confidence = 7;
  const Memory made = fitted(memory);
  EXPECT_EQ(made.title.size(), Memory::kTitleBytesMax);
  EXPECT_EQ(made.content.size(), Memory::kContentBytesMax);
  EXPECT_EQ(made.tags.size(), 1u);
  EXPECT_EQ(made.confidence, 1);
  EXPECT_EQ(fitted(made), made);
}

TEST(Provenance, CoversItsMessagesOnly) {
  const Provenance range{"A", 5, 9}, one{"A", 5, 0}, whole{"A", 0, 0};
  EXPECT_TRUE(range.covers("A", 5));
  EXPECT_TRUE(range.covers("A", 9));
  EXPECT_FALSE(range.covers("A", 10));
  EXPECT_FALSE(range.covers("B", 5));
  EXPECT_TRUE(one.covers("A", 5));
  EXPECT_FALSE(one.covers("A", 6));
  EXPECT_TRUE(whole.covers("A", 12345));
}

TEST(Memory, FileNamesSayTheTitleAndAreDistinct) {
  Memory memory = full();
  EXPECT_EQ(file_name_of(memory), "retry-429-wait-as-the-header-says-00000A.md");
  memory.title = "///";
  EXPECT_EQ(file_name_of(memory), "memory-00000A.md");
}

TEST(Memory, WhatIsTooLongIsRefusedAndNotCut) {
  const auto refused = [](const std::string& json) {
    const auto read = JsonDocument::parse(json);
    const auto made = memory_of(read->root());
    return made ? std::string() : made.error().message;
  };
  const auto text = [](std::size_t bytes) { return "\"" + std::string(bytes, 'x') + "\""; };
  EXPECT_EQ(refused("{\"title\":" + text(200) + ",\"content\":" + text(8192) + "}"), "");
  EXPECT_EQ(refused("{\"title\":" + text(201) + "}"), "title has 201 bytes, more than 200: shorten it");
  EXPECT_EQ(refused("{\"title\":\"t\",\"content\":" + text(8193) + "}"),
            "content has 8193 bytes, more than 8192: shorten it");
  EXPECT_EQ(refused("{\"title\":\"t\",\"tags\":[" + text(65) + "]}"), "a tag has 65 bytes, more than 64: shorten it");
  std::string tags = "\"t0\"";
  for (int i = 1; i <= 16; ++i) tags += ",\"t" + std::to_string(i) + "\"";
  EXPECT_EQ(refused("{\"title\":\"t\",\"tags\":[" + tags + "]}"), "there are 17 tags, more than 16: omit some");
}

}  // namespace
}  // namespace session_memory
