// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/surroundings.h"

#include <utility>

#include "core/base/bytes.h"

namespace agentd {

Result<std::string> home_of(const ProcessSurroundings& surroundings) {
  for (const auto& [variable, folder] : {std::pair{"AGENTD_HOME", ""}, {"HOME", "/.agent"}}) {
    const std::string given = surroundings.environment(variable).value_or("");
    if (given.empty()) continue;
    // A home in the wrong place would lack the user's rules, and a relative one would be in the project.
    if (given.front() != '/' || given.back() == ' ')
      return Error{Code::kInvalid, std::string(variable) + " must be an absolute path, and is '" +
                                       one_line(given, 200) + "': the shell expands ~ only outside quotes"};
    return given + folder;
  }
  return Error{Code::kInvalid, "neither AGENTD_HOME nor HOME is set: set AGENTD_HOME to a directory"};
}

Result<ConfigSources> config_sources(const ProcessSurroundings& surroundings) {
  AGENTD_TRY(const std::string directory, home_of(surroundings));
  ConfigSources sources;
  sources.system_file = surroundings.system_directory + "/config.yaml";
  sources.user_file = directory + "/config.yaml";
  sources.environment = surroundings.environment;
  sources.variables = surroundings.own_variables;
  return sources;
}

}  // namespace agentd
