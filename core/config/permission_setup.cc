// SPDX-License-Identifier: Apache-2.0
#include "core/config/permission_setup.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/config/rule_names.h"

namespace agentd {
namespace {

constexpr std::size_t kShownBytes = 80;
constexpr std::string_view kLists[] = {"permissions.allow", "permissions.ask", "permissions.deny"};

bool is_glob(std::string_view rule) { return rule.find_first_of("*?[") != std::string_view::npos; }

bool matches_one(const std::string& rule, const std::set<std::string>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return ::fnmatch(rule.c_str(), name.c_str(), FNM_CASEFOLD) == 0; });
}

RuleProblem problem_of(const std::string& where, const std::string& rule, const std::set<std::string>& names,
                       bool complete) {
  const std::vector<std::string> all(names.begin(), names.end());
  const std::string head = ascii_lower(rule.substr(0, rule.find_first_of("*?[")));
  const std::string mean = did_you_mean(head, all);
  const std::string shown = "'" + one_line(rule, kShownBytes) + "'";
  if (is_glob(rule))
    return {!mean.empty(), where + shown + " matches no tool" + (mean.empty() ? " present here" : mean)};
  if (!mean.empty()) return {true, where + "no tool is named " + shown + mean};
  return {complete, where + "no tool is named " + shown + " here; agentd has " + join(all, ", ") +
                        ". Write a tool that is not always present as a glob, such as '" + one_line(rule, kShownBytes) +
                        "*'"};
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

std::vector<RuleProblem> rule_problems(const Config& config, const std::vector<std::string>& tools, bool complete) {
  std::set<std::string> names = known_tools();
  names.insert(tools.begin(), tools.end());
  std::vector<RuleProblem> out;
  for (const std::string_view list : kLists)
    for (const Candidate& said : config.candidates(list))
      for (const std::string& text : said.value.items) {
        const auto parts = rule_parts(text);
        const std::string rule = parts ? parts->tool : text;
        const std::vector<std::string> meant = tools_of_rule(rule);
        if (std::any_of(meant.begin(), meant.end(), [&](const std::string& name) { return matches_one(name, names); }))
          continue;
        out.push_back(problem_of(said.origin + ": " + std::string(list) + ": ", rule, names, complete));
      }
  return out;
}

}  // namespace agentd
