// SPDX-License-Identifier: Apache-2.0
#include "core/validate/cage.h"

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/workspace.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/process/process.h"
#include "core/process/sandbox.h"
#include "core/workers/supervisor.h"

namespace agentd::validation {
namespace {

void close_all_but(int one, int other) {
  const auto first = static_cast<unsigned>(std::min(one, other)), last = static_cast<unsigned>(std::max(one, other));
  constexpr unsigned kBegin = STDERR_FILENO + 1;
  if (first > kBegin) ::close_range(kBegin, first - 1, 0);
  if (last > first + 1) ::close_range(first + 1, last - 1, 0);
  ::close_range(last + 1, UINT_MAX, 0);
}

}  // namespace

bool needs_files(const Manifest& manifest) {
  return manifest.asks_for(AGENTD_WORKSPACE_ID) || manifest.asks_for(AGENTD_PROCESS_ID);
}

void shed_environment() {
  const std::vector<std::string> kept = worker_environment(clean_environment());
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    ::explicit_bzero(*entry, std::strlen(*entry));
  ::clearenv();
  for (const std::string& entry : kept) {
    const std::size_t at = entry.find('=');
    if (const std::string name = entry.substr(0, at); name != "HOME" && name != "TMPDIR")
      ::setenv(name.c_str(), entry.c_str() + at + 1, 1);
  }
}

Result<void> enter_cage(const Manifest& manifest, const std::string& directory, const SealedFile& module, int report) {
  shed_environment();
  close_all_but(module.fd.get(), report);
  SandboxRules rules;
  rules.network = manifest.has_capability("network");
  rules.processes = manifest.has_capability("processes");
  const bool by_service = needs_files(manifest);
  if (!directory.empty()) {
    rules.files_read = by_service || manifest.has_capability("files:read");
    rules.files_write = by_service || manifest.has_capability("files:write");
    rules.readable = rules.writable = {directory};
  }
  rules.reopened = {module.fd.get()};
  rules.own_limits = true;  // a rule checks whether the module changes them
  AGENTD_TRY_VOID(enter_sandbox(rules));
  return {};
}

}  // namespace agentd::validation
