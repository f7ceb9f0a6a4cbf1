// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/compaction/compaction.h"
#include "tests/support/histories.h"

namespace agentd {
namespace {

const SimpleEstimator kEstimator;

std::vector<std::string> pieces_of(const Rows& rows, std::uint64_t tokens) {
  return render_pieces({rows.begin(), rows.size()}, tokens, kEstimator);
}

std::string all(const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& piece : pieces) out += piece + "\n";
  return out;
}

TEST(Pieces, CarryRolesArgumentsResultsThinkingAndImages) {
  Rows rows;
  rows.append(Message::of_text(Role::kSummary, "before that"), 1, 0);
  rows.append(Message::of_text(Role::kUser, "please"), 2, 0);
  Message call = Message::of_text(Role::kAssistant, "I look");
  Block thinking;
  thinking.kind = BlockKind::kThinking;
  thinking.text = "hmm";
  call.blocks.push_back(thinking);
  call.blocks.push_back(Block::tool_use("c", "read_file", R"({"path":"src/a.cc"})"));
  rows.append(call, 3, 0);
  Message answer;
  answer.blocks = {Block::tool_result("c", "int main", true)};
  Block image;
  image.kind = BlockKind::kImage;
  image.name = "image/png";
  answer.blocks[0].parts.push_back(image);
  rows.append(answer, 4, 0);
  const auto pieces = pieces_of(rows, 1'000);
  ASSERT_EQ(pieces.size(), 1u);
  for (const char* part :
       {"[summary of what was before]\nbefore that", "[user]\nplease", "I look", "hmm",
        R"((calls read_file) {"path":"src/a.cc"})", "(the tool failed) int main", "(an image) image/png"})
    EXPECT_NE(pieces[0].find(part), std::string::npos) << part << "\n" << pieces[0];
}

TEST(Pieces, HoldWholeMessagesInOrder) {
  Rows rows;
  for (int i = 0; i < 20; ++i)
    rows.append(Message::of_text(Role::kUser, "<" + std::to_string(i) + std::string(380, 'x') + ">"),
                static_cast<std::uint64_t>(i + 1), 0);
  const auto pieces = pieces_of(rows, 250);
  EXPECT_EQ(pieces.size(), 10u);
  for (const std::string& piece : pieces) {
    EXPECT_LE(kEstimator.count_text(piece), 250u);
    EXPECT_EQ(std::count(piece.begin(), piece.end(), '<'), std::count(piece.begin(), piece.end(), '>'));
  }
  std::size_t at = 0;
  const std::string text = all(pieces);
  for (int i = 0; i < 20; ++i) {
    at = text.find("<" + std::to_string(i) + "x", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(Pieces, OfALongMessageOverlapSoThatNothingIsTorn) {
  std::string text;
  for (int i = 0; i < 4'000; ++i) text += "[fact " + std::to_string(i) + " 日本語]";
  Rows rows;
  rows.append(Message::of_text(Role::kUser, text), 1, 0);
  for (const std::uint64_t tokens : {300u, 777u, 5'001u}) {
    const auto pieces = pieces_of(rows, tokens);
    EXPECT_GT(pieces.size(), 2u);
    for (const std::string& piece : pieces) EXPECT_TRUE(is_utf8(piece));
    for (int i = 0; i < 4'000; ++i) {
      const std::string fact = "[fact " + std::to_string(i) + " 日本語]";
      EXPECT_TRUE(std::any_of(pieces.begin(), pieces.end(),
                              [&](const std::string& piece) { return piece.find(fact) != std::string::npos; }))
          << fact << " at " << tokens;
    }
  }
}

TEST(Pieces, EndEvenWhenThereIsNoRoomAtAll) {
  Rows rows;
  rows.append(Message::of_text(Role::kUser, std::string(500, 'x') + "日本"), 1, 0);
  for (const std::string& piece : pieces_of(rows, 0)) EXPECT_TRUE(is_utf8(piece));
  EXPECT_TRUE(pieces_of(Rows(), 100).empty());
}

TEST(Pieces, OfTextsAreJoinedAsFarAsTheyFit) {
  const std::vector<std::string> texts(5, std::string(400, 's'));
  EXPECT_EQ(join_pieces(texts, 250, kEstimator).size(), 3u);
  EXPECT_EQ(join_pieces(texts, 10'000, kEstimator).size(), 1u);
}

}  // namespace
}  // namespace agentd
