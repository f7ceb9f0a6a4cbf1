// SPDX-License-Identifier: Apache-2.0
#pragma once
// surroundings.h - what the process is given from outside: its variables, its program, the system's directory.
//
// Threading: immutable data; the functions are pure.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/config/config.h"

namespace agentd {

struct ProcessSurroundings {
  Environment environment;
  std::string executable;  // the path of the running program; empty = unknown
  std::string system_directory = "/etc/agentd";
  std::vector<std::string> own_variables{};  // names in the environment that begin with AGENTD_
};

// AGENTD_HOME, else .agent in HOME. kInvalid when neither is set, or the one that counts is no absolute path.
Result<std::string> home_of(const ProcessSurroundings& surroundings);
// The files and variables that settings are read from, weakest first. kInvalid as home_of().
Result<ConfigSources> config_sources(const ProcessSurroundings& surroundings);

}  // namespace agentd
