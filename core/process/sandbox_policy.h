// SPDX-License-Identifier: Apache-2.0
#pragma once
// sandbox_policy.h - which system calls a sandboxed process may make, with which arguments, as
// programs for the kernel. Used when agentd is built and by tests; see sandbox_programs.h.
//
// Threading: thread-safe.

#include <vector>

#include "core/process/sandbox_programs.h"

namespace agentd {

// Empty when there was no memory for it.
std::vector<FilterInstruction> make_ground_program(const OpenedCalls& opened);
std::vector<FilterInstruction> make_rest_program(const OpenedCalls& opened, long landlock);

}  // namespace agentd
