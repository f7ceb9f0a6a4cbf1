// SPDX-License-Identifier: Apache-2.0
#pragma once
// confinement.h - closes around this process what its orders do not open, for good.
//
// Landlock guards files, seccomp guards system calls, no_new_privs and empty capability sets guard privileges. Neither
// needs a privilege or a namespace. What the two leave open without namespaces: names, sizes and times of files are
// visible everywhere; and before Linux 6.12 signals reach all processes of the user.
//
// Threading: one thread.

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/cage/orders.h"

namespace agentd::cage {

// Returns the descriptor at which the keeper answers calls (keeper.h); not valid when no call is asked about.
// kUnavailable: the system refuses a part of it; then nothing may be started.
Result<UniqueFd> confine(const Orders& orders);

}  // namespace agentd::cage
