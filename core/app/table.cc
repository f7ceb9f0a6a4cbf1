// SPDX-License-Identifier: Apache-2.0
#include "core/app/table.h"

#include <algorithm>
#include <numeric>

namespace agentd::app {
namespace {

constexpr std::size_t kGap = 2, kWideCell = 40;
// Columns are omitted until the last one is that wide; if none is left, it may be narrower.
constexpr std::size_t kLastWanted = 20, kLastMin = 12;

std::size_t character_width(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if ((byte & 0xC0) == 0x80) return 0;
  return byte >= 0xE3 ? 2 : 1;  // from U+3000 on: CJK, emoji
}

// The part that fits, preferably up to a comma or a blank in its second half.
std::string cut(std::string_view text, std::size_t width) {
  if (text_width(text) <= width) return std::string(text);
  std::size_t end = 0, used = 1;  // of "…"
  for (; end < text.size() && used + character_width(text[end]) <= width; ++end) used += character_width(text[end]);
  const std::size_t pause = text.find_last_of(", ", end);
  if (pause != std::string_view::npos && pause >= end / 2) end = std::min(end, pause + 1);
  return std::string(text.substr(0, end)) + "…";
}

std::vector<std::size_t> widths_of(const std::vector<Column>& columns,
                                   const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out.push_back(columns[i].name.size());
    const bool last = i + 1 == columns.size();
    for (const auto& row : rows)
      if (const std::size_t width = text_width(row[i]); last || width <= kWideCell) out[i] = std::max(out[i], width);
  }
  return out;
}

// The narrowest that the table can be without leaving out a column.
std::size_t least_width(const std::vector<Column>& columns, const std::vector<std::size_t>& widths) {
  const std::size_t last = columns.back().number ? widths.back() : std::min(widths.back(), kLastWanted);
  return std::accumulate(widths.begin(), widths.end() - 1, last + kGap * (widths.size() - 1));
}

}  // namespace

std::size_t text_width(std::string_view text) {
  return std::accumulate(text.begin(), text.end(), std::size_t{0},
                         [](std::size_t sum, char c) { return sum + character_width(c); });
}

std::vector<std::string> table_lines(std::vector<Column> columns, std::vector<std::vector<std::string>> rows,
                                     std::size_t width) {
  std::vector<std::size_t> widths = widths_of(columns, rows);
  for (std::size_t i = columns.size(); i-- > 1 && least_width(columns, widths) > width;) {
    if (!columns[i].spare) continue;
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    widths = widths_of(columns, rows);
  }
  std::vector<std::string> names;
  for (const Column& column : columns) names.emplace_back(column.name);
  rows.insert(rows.begin(), std::move(names));
  std::vector<std::string> out;
  for (const auto& row : rows) {
    std::string& line = out.emplace_back();
    std::size_t used = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool last = i + 1 == columns.size();
      const std::size_t room = std::max(width > used ? width - used : 0, kLastMin);
      const std::string cell = last && !columns[i].number ? cut(row[i], room) : row[i];
      const std::size_t taken = text_width(cell), padding = taken < widths[i] ? widths[i] - taken : 0;
      if (columns[i].number) line.append(padding, ' ');
      line += cell;
      if (!last) line.append(columns[i].number ? kGap : padding + kGap, ' ');
      used += taken + padding + kGap;
    }
  }
  return out;
}

std::string table_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                       std::size_t width) {
  std::string out;
  for (const std::string& line : table_lines(columns, rows, width)) out += line + "\n";
  return out;
}

}  // namespace agentd::app
