// SPDX-License-Identifier: Apache-2.0
// hook_checks.cc - the settings that name hooks and tools, held against those that are there.
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/bytes.h"
#include "core/config/permission_setup.h"
#include "core/workplace/hook_names.h"
#include "core/workplace/hooks.h"

namespace agentd {
namespace {

RunError wrong_setting(std::string why) { return {RunError::Kind::kUsage, std::move(why)}; }

// A hook that is switched on by its name and kept out by a glob.
std::string switched_both_ways(const Config& config, const HookSetup& setup) {
  for (const auto& [name, settings] : setup.options.settings) {
    const std::string key = "hooks." + name + ".enabled";
    if (!settings.enabled.value_or(false) || !config.is_set(key)) continue;
    const bool off = is_off(setup.options, name);
    if (!off && is_allowed(setup.options, name)) continue;
    return config.origin(key) + ": " + key + " is true, and " + (off ? "hooks.disable" : "hooks.allow") +
           " excludes the hook: change one of the two";
  }
  return {};
}

bool is_bundled(const HookSetup& setup, const std::string& name) {
  return ::access((setup.bundled + "/" + name + ".so").c_str(), F_OK) == 0;
}

// Rules for a bundled hook that is not enabled would have no effect.
std::string configured_and_off(const Config& config, const HookSetup& setup, const HookHost& host,
                               const std::string& name) {
  const std::string key = "hooks." + name + ".";
  const std::string said = config.is_set(key + "config") ? key + "config" : key + "on_failure";
  const bool off =
      config.is_set(said) && !config.is_set(key + "enabled") && host.kind_of(name).empty() && is_bundled(setup, name);
  return off ? config.origin(said) + ": hooks." + name + " is configured but not enabled: set hooks." + name +
                   ".enabled to true, or to false"
             : std::string();
}

}  // namespace

Result<void, RunError> Hooks::check(const HookSetup& setup) {
  if (std::string why = switched_both_ways(config_, setup); !why.empty()) return wrong_setting(std::move(why));
  for (const std::string& sentence : host_->guards_kept_out()) warn_(sentence);
  return check_names(setup);
}

// Settings for missing hooks. The files are only searched for names that are not obviously right.
Result<void, RunError> Hooks::check_names(const HookSetup& setup) const {
  std::vector<std::string> names = config_.hook_names();
  for (const std::string& name : names)
    if (std::string why = configured_and_off(config_, setup, *host_, name); !why.empty())
      return wrong_setting(std::move(why));
  for (const char* list : {"hooks.order", "hooks.disable", "hooks.allow"})
    for (std::string& name : config_.list(list))
      if (name != "*") names.push_back(std::move(name));
  const bool right = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return !host_->kind_of(name).empty() || is_bundled(setup, name);
  });
  if (right) return {};
  for (const NameProblem& problem : hook_name_problems(config_, describe_all(setup.options, runtime_.clock()))) {
    if (problem.weight == NameProblem::Weight::kBroken) return wrong_setting(problem.text);
    if (problem.weight == NameProblem::Weight::kWarning) warn_(problem.text);
  }
  return {};
}

// Now that the tools are known: a rule that no tool can match is a mistake, and nothing runs with it.
Result<void, RunError> Hooks::check_tools() {
  if (!wishes_.tools || !host_) return {};
  std::vector<std::string> names;
  const std::vector<Tool> tools = host_->tools().tools();
  names.reserve(tools.size());
  for (const Tool& tool : tools) names.push_back(tool.name);
  for (const RuleProblem& problem : rule_problems(config_, names, true)) {
    if (problem.broken) return wrong_setting(problem.text);
    warn_(problem.text);
  }
  return wishes_.hooks ? check_definitions(tools) : Result<void, RunError>();
}

Result<void, RunError> Hooks::check_definitions(const std::vector<Tool>& tools) {
  for (const HookDefinition* const hook : host_->externals().definitions())
    if (const std::string why = unrunnable(*hook, config_.list("hooks.allow_hosts")); !why.empty()) {
      std::string text =
          hook->path + (hook->line == 0 ? "" : ":" + std::to_string(hook->line)) + ": hook " + hook->name + ": " + why;
      if (hook->precedence != Precedence::kProject) return wrong_setting(std::move(text));
      warn_(text);
    }
  std::set<std::string> told;  // a hook of several events has the same matcher for all of them
  std::vector<std::pair<HookDefinition, std::string>> idle;  // guards of a project that are asked about nothing
  for (const HookDefinition* const hook : host_->externals().definitions())
    for (const NameMistake& mistake : unknown_names(*hook, tools)) {
      if (mistake.broken) return wrong_setting(mistake.text);
      if (told.insert(mistake.text).second) warn_(mistake.text);
      if (mistake.slip && is_guard(*hook) && hook->precedence == Precedence::kProject)
        idle.emplace_back(*hook, mistake.text);
    }
  for (const auto& [hook, why] : idle) host_->block(hook, why);
  for (const auto& plugin : host_->natives().plugins())
    for (const NameMistake& mistake :
         config_name_mistakes(config_, plugin->identity().name, plugin->manifest(), tools)) {
      if (mistake.broken) return wrong_setting(mistake.text);
      warn_(mistake.text);
    }
  return {};
}

}  // namespace agentd
