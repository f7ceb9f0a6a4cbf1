// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/hook_names.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/nearest.h"

namespace agentd {
namespace {

constexpr std::size_t kShownNameBytes = 80;

bool is_glob(std::string_view name) { return name.find_first_of("*?[") != std::string_view::npos; }

bool bears(const HookSource& source, const std::string& name) {
  if (source.name == name) return true;
  if (std::any_of(source.hooks.begin(), source.hooks.end(),
                  [&](const HookDefinition& hook) { return hook.name == name; }))
    return true;
  // A file that may not be read yet has unknown hooks.
  return source.hooks.empty() && (name.starts_with(source.name + ".") || name.starts_with(kind_text(source) + "/"));
}

bool is_known(const Inventory& inventory, const std::string& name) {
  if (name.starts_with("project/") || name.starts_with("recipe/")) return true;
  return std::any_of(inventory.sources.begin(), inventory.sources.end(),
                     [&](const HookSource& source) { return bears(source, name); });
}

std::string sentence(const Inventory& inventory, const std::string& name) {
  std::vector<std::string> names;
  for (const HookSource& source : inventory.sources) {
    names.push_back(source.name);
    for (const HookDefinition& hook : source.hooks) names.push_back(hook.name);
  }
  const std::string mean = did_you_mean(name, names);
  return "no hook named '" + one_line(name, kShownNameBytes) + "'" +
         (mean.empty() ? "; 'agentd hooks list' shows all hooks" : mean);
}

bool must_act(const Config& config, const std::string& name) {
  const std::string key = "hooks." + name + ".";
  return (config.is_set(key + "enabled") && config.flag(key + "enabled")) ||
         config.text(key + "on_failure") == "closed";
}

std::string origin_of(const Config& config, const std::string& name) {
  const std::string key = "hooks." + name + ".";
  for (const std::string& each : config.free_keys())
    if (each.starts_with(key) && std::string(free_part(each)) == name) return config.origin(each);
  return "hooks." + name;
}

}  // namespace

std::vector<NameProblem> hook_name_problems(const Config& config, const Inventory& inventory) {
  using Weight = NameProblem::Weight;
  std::vector<NameProblem> out;
  for (std::string& problem : grant_problems(config)) out.push_back({Weight::kBroken, std::move(problem)});
  for (const std::string& name : config.hook_names())
    if (!is_known(inventory, name))
      out.push_back(
          {must_act(config, name) ? Weight::kBroken : Weight::kWarning,
           origin_of(config, name) + ": hooks." + one_line(name, kShownNameBytes) + ": " + sentence(inventory, name)});
  for (const char* list : {"hooks.order", "hooks.disable", "hooks.allow"})
    for (const Candidate& said : config.candidates(list))
      for (const std::string& name : said.value.items)
        if (!is_glob(name) && !is_known(inventory, name)) {
          const std::string why = sentence(inventory, name);
          const bool slip = why.find("did you mean") != std::string::npos;
          const bool orders = std::string_view(list) == "hooks.order";
          out.push_back({slip || orders ? Weight::kWarning : Weight::kNote, said.origin + ": " + list + ": " + why});
        }
  return out;
}

std::vector<std::string> grant_problems(const Config& config) {
  std::vector<std::string> out;
  const std::vector<std::string> names = grant_names();
  for (const std::string& hook : config.hook_names()) {
    const std::string key = "hooks." + hook + ".grant";
    if (!config.is_set(key)) continue;
    for (const std::string& name : config.list(key)) {
      if (std::find(names.begin(), names.end(), grant_name(canonical_service(name))) != names.end()) continue;
      const std::string mean = did_you_mean(name, names);
      out.push_back(config.origin(key) + ": " + one_line(key, kShownNameBytes) + ": no service is called '" +
                    one_line(name, kShownNameBytes) + "'" +
                    (mean.empty() ? "; the names are " : mean + " The names are ") + join(names, ", "));
    }
  }
  return out;
}

std::vector<NameMistake> config_name_mistakes(const Config& config, const std::string& name, const Manifest& manifest,
                                              std::span<const Tool> tools) {
  const std::string key = "hooks." + name + ".config";
  if (manifest.config_schema.empty() || !config.is_set(key)) return {};
  auto out = unknown_names_in_config(manifest.config_schema, config.json(key), tools);
  for (NameMistake& mistake : out) mistake.text = config.origin(key) + ": " + key + ": " + mistake.text;
  return out;
}

}  // namespace agentd
