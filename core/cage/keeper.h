// SPDX-License-Identifier: Apache-2.0
#pragma once
// keeper.h - what stays beside a caged command until it has ended, and ends what it leaves behind.
//
// The keeper starts the command, relays its network to agentd's proxy, answers calls that only it can judge
// (answers.h), and returns when the command has ended: with its code, and with no process of it left. With bubblewrap
// it is the first process of its namespace, so that the kernel ends the others with it. It ends them, too, when agentd
// ends before the command: what it holds of agentd's journal (journal.h) is let go when none of them is left.
//
// Threading: one thread.

#include "core/cage/orders.h"

namespace agentd::cage {

// The exit code where the cage could not be made; no part of the command ran.
inline constexpr int kNoCage = 125;

// Runs `argv` and ends as it ended: with its exit code, or by its signal. Ended by a signal inside of bubblewrap's
// namespace, it is 128 and the signal.
int keep(const Orders& orders, char** argv);

}  // namespace agentd::cage
