// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/rows.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/histories.h"

namespace agentd {
namespace {

using testing::fingerprint;
using testing::fingerprints;

Message said_by_user(std::string text) { return Message::of_text(Role::kUser, std::move(text)); }

TEST(Rows, AppendNeverMovesEarlierTexts) {
  Rows rows;
  rows.append(said_by_user("first"), 1, 10);
  const char* const text = blocks_of(rows[0])[0].text.ptr;
  for (std::uint64_t seq = 2; seq < 2'000; ++seq) rows.append(said_by_user("more"), seq, 10);
  EXPECT_EQ(blocks_of(rows[0])[0].text.ptr, text);
  EXPECT_EQ(view_of(blocks_of(rows[0])[0].text), "first");
}

TEST(Rows, ListTakenBeforeAnAppendStaysReadable) {
  Rows rows;
  for (std::uint64_t seq = 1; seq <= 64; ++seq) rows.append(said_by_user("m" + std::to_string(seq)), seq, 0);
  const agentd_list list = rows.list();
  for (std::uint64_t seq = 65; seq <= 300; ++seq) rows.append(said_by_user("later"), seq, 0);
  ASSERT_EQ(list.count, 64u);
  for (std::uint32_t i = 0; i < list.count; ++i)
    EXPECT_EQ(view_of(blocks_of(messages_of(list)[i])[0].text), "m" + std::to_string(i + 1));
}

TEST(Rows, CopyOutlivesTheOriginal) {
  auto rows = std::make_unique<Rows>();
  rows->append(said_by_user("kept"), 7, 3);
  const Rows copy = *rows;
  const std::string before = fingerprint(copy[0]);
  for (std::uint64_t seq = 8; seq < 500; ++seq) rows->append(said_by_user("x"), seq, 0);
  rows.reset();
  ASSERT_EQ(copy.size(), 1u);
  EXPECT_EQ(fingerprint(copy[0]), before);
}

// A request's own additions go to a copy while the conversation continues.
TEST(Rows, TwoCopiesThatGrowDoNotWriteIntoEachOther) {
  Rows rows;
  rows.append(said_by_user("common"), 1, 0);
  Rows copy = rows;
  copy.append(said_by_user("only in the copy"), 2, 0);
  rows.append(said_by_user("only in the original"), 3, 0);
  EXPECT_EQ(view_of(blocks_of(copy[1])[0].text), "only in the copy");
  EXPECT_EQ(copy[1].seq, 2u);
  EXPECT_EQ(view_of(blocks_of(rows[1])[0].text), "only in the original");
}

TEST(Rows, LongTextIsElidedForHooksAndWholeForTheHost) {
  Rows rows;
  const std::string whole(Rows::kElideBytes + 500, 'z');
  rows.append(said_by_user(whole), 9, 0, "CONV");
  const agentd_block& block = blocks_of(rows[0])[0];
  EXPECT_NE(block.flags & AGENTD_BLOCK_ELIDED, 0);
  EXPECT_EQ(block.text.len, Rows::kElideBytes);
  EXPECT_EQ(block.full_len, whole.size());
  EXPECT_EQ(view_of(block.blob), "CONV:9:0");
  EXPECT_EQ(full_text(block), whole);
}

TEST(Rows, TextOfExactlyTheLimitIsNotElided) {
  Rows rows;
  rows.append(said_by_user(std::string(Rows::kElideBytes, 'z')), 9, 0, "CONV");
  EXPECT_EQ(blocks_of(rows[0])[0].flags & AGENTD_BLOCK_ELIDED, 0);
  EXPECT_TRUE(view_of(blocks_of(rows[0])[0].blob).empty());
}

TEST(Rows, ElidedPrefixEndsBetweenTwoCharacters) {
  Rows rows;
  std::string whole = "a";
  while (whole.size() < Rows::kElideBytes + 10) whole += "\xE2\x82\xAC";
  rows.append(said_by_user(whole), 1, 0, "C");
  const std::string_view prefix = view_of(blocks_of(rows[0])[0].text);
  EXPECT_LE(prefix.size(), Rows::kElideBytes);
  EXPECT_EQ((prefix.size() - 1) % 3, 0u);
}

TEST(Rows, CopiedRowKeepsTheWholeTextAndTheBlobOfAnyBlock) {
  Rows rows;
  Message message = said_by_user("short");
  message.blocks.push_back(Block::of_text(std::string(Rows::kElideBytes + 1, 'q')));
  rows.append(message, 5, 6, "CONV");
  Rows copy;
  copy.append_copy(rows[0]);
  EXPECT_EQ(fingerprint(copy[0]), fingerprint(rows[0]));
  EXPECT_EQ(view_of(blocks_of(copy[0])[1].blob), "CONV:5:1");
}

TEST(Rows, RowBecomesTheMessageItWasMadeFrom) {
  Message message = Message::of_text(Role::kAssistant, "text");
  Block thinking;
  thinking.kind = BlockKind::kThinking;
  thinking.text = "hm";
  thinking.opaque = std::string("sig\0nature", 10);
  message.blocks.push_back(thinking);
  message.blocks.push_back(Block::tool_use("c1", "bash", R"({"a":1})"));
  Block result = Block::tool_result("c0", "out", true);
  Block image;
  image.kind = BlockKind::kImage;
  image.name = "image/png";
  image.opaque = "AAAA";
  result.parts = {image, Block::of_text("caption")};
  message.blocks.push_back(result);
  message.flags = AGENTD_MESSAGE_INTERRUPTED;
  Rows rows;
  rows.append(message, 1, 0);
  EXPECT_EQ(to_message(rows[0]), message);
}

TEST(Rows, TokensAreTheSumOfTheRows) {
  Rows rows(testing::simple_count());
  rows.append(said_by_user("12345678"), 1, 0);
  rows.append(said_by_user(""), 2, 0);
  EXPECT_EQ(rows[0].tokens, 6u);
  EXPECT_EQ(rows[1].tokens, 4u);
  EXPECT_EQ(rows.tokens(), 10u);
}

TEST(Rows, IndexOfFindsASequenceAndTheSizeForNone) {
  Rows rows;
  for (const std::uint64_t seq : {50u, 40u, 48u, 53u}) rows.append(said_by_user("x"), seq, 0);
  EXPECT_EQ(rows.index_of(50), 0u);
  EXPECT_EQ(rows.index_of(53), 3u);
  EXPECT_EQ(rows.index_of(41), rows.size());
}

TEST(Rows, SliceNamesTheRowsAsked) {
  Rows rows;
  for (std::uint64_t seq = 1; seq <= 5; ++seq) rows.append(said_by_user("x"), seq, 0);
  const agentd_list part = rows.slice(1, 3);
  ASSERT_EQ(part.count, 3u);
  EXPECT_EQ(messages_of(part)[0].seq, 2u);
  EXPECT_EQ(messages_of(part)[2].seq, 4u);
  EXPECT_EQ(rows.slice(5, 0).count, 0u);
}

TEST(RowsDeathTest, SliceBeyondTheEndIsABug) {
  Rows rows;
  rows.append(said_by_user("x"), 1, 0);
  EXPECT_DEATH(
      {
        auto list = rows.slice(1, 1);
        (void)list;
      },
      "does not hold");
}

TEST(Arena, MemoryIsAlignedAndApart) {
  Arena arena;
  for (const std::size_t align : {1u, 2u, 8u, 64u}) {
    auto* const a = static_cast<char*>(arena.allocate(3, align));
    auto* const b = static_cast<char*>(arena.allocate(3, align));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % align, 0u);
    EXPECT_TRUE(b >= a + 3 || a >= b + 3);
  }
}

TEST(Arena, OneAllocationMayBeLargerThanAnyChunk) {
  Arena arena;
  auto* const big = static_cast<char*>(arena.allocate(5u << 20, 64));
  big[(5u << 20) - 1] = 1;
  EXPECT_EQ(arena.bytes(), 5u << 20);
}

TEST(Arena, EmptyTextIsPresentAndEmpty) {
  Arena arena;
  const agentd_str text = arena.copy({});
  EXPECT_NE(text.ptr, nullptr);
  EXPECT_EQ(text.len, 0u);
}

}  // namespace
}  // namespace agentd
