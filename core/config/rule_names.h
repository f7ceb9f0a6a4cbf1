// SPDX-License-Identifier: Apache-2.0
#pragma once
// rule_names.h - which tools a permission rule names, and whether it can be a rule at all.
//
// Threading: pure functions.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/tools/permission_rule.h"

namespace agentd {

// The tools that agentd has a name for, also those that no plugin brings here.
std::set<std::string> known_tools();

// The ones that agentd has, whether they are on here or not. It has no tool like the others: ls, web_search.
std::set<std::string> own_tools();
// The replacement of one of those others, for a message: "glob and bash list folders". Empty for any other name.
std::string_view instead_of(std::string_view tool);

// Why the text is not a rule, or one that can match nothing whatever tools there are. Empty if it is one.
std::string wrong_rule(std::string_view rule);

// The rules that a text means, one for each of its tools. `place`: PermissionRule::place. kInvalid as wrong_rule().
Result<std::vector<PermissionRule>> rules_of(std::string_view rule, const std::string& place);

// agentd's names for the tool of a rule: "Bash" is bash, "MultiEdit" is edit_file too. A glob, and an unknown name, are
// unchanged.
std::vector<std::string> tools_of_rule(std::string_view rule);

}  // namespace agentd
