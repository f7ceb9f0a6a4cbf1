// SPDX-License-Identifier: Apache-2.0
#include "core/app/table.h"

#include <algorithm>

namespace agentd::app {

std::string table_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    widths.push_back(columns[i].name.size());
    for (const auto& row : rows) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  const auto add_line = [&](auto cell_of) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::string cell(cell_of(i));
      if (columns[i].number) cell.insert(0, widths[i] - cell.size(), ' ');
      if (i + 1 < columns.size()) cell.resize(widths[i] + 2, ' ');
      out += cell;
    }
    out += '\n';
  };
  add_line([&](std::size_t i) { return columns[i].name; });
  for (const auto& row : rows) add_line([&](std::size_t i) { return std::string_view(row[i]); });
  return out;
}

}  // namespace agentd::app
