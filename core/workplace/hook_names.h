// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_names.h - names of hooks in the configuration that no hook bears.
//
// A guard that is switched on under a misspelt name is off. So a name that nothing bears is an
// error where the setting is meant to make a hook act (enabled: true, on_failure: closed), and a
// warning elsewhere. Hooks of projects are left out: they are there in their project only.
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
  // A note is worth a line of doctor only: a bare name to disable may be a project's.
  enum class Weight { kNote, kWarning, kBroken };
  Weight weight = Weight::kWarning;
  std::string text;  // "FILE:LINE: no hook is named 'guardrial': did you mean 'guardrail'?"
};
// Of hooks.NAME, hooks.order, hooks.disable and hooks.allow. Globs are not looked at.
std::vector<NameProblem> hook_name_problems(const Config& config, const Inventory& inventory);

// Names of tools in hooks.NAME.config that no tool has, as the module's config_schema marks them.
std::vector<NameMistake> config_name_mistakes(const Config& config, const std::string& name, const Manifest& manifest,
                                              std::span<const Tool> tools);

}  // namespace agentd
