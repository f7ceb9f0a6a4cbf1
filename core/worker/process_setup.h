// SPDX-License-Identifier: Apache-2.0
#pragma once
// process_setup.h - sets up the worker's process before the plugin is loaded.
//
// Threading: called by the main thread before there are others.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/isolation/messages.h"
#include "core/process/sandbox.h"

namespace agentd::worker {

// The process ends with its parent, writes no core file, keeps no descriptor above `last_fd`, and is closed to other
// processes of the user. `parent` is the starter's process id, 0 = none: if it is no longer the parent, the process
// ends immediately.
void settle_process(pid_t parent, int last_fd);

// The sandbox rules for a zygote's hooks: "off", or capabilities separated by commas.
SandboxRules open_for(std::string_view capabilities);

// For an exception that left a function of the plugin: reports it and ends the process with SIGABRT.
[[noreturn]] void end_by_exception(std::string_view what) noexcept;
// Does the same for an exception that leaves a thread.
void report_exceptions();

// Limits memory, descriptors and written files, then enters the sandbox that the capabilities leave open. Memory has
// two limits: allocations by `memory_bytes_max`, and the address space by its present size plus that plus 1 GiB.
// Returns the rules that are not in effect on this machine. `ground`: the part of the sandbox that is already entered;
// absent = none. kInternal: no memory, or a ground for other capabilities. REQUIRES: the window is mapped.
Result<std::string> confine_process(const BootArgs& args, std::optional<SandboxGround>& ground);

}  // namespace agentd::worker
