// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/surroundings.h"

#include "core/base/bytes.h"

namespace agentd {

Result<std::string> home_of(const ProcessSurroundings& surroundings) {
  const auto given = surroundings.environment("AGENTD_HOME");
  // A home in the wrong place would lack the user's rules.
  if (given && !given->empty() && ((*given)[0] != '/' || given->back() == ' '))
    return Error{Code::kInvalid, "AGENTD_HOME must be an absolute path, and is '" + one_line(*given, 200) +
                                     "': the shell expands ~ only outside quotes"};
  if (given && !given->empty()) return *given;
  const auto user = surroundings.environment("HOME");
  if (user && !user->empty()) return *user + "/.agent";
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
