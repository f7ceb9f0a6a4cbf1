// SPDX-License-Identifier: Apache-2.0
#pragma once
// validate_definition.h - `agentd hooks validate` of a file that is no module: what it is, and what
// the loader says of it.
//
// Threading: one thread.

#include <optional>
#include <string>

#include "core/app/commands/hooks_shared.h"

namespace agentd::app {

// Reads a YAML hook, a recipe or another tool's settings as a run would, and asks an executable
// which events it wants, as its loading does. Prints one line for each hook and each mistake.
// The exit code: kExitOk, or kExitFailure where a run would refuse it. Nothing for a module, and
// for what is no file.
std::optional<int> validate_definition(App& app, const Arguments& arguments, const HooksHere& here,
                                       const std::string& path);

}  // namespace agentd::app
