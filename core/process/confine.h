// SPDX-License-Identifier: Apache-2.0
#pragma once
// confine.h - the parts of a sandbox from which no process returns: system call filters and privileges.
//
// Threading: one thread, unless a function says otherwise.

#include "core/base/file.h"
#include "core/process/sandbox_programs.h"

namespace agentd {

// Loads the filter for all threads. Returns 0 or an errno.
int load_filter(FilterProgram program);

// The same for this thread and what it starts. Calls with the answer kAskKeeper wait until the owner of `questions` has
// answered (seccomp_unotify(2)); where a keeper is around this process already, or the kernel is older than keepers,
// they are refused and `questions` is not valid. Returns 0 or an errno.
int load_asking_filter(FilterProgram program, UniqueFd* questions);

// Drops root's capabilities for good. True when none is left.
bool drop_privileges();

}  // namespace agentd
