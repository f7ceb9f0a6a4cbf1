// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_names.h - finds names in the configuration that no hook has.
//
// A guard enabled under a misspelt name is off. So an unknown name is an error if the setting enables a hook
// (enabled: true, on_failure: closed), and a warning elsewhere. Hooks of projects are not checked: they exist in
// their project only.
//
// Threading: pure functions.

#include <span>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/dialects/known_names.h"
#include "core/host/inventory.h"

namespace agentd {

struct NameProblem {
  // A note is only shown by doctor: a bare name to disable may be a project's.
  enum class Weight { kNote, kWarning, kBroken };
  Weight weight = Weight::kWarning;
  std::string text;  // "FILE:LINE: no hook named 'guardrial': did you mean 'guardrail'?"
};
// Checks hooks.NAME, hooks.order, hooks.disable and hooks.allow. Globs are not checked.
std::vector<NameProblem> hook_name_problems(const Config& config, const Inventory& inventory);

// Unknown names in hooks.NAME.grant: "FILE:LINE: hooks.NAME.grant: no service 'stor': did you mean 'store'? ...". No
// run begins with one.
std::vector<std::string> grant_problems(const Config& config);

// Names of tools in hooks.NAME.config that no tool has, as the module's config_schema marks them.
std::vector<NameMistake> config_name_mistakes(const Config& config, const std::string& name, const Manifest& manifest,
                                              std::span<const Tool> tools);

}  // namespace agentd
