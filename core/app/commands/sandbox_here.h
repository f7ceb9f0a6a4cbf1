// SPDX-License-Identifier: Apache-2.0
#pragma once
// sandbox_here.h - the sandbox of a session that works in the current directory, for the commands that show or try it.
//
// Threading: one thread.

#include <memory>
#include <string>
#include <vector>

#include "core/app/app.h"
#include "core/workplace/cage_setup.h"

namespace agentd::app {

struct SandboxHere {
  Config config;
  cage::CageSettings settings;
  std::string cwd;
};

Result<SandboxHere> sandbox_here(const App& app, Config config);
// The sandbox itself. Errors of cage_layer() and of Cage::make().
Result<std::unique_ptr<cage::Cage>> open_cage(const SandboxHere& here);

}  // namespace agentd::app
