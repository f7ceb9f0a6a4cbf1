// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_cages.h - the sandboxes of hooks: as that of the session's commands, and each with what its hook may read
// besides.
//
// Threading: thread-safe, also what they return.

#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/host/hook_host.h"
#include "core/runtime/surroundings.h"
#include "core/workplace/project.h"

namespace agentd {

// For hooks that work in these roots. A sandbox is made for the first program in it. Where sandbox.layer is off or no
// layer holds, nothing starts: what asks for a sandbox never runs outside of one.
MakeHookCage hook_cages(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                        const Project& project, const std::vector<std::string>& roots);

// The roots of a session that works in `cwd`.
std::vector<std::string> workspace_roots(const Config& config, const Project& project, const std::string& cwd);

}  // namespace agentd
