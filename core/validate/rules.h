// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the table of rules that `agentd hooks validate` checks.
//
// Numbers never change. docs/reference/abi-rules.md is made from this table.
//
// Threading: immutable data.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace agentd::validation {

struct RuleSpec {
  std::uint16_t number = 0;  // 101 is written A101
  std::string_view title;    // the condition; completes a sentence
  std::string_view why;      // the consequence of breaking it
  std::string_view remedy;   // the fix, an imperative
  bool warns = false;        // breaking it is only a warning
  bool in_process = false;   // relevant only in agentd's own process, not in a worker
};

std::span<const RuleSpec> all_rules();
// REQUIRES: a number of the table.
const RuleSpec& rule(std::uint16_t number);
// "A101" for 101.
std::string rule_name(std::uint16_t number);
// The numbers meant by "A101", "a4" or "A4xx"; empty = none.
std::vector<std::uint16_t> rules_named(std::string_view text);
// The text of docs/reference/abi-rules.md.
std::string rules_reference();

}  // namespace agentd::validation
