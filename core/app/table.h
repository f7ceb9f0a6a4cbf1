// SPDX-License-Identifier: Apache-2.0
#pragma once
// table.h - a table of texts in columns, for a terminal and for `column`-like tools behind a pipe.
//
// Threading: a pure function.

#include <string>
#include <string_view>
#include <vector>

namespace agentd::app {

struct Column {
  std::string_view name;
  bool number = false;  // stands at the right of its column
};

// The names, then the rows, a line each; two spaces part the columns. Every row has a cell for each column.
std::string table_text(const std::vector<Column>& columns, const std::vector<std::vector<std::string>>& rows);

}  // namespace agentd::app
