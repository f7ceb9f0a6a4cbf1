// SPDX-License-Identifier: Apache-2.0
#pragma once
// rows.h - what a hostile model runs: the rows of hostile.txt.
//
// Threading: pure functions on the file.

#include <string>
#include <vector>

namespace agentd::testing {

struct HostileRow {
  std::string name, script;
  bool harms = false;  // without a cage, wherever this test runs
};

std::vector<HostileRow> hostile_rows();
// Those with these names; the test fails if one is missing.
std::vector<HostileRow> hostile_rows(const std::vector<std::string>& names);

}  // namespace agentd::testing
