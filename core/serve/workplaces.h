// SPDX-License-Identifier: Apache-2.0
#pragma once
// workplaces.h - the projects in which the daemon works, each opened once.
//
// Threading: thread-safe. at() blocks while the hooks of a project are loaded.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/workplace/workplace.h"

namespace agentd::serve {

class Workplaces {
 public:
  // `warn` gets what is wrong with the files of a project. The runtime outlives them.
  Workplaces(Runtime& runtime, HookWishes wishes, Warn warn);

  // The one of the project around that directory, with its hooks loaded. It stays as long as this. kNotFound: there is
  // no such directory; kUsage as of Workplace::find() and Hooks::load(): the next call tries again.
  Result<Workplace*, RunError> at(const std::string& cwd);
  // All open ones, in no order.
  std::vector<Workplace*> all();

 private:
  Runtime& runtime_;
  const HookWishes wishes_;
  const Warn warn_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<Workplace>> open_ GUARDED_BY(mutex_);  // by their roots
};

}  // namespace agentd::serve
