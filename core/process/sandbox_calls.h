// SPDX-License-Identifier: Apache-2.0
#pragma once
// sandbox_calls.h - the system calls that a sandboxed process may make, by what opens them. Every
// other one is refused, those that no kernel has yet included.
//
// docs/internals/system-calls.md is the same list with the reasons; a test compares the two, and
// makes every call of the running kernel inside of the sandbox.
//
// Threading: constants.

#include <span>

namespace agentd {

struct CallGroup {
  // "always", or the capabilities of which each one opens the group: "files:read, files:write".
  const char* opened_by;
  std::span<const char* const> names;
};

// Calls that are open whatever their arguments are.
std::span<const CallGroup> open_calls();

// Calls of which some arguments are open; sandbox_policy.cc says which.
std::span<const CallGroup> partly_open_calls();

// Refused by ENOSYS and not by EPERM: libraries go on with an older call that is open.
std::span<const char* const> calls_with_an_older_way();

}  // namespace agentd
