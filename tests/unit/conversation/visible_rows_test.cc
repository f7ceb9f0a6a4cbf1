// SPDX-License-Identifier: Apache-2.0
// Only content that a model cannot see is replaced by a text; the rest of a request is unchanged.
#include "core/conversation/visible_rows.h"

#include <gtest/gtest.h>

namespace agentd {
namespace {

Block media(BlockKind kind, std::string title = {}) {
  Block out;
  out.kind = kind;
  out.name = kind == BlockKind::kImage ? "image/png" : "application/pdf";
  out.opaque = "AAAA";
  out.text = std::move(title);
  return out;
}

Rows talk() {
  Rows rows;
  rows.append({Role::kUser, 0, {media(BlockKind::kImage), Block::of_text("what is it?")}}, 1, 0);
  rows.append(Message::of_text(Role::kAssistant, "a cat"), 2, 0);
  rows.append({Role::kUser, 0, {media(BlockKind::kDocument, "plan.pdf")}}, 3, 0);
  Block result = Block::tool_result("c", "shot", false);
  result.parts.push_back(media(BlockKind::kImage));
  rows.append({Role::kUser, 0, {result}}, 4, 0);
  return rows;
}

std::string text_of(const agentd_message& row) { return to_message(row).text(); }

TEST(VisibleRows, AreTheRowsWhereEverythingCanBeSeen) {
  const Rows rows = talk();
  const VisibleRows all({rows.begin(), rows.size()}, true, true);
  EXPECT_EQ(all.rows().data(), rows.begin());
  const VisibleRows some({rows.begin() + 1, 1}, false, false);
  EXPECT_EQ(some.rows().data(), rows.begin() + 1) << "nothing to see in it";
}

TEST(VisibleRows, HaveAWordForWhatCannotBeSeen) {
  const Rows rows = talk();
  const VisibleRows blind({rows.begin(), rows.size()}, false, false);
  ASSERT_EQ(blind.rows().size(), rows.size());
  EXPECT_EQ(text_of(blind.rows()[0]), "[an image, image/png, which this model cannot see]\n\nwhat is it?");
  EXPECT_EQ(blind.rows()[1].blocks.first, rows[1].blocks.first) << "as it came";
  EXPECT_EQ(text_of(blind.rows()[2]), "[a document, plan.pdf, which this model cannot see]");
  const Message result = to_message(blind.rows()[3]);
  ASSERT_EQ(result.blocks[0].parts.size(), 1u);
  EXPECT_EQ(result.blocks[0].parts[0].kind, BlockKind::kText);
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(blind.rows()[i].seq, rows[i].seq);
  // One of the two.
  const VisibleRows sees({rows.begin(), rows.size()}, true, false);
  EXPECT_EQ(to_message(sees.rows()[0]).blocks[0].kind, BlockKind::kImage);
  EXPECT_EQ(to_message(sees.rows()[2]).blocks[0].kind, BlockKind::kText);
}

TEST(VisibleRows, HaveAWordForAPictureThatNoModelCanSee) {
  Rows rows;
  Block scan = media(BlockKind::kImage), memo = media(BlockKind::kDocument, "memo");
  scan.name = "image/tiff";
  memo.name = "text/plain";
  rows.append({Role::kUser, 0, {scan, memo, media(BlockKind::kImage)}}, 1, 0);
  const VisibleRows all({rows.begin(), rows.size()}, true, true);
  EXPECT_EQ(text_of(all.rows()[0]),
            "[an image, image/tiff, which this model cannot see]\n\n[a document, memo, which this model cannot see]");
  EXPECT_EQ(to_message(all.rows()[0]).blocks[2].kind, BlockKind::kImage);
}

}  // namespace
}  // namespace agentd
