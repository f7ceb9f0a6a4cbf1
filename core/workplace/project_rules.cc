// SPDX-License-Identifier: Apache-2.0
#include "core/workplace/project_rules.h"

#include "core/cage/places.h"
#include "core/config/permission_setup.h"
#include "core/workplace/hook_setup.h"

namespace agentd {

PermissionRules project_rules(const ProcessSurroundings& surroundings, const Config& config, const std::string& home,
                              const Project& project) {
  PermissionRules out = permission_rules(config);
  out.own_places = kept_paths(surroundings, config, home, project);
  out.guarded = &cage::guarded_places;
  return out;
}

}  // namespace agentd
