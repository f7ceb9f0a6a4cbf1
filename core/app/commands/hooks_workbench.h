// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks_workbench.h - the module that `hooks validate` and `hooks fuzz` were given.
//
// Threading: one thread.

#include <memory>
#include <string>

#include "core/app/cli.h"
#include "core/app/wiring.h"
#include "core/validate/subject.h"

namespace agentd::app {

// The file that the first word names, with --config. `worker` is the program that runs isolated hooks.
Result<std::unique_ptr<validation::Workbench>, Failure> open_workbench(const App& app, const Arguments& arguments,
                                                                       const std::string& worker);

}  // namespace agentd::app
