// SPDX-License-Identifier: Apache-2.0
#pragma once
// sandbox_calls.h - the system calls that a sandboxed process may make whatever their arguments, by capability;
// sandbox_policy.cc has those that it may make with some. Every other call is refused, including those of future
// kernels.
//
// docs/internals/system-calls.md is the same list with the reasons; a test compares the two and makes every call of the
// running kernel inside the sandbox.
//
// Threading: constants.

#include <span>

namespace agentd {

struct CallGroup {
  // "always", or the capabilities that each open the group: "files:read, files:write".
  const char* opened_by;
  std::span<const char* const> names;
};

// Calls that are allowed whatever their arguments.
std::span<const CallGroup> open_calls();

// Calls refused with ENOSYS instead of EPERM, so that libraries fall back to an older allowed call.
std::span<const char* const> calls_with_an_older_way();

}  // namespace agentd
