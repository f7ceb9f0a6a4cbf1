// SPDX-License-Identifier: Apache-2.0
#pragma once
// rule_names.h - which tools a permission rule names, and whether it can be a rule at all.
//
// Threading: pure functions.

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agentd {

// The tools that agentd has a name for, also those that no plugin brings here.
std::set<std::string> known_tools();

// Why the text is not a rule: it is blank, or about arguments such as "Bash(rm *)". Empty if it is one.
std::string wrong_rule(std::string_view rule);

// agentd's names for a rule: "Bash" is bash, "MultiEdit" is edit_file too. A glob, and an unknown name, are
// unchanged.
std::vector<std::string> tools_of_rule(std::string_view rule);

}  // namespace agentd
