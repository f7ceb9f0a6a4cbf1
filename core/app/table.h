// SPDX-License-Identifier: Apache-2.0
#pragma once
// table.h - a table of texts in columns, for a terminal and for `column`-like tools behind a pipe.
//
// Threading: pure functions.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::app {

struct Column {
  std::string_view name;
  bool number = false;  // stands at the right of its column
  bool spare = false;   // left out where there is no room; what it tells stands elsewhere, too
};

// Columns of a terminal that the text takes, as far as its characters' first bytes tell.
std::size_t text_width(std::string_view text);

// The names, then the rows, a line each without its end; two spaces part the columns. Where they do not fit into
// `width`, spare columns are left out, the last first, and then the last column, if it holds texts, ends its cells
// with "…". A cell over 40 in another column pushes the rest of its row aside, whole: names are for typing again.
// Every row has a cell for each column.
std::vector<std::string> table_lines(std::vector<Column> columns, std::vector<std::vector<std::string>> rows,
                                     std::size_t width);
std::string table_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                       std::size_t width);

}  // namespace agentd::app
