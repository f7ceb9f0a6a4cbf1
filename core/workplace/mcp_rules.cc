// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/mcp_rules.h"

#include <algorithm>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/config/permission_setup.h"
#include "providers/mcp/definitions.h"

namespace agentd {
namespace {

constexpr std::size_t kShownRuleBytes = 80, kToolsShown = 10;
constexpr std::string_view kPrefix = "mcp__", kBetween = "__";

bool is_mcp_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

// The names by which rules know a server's tools, in lower case; empty = they are not known.
std::vector<std::string> tools_of(const McpServerHere& server, const McpConsents& consents) {
  const McpConsent* const known = consents.find(server.settings.name, server.repository);
  std::vector<mcp::Definition> all;
  if (known != nullptr && known->tools)
    for (const McpConsent::Tool& tool : *known->tools) all.push_back({tool.name, {}, {}, {}, {}, {}});
  if (known != nullptr)
    for (const std::string& held : known->held)
      if (std::none_of(all.begin(), all.end(), [&](const auto& each) { return each.name == held; }))
        all.push_back({held, {}, {}, {}, {}, {}});
  const std::string prefix = ascii_lower(std::string(kPrefix) + server.settings.name + std::string(kBetween));
  std::vector<std::string> out;
  for (const std::string& name : mcp::names_of(server.settings.name, all, std::vector<bool>(all.size(), true)))
    if (name.size() > prefix.size()) out.push_back(ascii_lower(name.substr(prefix.size())));
  return out;
}

std::string shown(std::string_view text) { return "'" + one_line(text, kShownRuleBytes) + "'"; }

std::optional<McpRuleProblem> problem_of(const std::string& rule, const std::vector<McpServerHere>& servers,
                                         const McpConsents& consents) {
  const std::string low = ascii_lower(rule);
  if (!low.starts_with(kPrefix)) return std::nullopt;
  const std::string rest = low.substr(kPrefix.size());
  const std::size_t between = rest.find(kBetween);
  const std::string name = rest.substr(0, between);
  if (is_mcp_glob(name)) return std::nullopt;
  const auto server = std::find_if(servers.begin(), servers.end(),
                                   [&](const McpServerHere& each) { return ascii_lower(each.settings.name) == name; });
  if (server == servers.end()) {
    std::vector<std::string> names;
    for (const McpServerHere& each : servers) names.push_back(each.settings.name);
    const std::string mean = did_you_mean(name, names);
    return McpRuleProblem{!mean.empty(), "no MCP server is named " + shown(name) +
                                             (mean.empty() ? std::string(" here ('agentd mcp list' has them)") : mean)};
  }
  const std::string tool = between == std::string::npos ? "*" : rest.substr(between + kBetween.size());
  std::vector<std::string> tools = tools_of(*server, consents);
  if (is_mcp_glob(tool) || tools.empty() || std::find(tools.begin(), tools.end(), tool) != tools.end())
    return std::nullopt;
  std::string text = "the MCP server " + server->settings.name + " has no tool " + shown(tool);
  const std::string mean = did_you_mean(tool, tools);
  const bool more = tools.size() > kToolsShown;
  tools.resize(std::min(tools.size(), kToolsShown));
  text += !mean.empty() ? mean : ": it has " + one_line(join(tools, ", "), kShownRuleBytes * 5) + (more ? ", ..." : "");
  return McpRuleProblem{true, std::move(text)};
}

}  // namespace

std::vector<McpRuleProblem> mcp_rule_problems(const Config& config, const std::vector<McpServerHere>& servers,
                                              const McpConsents& consents) {
  std::vector<McpRuleProblem> out;
  each_rule(config, [&](const std::string& tool, const std::string& place) {
    auto problem = problem_of(tool, servers, consents);
    if (!problem) return;
    problem->text = place + problem->text;
    out.push_back(std::move(*problem));
  });
  return out;
}

}  // namespace agentd
