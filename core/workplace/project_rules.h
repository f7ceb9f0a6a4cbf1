// SPDX-License-Identifier: Apache-2.0
#pragma once
// project_rules.h - the permission rules of the settings, as they hold in a project.
//
// Threading: pure functions on the file system.

#include <string>

#include "core/config/config.h"
#include "core/runtime/surroundings.h"
#include "core/tools/permission.h"
#include "core/workplace/project.h"

namespace agentd {

// Without the answers that were kept in it (PermissionRules::kept).
PermissionRules project_rules(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                              const Project& project);

}  // namespace agentd
