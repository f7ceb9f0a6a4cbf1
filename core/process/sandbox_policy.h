// SPDX-License-Identifier: Apache-2.0
#pragma once
// sandbox_policy.h - builds the kernel's filter programs from the system calls and arguments that a sandboxed process
// may use. Used at build time and by tests; see sandbox_programs.h.
//
// Threading: thread-safe.

#include <set>
#include <string>
#include <vector>

#include "core/process/sandbox_programs.h"

namespace agentd {

// Empty when memory was short.
std::vector<FilterInstruction> make_ground_program(const OpenedCalls& opened);
std::vector<FilterInstruction> make_rest_program(const OpenedCalls& opened, long landlock);
std::vector<FilterInstruction> make_caged_program(const CagedCalls& calls);

// The calls that both programs together allow with some arguments, or on some kernels.
std::set<std::string> partly_open_calls(const OpenedCalls& opened);

}  // namespace agentd
