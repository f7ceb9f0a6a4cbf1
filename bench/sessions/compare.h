// SPDX-License-Identifier: Apache-2.0
#pragma once
// compare.h - so many sessions of one process next to the same number of processes of the program: one turn each, all
// started together, with an answer that streams at the same pace.
//
// Threading: thread-compatible.

#include <cstddef>
#include <string>

namespace agentd::bench {

// The words above the columns of print_compared().
void print_compared_head();
// Two rows and their ratio. Both sides take turns, round by round, and each has one store, in a directory in `parent`.
// A session is opened, has its turn and is closed; a process is a run of `agentd` from its start to its end, without
// hooks and tools. Memory, threads and descriptors are those of one more round, while all wait for their answers.
// Returns the turns a second and the memory of both, in MiB.
struct Compared {
  double one_per_second, one_mib, many_per_second, many_mib;
};
Compared print_compared(const std::string& agentd, const std::string& parent, std::size_t count, std::size_t rounds);

}  // namespace agentd::bench
