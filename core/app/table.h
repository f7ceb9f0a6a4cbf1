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
  bool number = false;  // aligned to the right
  bool spare = false;   // omitted without room; its information is available elsewhere
};

// The width of the text in terminal columns, estimated from the first bytes of its characters.
std::size_t text_width(std::string_view text);

// The names, then the rows, one line each without its end; columns are separated by two spaces. If they do not fit
// into `width`, spare columns are omitted, the last first, and then the cells of the last column, if it has texts,
// are truncated with "…". A longer cell than 40 in another column is never truncated and shifts the rest of its
// row, so that names can be copied. Every row has a cell for each column.
std::vector<std::string> table_lines(std::vector<Column> columns, std::vector<std::vector<std::string>> rows,
                                     std::size_t width);
std::string table_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows,
                       std::size_t width);

}  // namespace agentd::app
