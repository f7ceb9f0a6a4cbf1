// SPDX-License-Identifier: Apache-2.0
#pragma once
// spawn.h - starting one child with a clean slate.
//
// Threading: thread-safe.

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"

namespace agentd {

struct Child {
  pid_t pid = -1;   // also its session and its process group
  UniqueFd pidfd;   // readable once it has ended
  UniqueFd output;  // stdout and stderr, non-blocking
};

struct SpawnRequest {
  const std::vector<std::string>& argv;
  const std::vector<std::string>& environment;
  const std::string& cwd;
  const std::string& input;
};

// The absolute path of `name` by the PATH in `environment`; relative parts of PATH are skipped,
// since they would mean whatever the working directory holds. A name with a '/' is taken as it is.
// kNotFound, or kDenied when what is there may not be executed.
Result<std::string> find_program(const std::string& name,
                                 const std::vector<std::string>& environment);

// Starts it with the costs of vfork: own session, descriptors 0 to 2, no signal blocked or ignored.
// The input is a sealed file in memory, so that nobody has to feed it and no SIGPIPE can happen.
Result<Child> spawn(const SpawnRequest& request);

}  // namespace agentd
