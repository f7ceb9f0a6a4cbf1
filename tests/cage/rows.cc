// SPDX-License-Identifier: Apache-2.0
#include "tests/cage/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace agentd::testing {
namespace {

std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size())
      out += text[++i] == 'n' ? '\n' : text[i];
    else
      out += text[i];
  }
  return out;
}

}  // namespace

std::vector<HostileRow> hostile_rows() {
  std::vector<HostileRow> out;
  std::ifstream file(HOSTILE_ROWS);
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (line.starts_with('#') || second == std::string::npos) continue;
    out.push_back({line.substr(0, first), unescaped(line.substr(second + 1)), line[first + 1] == '+'});
  }
  return out;
}

std::vector<HostileRow> hostile_rows(const std::vector<std::string>& names) {
  const std::vector<HostileRow> all = hostile_rows();
  std::vector<HostileRow> out;
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const HostileRow& row) { return row.name == name; });
    EXPECT_NE(found, all.end()) << "hostile.txt has no row " << name;
    if (found != all.end()) out.push_back(*found);
  }
  return out;
}

}  // namespace agentd::testing
