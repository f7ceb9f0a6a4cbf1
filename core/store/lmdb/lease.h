// SPDX-License-Identifier: Apache-2.0
#pragma once
// lease.h - one process per conversation: a lock file that the kernel always releases.
//
// Threading: thread-safe.

#include <memory>
#include <string>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/store/store.h"

namespace agentd {

// Locks <directory>/leases/<ULID>.lock. kBusy names the process that holds it.
Result<std::unique_ptr<Lease>> take_lease(const std::string& directory, const Ulid& conversation);

}  // namespace agentd
