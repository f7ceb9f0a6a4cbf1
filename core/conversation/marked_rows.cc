// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/marked_rows.h"

#include <algorithm>
#include <optional>
#include <string>

namespace agentd {
namespace {

bool holds(const agentd_message& row, std::uint16_t kind) {
  const agentd_block* const blocks = blocks_of(row);
  return std::any_of(blocks, blocks + row.blocks.count,
                     [kind](const agentd_block& block) { return block.kind == kind; });
}

bool is_partial(const agentd_message& row) {
  return row.role == AGENTD_ROLE_ASSISTANT && (row.flags & AGENTD_MESSAGE_INTERRUPTED) != 0;
}

std::string_view cause_text(Interruption why) {
  switch (why) {
    case Interruption::kEnded:
      return "";
    case Interruption::kError:
      return " by an error";
    case Interruption::kHook:
      return " by a hook";
  }
  return "";
}

// The note after a row; empty = none.
std::string mark_of(const agentd_message& row, const Origins* origins) {
  auto why = origins == nullptr ? std::nullopt : origins->interruption_behind(row.seq);
  if (!why && !is_partial(row)) return {};
  std::string text = "[interrupted" + std::string(cause_text(why.value_or(Interruption::kEnded)));
  if (is_partial(row)) return text + ": the answer above is not whole]";
  // The failure came after the answer.
  if (row.role == AGENTD_ROLE_ASSISTANT && !holds(row, AGENTD_BLOCK_TOOL_USE)) return {};
  const bool asks = row.role == AGENTD_ROLE_USER && (row.flags & AGENTD_MESSAGE_CONTEXT) == 0 &&
                    !holds(row, AGENTD_BLOCK_TOOL_RESULT);
  return text + (asks ? ": the message above was not answered]" : "]");
}

}  // namespace

MarkedRows::MarkedRows(std::span<const agentd_message> rows, const Origins* origins) : rows_(rows) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string text = mark_of(rows[i], origins);
    if (text.empty()) continue;
    Message mark = Message::of_text(Role::kUser, text);
    mark.flags = AGENTD_MESSAGE_CONTEXT;
    marks_.append(mark, 0, rows[i].time_ms);
    // A call's results must directly follow it.
    std::size_t place = i;
    while (place + 1 < rows.size() && holds(rows[place + 1], AGENTD_BLOCK_TOOL_RESULT)) ++place;
    places.push_back(place);
  }
  if (places.empty()) return;
  marked_.reserve(rows.size() + places.size());
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    marked_.push_back(rows[i]);
    while (next < places.size() && places[next] == i) marked_.push_back(marks_[next++]);
  }
}

}  // namespace agentd
