// SPDX-License-Identifier: Apache-2.0
// memory_calls.cc - who answers `agentd memory`: the registry of services.
#include "core/app/commands/memory.h"
#include "core/app/exit_codes.h"

namespace agentd::app {

// The registry of services is not part of this branch; the merge with it replaces this function.
Result<OpenMemory, Failure> open_memory(const App&, const Arguments&) {
  return Failure{kExitFailure,
                 "no plugin offers memories: enable the bundled one with hooks.session_memory.enabled: true"};
}

}  // namespace agentd::app
