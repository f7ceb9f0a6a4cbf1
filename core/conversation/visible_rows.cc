// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/visible_rows.h"

#include <algorithm>
#include <string>

namespace agentd {
namespace {

// The media types that at least one vendor accepts; a plugin's result may have others.
bool is_known_image(std::string_view type) {
  return type == "image/png" || type == "image/jpeg" || type == "image/gif" || type == "image/webp";
}

struct Sight {
  bool images, documents;
  bool sees(std::uint16_t kind, std::string_view type) const {
    return (kind != AGENTD_BLOCK_IMAGE || (images && is_known_image(type))) &&
           (kind != AGENTD_BLOCK_DOCUMENT || (documents && type == "application/pdf"));
  }
  bool sees_all(const agentd_block& block) const {
    const auto* const parts = static_cast<const agentd_block*>(block.parts.first);
    return sees(block.kind, view_of(block.name)) &&
           std::all_of(parts, parts + block.parts.count,
                       [&](const agentd_block& part) { return sees(part.kind, view_of(part.name)); });
  }
  bool sees_all(const agentd_message& row) const {
    const agentd_block* const blocks = blocks_of(row);
    return std::all_of(blocks, blocks + row.blocks.count, [&](const agentd_block& block) { return sees_all(block); });
  }
};

void put_words(Block& block, const Sight& sight) {
  for (Block& part : block.parts) put_words(part, sight);
  if (sight.sees(static_cast<std::uint16_t>(block.kind), block.name)) return;
  const std::string what = block.kind == BlockKind::kImage ? "an image, " : "a document, ";
  block =
      Block::of_text("[" + what + (block.text.empty() ? block.name : block.text) + ", which this model cannot see]");
}

}  // namespace

VisibleRows::VisibleRows(std::span<const agentd_message> rows, bool images, bool documents) : rows_(rows) {
  const Sight sight{images, documents};
  if (std::all_of(rows.begin(), rows.end(), [&](const agentd_message& row) { return sight.sees_all(row); })) return;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (sight.sees_all(rows[i])) continue;
    Message message = to_message(rows[i]);
    for (Block& block : message.blocks) put_words(block, sight);
    written_.append(message, rows[i].seq, rows[i].time_ms);
    places.push_back(i);
  }
  visible_.assign(rows.begin(), rows.end());
  for (std::uint32_t i = 0; i < places.size(); ++i) visible_[places[i]] = written_[i];
}

}  // namespace agentd
