// SPDX-License-Identifier: Apache-2.0
#pragma once
// older_landlock.h - a program that runs on an older version of Landlock than the kernel's.
//
// It runs under ptrace and stops at each landlock_create_ruleset(2) alone, which a filter with SECCOMP_RET_TRACE sees
// to: the question for the version is answered with the older one, and a ruleset that an older kernel does not know is
// refused as there. A listener of seccomp would be less work, but a process tree can have one only, and the sandbox's
// keeper needs it. The bits are those of linux/landlock.h.
//
// Threading: REQUIRES: the process has one thread.

#include <functional>

namespace agentd::testing {

// Runs `become` in a child that is traced, until it ends: its exit code, 128 + the signal that ended it, or -1 where
// the child cannot be traced here.
int run_with_older_landlock(long version, const std::function<void()>& become);

}  // namespace agentd::testing
