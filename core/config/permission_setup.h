// SPDX-License-Identifier: Apache-2.0
#pragma once
// permission_setup.h - permission rules from the configuration, and what is wrong with them.
//
// A rule that matches nothing protects nothing, and nobody notices. So a name is understood as
// other tools write it (Bash, Edit, run_shell_command) and in any case, and a rule that no tool can
// match is an error.
//
// Threading: pure functions.

#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/tools/tool.h"

namespace agentd {

PermissionRules permission_rules(const Config& config);

struct RuleProblem {
  bool broken = false;  // nothing may run with it; otherwise it is worth a warning
  std::string text;     // "FILE:LINE: permissions.deny: no tool is named 'Bsh': did you mean 'bash'?"
};
// What no tool matches. `tools` are those that are offered; `complete`: there are no others.
std::vector<RuleProblem> rule_problems(const Config& config, const std::vector<std::string>& tools, bool complete);

}  // namespace agentd
