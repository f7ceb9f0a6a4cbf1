// SPDX-License-Identifier: Apache-2.0
#include "core/app/validate/cage.h"

#include <cstdlib>
#include <string_view>

#include "core/host/worker/supervisor.h"
#include "core/process/process.h"
#include "core/process/sandbox.h"

namespace agentd::app {

void shed_environment() {
  const std::vector<std::string> kept = worker_environment(clean_environment());
  ::clearenv();
  for (const std::string& entry : kept) {
    const std::size_t at = entry.find('=');
    if (const std::string name = entry.substr(0, at); name != "HOME" && name != "TMPDIR")
      ::setenv(name.c_str(), entry.c_str() + at + 1, 1);
  }
}

Result<void> enter_cage(const Manifest& manifest, const std::string& directory,
                        const std::vector<int>& reopened) {
  shed_environment();
  SandboxRules rules;
  rules.network = manifest.has_capability("network");
  rules.processes = manifest.has_capability("processes");
  rules.files_read = rules.files_write = !directory.empty();
  if (!directory.empty()) rules.readable = rules.writable = {directory};
  rules.reopened = reopened;
  rules.own_limits = true;  // a rule asks whether it changes them
  AGENTD_TRY_VOID(enter_sandbox(rules));
  return {};
}

}  // namespace agentd::app
