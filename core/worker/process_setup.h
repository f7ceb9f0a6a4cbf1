// SPDX-License-Identifier: Apache-2.0
#pragma once
// process_setup.h - how the worker's process treats itself before anything of the plugin is in it.
//
// Threading: called by the main thread before there are others.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "core/isolation/messages.h"
#include "core/process/sandbox.h"

namespace agentd::worker {

// The process ends with its parent, writes no core, keeps no descriptor above `last_fd`, and is closed to other
// processes of the user. `parent` is the process id that the start named, 0 = none: when it is not the parent's
// any more, the process ends at once.
void settle_process(pid_t parent, int last_fd);

// What a sandbox leaves open to a zygote's hooks: "off", or capabilities with commas between.
SandboxRules open_for(std::string_view capabilities);

// An exception has left a function of the plugin: says so and ends the process by SIGABRT.
[[noreturn]] void end_by_exception(std::string_view what) noexcept;
// The same for one that leaves a thread.
void report_exceptions();

// Limits of memory, of descriptors and of what may be written, then the sandbox that the
// capabilities leave open. Memory is limited twice: what is allocated by `memory_bytes_max`, and
// all addresses by those that are in use now, that much, and 1 GiB. Returns what does not hold on
// this machine. `ground`: what of the sandbox the process has entered already; absent = nothing. kInternal: no
// memory, or a ground of other capabilities. REQUIRES: the window is mapped.
Result<std::string> confine_process(const BootArgs& args, std::optional<SandboxGround>& ground);

}  // namespace agentd::worker
