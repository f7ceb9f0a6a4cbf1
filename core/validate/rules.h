// SPDX-License-Identifier: Apache-2.0
#pragma once
// rules.h - the rules that `agentd hooks validate` checks a module by: the one table of their numbers.
//
// Numbers are for ever. docs/reference/abi-rules.md is printed from here.
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
  std::string_view title;    // what holds, ends no sentence
  std::string_view why;      // what happens when it does not
  std::string_view remedy;   // what to do, an imperative
  bool warns = false;        // breaking it is worth a warning and no failure
  bool in_process = false;   // it matters in agentd's own process alone, and not in a worker
};

std::span<const RuleSpec> all_rules();
// REQUIRES: a number of the table.
const RuleSpec& rule(std::uint16_t number);
// "A101".
std::string rule_name(std::uint16_t number);
// The numbers that "A101", "a4" or "A4xx" mean; empty = none.
std::vector<std::uint16_t> rules_named(std::string_view text);
// docs/reference/abi-rules.md.
std::string rules_reference();

}  // namespace agentd::validation
