// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks_workbench.h - opens the module for `hooks validate` and `hooks fuzz`.
//
// Threading: one thread.

#include <memory>
#include <string>

#include "core/app/cli.h"
#include "core/app/failure.h"
#include "core/validate/subject.h"

namespace agentd::app {

// Opens the file named by the first word, with --config. `worker` is the program that runs isolated hooks.
Result<std::unique_ptr<validation::Workbench>, Failure> open_workbench(const App& app, const Arguments& arguments,
                                                                       const std::string& worker);

}  // namespace agentd::app
