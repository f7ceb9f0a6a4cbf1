// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_rules.h - permission rules about tools of MCP servers (mcp__SERVER__TOOL) that are about none.
//
// Tools come with their server, so such a rule is no error: the server may be another project's or an editor's.
//
// Threading: pure functions.

#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/trust/mcp_consents.h"
#include "core/workplace/mcp_setup.h"

namespace agentd {

struct McpRuleProblem {
  bool misspelt = false;  // another name is near, or the server is known and has no such tool
  std::string text;       // "FILE:LINE: permissions.deny: no MCP server is named 'dcos': did you mean 'docs'?"
};
// Rules that name a server which is not configured, or a tool that a server has never listed; rules with a glob in that
// name may be about tools that are added later. The tools are those that `consents` has.
std::vector<McpRuleProblem> mcp_rule_problems(const Config& config, const std::vector<McpServerHere>& servers,
                                              const McpConsents& consents);

}  // namespace agentd
