// SPDX-License-Identifier: Apache-2.0
#pragma once
// validate_definition.h - `agentd hooks validate` for files that are not modules: their kind and the loader's
// errors.
//
// Threading: one thread.

#include <optional>
#include <string>

#include "core/app/commands/hooks_shared.h"

namespace agentd::app {

// Reads a YAML hook, a recipe or another tool's settings as a run would, and queries an executable for its events.
// Prints one line for each hook and each error. Returns kExitOk, or kExitFailure if a run would refuse the file;
// nullopt for a module, and if it is not a file.
std::optional<int> validate_definition(App& app, const Arguments& arguments, const HooksHere& here,
                                       const std::string& path);

}  // namespace agentd::app
