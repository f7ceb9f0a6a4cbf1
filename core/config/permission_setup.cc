// SPDX-License-Identifier: Apache-2.0
#include "core/config/permission_setup.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/config/rule_names.h"
#include "core/dialects/tool_names.h"

namespace agentd {
namespace {

constexpr std::size_t kShownRuleBytes = 80;
constexpr std::string_view kOfServers = "mcp__";
constexpr std::string_view kLists[] = {"permissions.allow", "permissions.ask", "permissions.deny"};

bool is_glob(std::string_view rule) { return rule.find_first_of("*?[") != std::string_view::npos; }

bool matches_one(const std::string& rule, const std::set<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return ::fnmatch(rule.c_str(), name.c_str(), FNM_CASEFOLD) == 0; });
}

// The nearest tool, also by the name that another agent has for it: "Reed" is nearly "Read", which is read_file.
std::string did_you_mean_tool(const std::string& name, const std::set<std::string>& names) {
  std::vector<std::string> all(names.begin(), names.end());
  if (std::string mean = did_you_mean(ascii_lower(name), all); !mean.empty()) return mean;
  for (const Dialect dialect : all_dialects())
    for (const ToolRow& row : tools_of(dialect))
      if (names.count(std::string(row.canonical)) != 0) all.push_back(ascii_lower(row.foreign));
  const std::vector<std::string> meant = tools_of_rule(nearest(ascii_lower(name), all));
  const auto found = std::find_if(meant.begin(), meant.end(), [&](const auto& each) { return names.count(each) != 0; });
  return found == meant.end() ? std::string() : ": did you mean '" + *found + "'?";
}

RuleProblem problem_of(const std::string& rule, const std::set<std::string>& names, bool complete) {
  const std::string shown = "'" + one_line(rule, kShownRuleBytes) + "'";
  const std::vector<std::string> all(names.begin(), names.end());
  if (is_glob(rule)) {
    const std::string mean = did_you_mean(ascii_lower(rule.substr(0, rule.find_first_of("*?["))), all);
    return {!mean.empty(), shown + " matches no tool" + (mean.empty() ? " present here" : mean)};
  }
  const std::string glob = "'" + one_line(rule, kShownRuleBytes) + "*'";
  if (const std::string_view instead = instead_of(tools_of_rule(rule).front()); !instead.empty())
    return {complete, "agentd has no tool like " + shown + ": remove the rule (" + std::string(instead) +
                          "), or write " + glob + " for a tool that is added later"};
  if (const std::string mean = did_you_mean_tool(rule, names); !mean.empty())
    return {true, "no tool is named " + shown + mean};
  return {complete, "no tool is named " + shown + " here; agentd has " + join(all, ", ") +
                        ". Write a tool that is not always present as a glob, such as " + glob};
}

}  // namespace

PermissionRules permission_rules(const Config& config) {
  PermissionRules out;
  out.mode = find_permission_mode(config.text("permissions.mode")).value_or(PermissionRules::Mode::kAsk);
  std::vector<PermissionRule>* const lists[] = {&out.allow, &out.ask, &out.deny};
  for (std::size_t i = 0; i < std::size(lists); ++i)
    for (const Candidate& said : config.candidates(kLists[i]))
      for (const std::string& text : said.value.items)
        // Config::load() has refused what is no rule.
        if (auto rules = rules_of(text, said.origin))
          for (PermissionRule& rule : *rules) lists[i]->push_back(std::move(rule));
  return out;
}

std::optional<RuleProblem> tool_problem(const std::string& tool, const std::vector<std::string>& tools, bool complete) {
  if (tool.starts_with(kOfServers)) return std::nullopt;  // they come with their server, now or later
  std::set<std::string> names = own_tools();
  names.insert(tools.begin(), tools.end());
  const std::vector<std::string> meant = tools_of_rule(tool);
  if (std::any_of(meant.begin(), meant.end(), [&](const std::string& name) { return matches_one(name, names); }))
    return std::nullopt;
  return problem_of(tool, names, complete);
}

void each_rule(const Config& config,
               const std::function<void(const std::string& tool, const std::string& place)>& visit) {
  for (const std::string_view list : kLists)
    for (const Candidate& said : config.candidates(list))
      for (const std::string& text : said.value.items) {
        const auto parts = rule_parts(text);
        visit(parts ? parts->tool : text, said.origin + ": " + std::string(list) + ": ");
      }
}

std::vector<RuleProblem> rule_problems(const Config& config, const std::vector<std::string>& tools, bool complete) {
  std::vector<RuleProblem> out;
  each_rule(config, [&](const std::string& tool, const std::string& place) {
    auto problem = tool_problem(tool, tools, complete);
    if (!problem) return;
    problem->text = place + problem->text;
    out.push_back(std::move(*problem));
  });
  return out;
}

}  // namespace agentd
