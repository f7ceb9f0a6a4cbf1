// SPDX-License-Identifier: Apache-2.0
#pragma once
// failure.h - an error and the exit code that it ends the program with.
//
// Threading: a value.

#include <string>

#include "core/agent/agent.h"

namespace agentd::app {

struct Failure {
  int code = 1;
  std::string message;
};
Failure failure_of(const RunError& error);

}  // namespace agentd::app
