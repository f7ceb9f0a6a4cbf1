// SPDX-License-Identifier: Apache-2.0
#pragma once
// own_mounts.h - mounts that end with the test's process.
//
// Threading: called before a process has threads.

namespace agentd::testing {

// From here on mounts are this process's own. False where the machine allows neither root nor user namespaces.
bool own_mounts();

}  // namespace agentd::testing
