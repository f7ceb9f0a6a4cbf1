// SPDX-License-Identifier: Apache-2.0
#pragma once
// permission_setup.h - permission rules of the configuration, and their errors.
//
// A rule that matches nothing silently protects nothing. So names of other tools (Bash, Edit, run_shell_command)
// are understood, in any case, and a rule that no tool can match is an error.
//
// Threading: pure functions.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/tools/permission.h"

namespace agentd {

PermissionRules permission_rules(const Config& config);

struct RuleProblem {
  bool broken = false;  // an error; otherwise a warning
  std::string text;     // "FILE:LINE: permissions.deny: no tool is named 'Bsh': did you mean 'bash'?"
};
// Calls with the tool's name, or the glob, of each rule, and with the rule's place: "FILE:LINE: permissions.deny: ".
void each_rule(const Config& config,
               const std::function<void(const std::string& tool, const std::string& place)>& visit);

// Why no tool has the name or matches the glob; nullopt: one does. Arguments as of rule_problems().
std::optional<RuleProblem> tool_problem(const std::string& tool, const std::vector<std::string>& tools, bool complete);

// The rules that match no tool. `tools` are the offered ones; `complete`: there are no others.
std::vector<RuleProblem> rule_problems(const Config& config, const std::vector<std::string>& tools, bool complete);

}  // namespace agentd
