// SPDX-License-Identifier: Apache-2.0
#pragma once
// reads.h - calls of tools that only read: eight in one answer, which run at the same time, next to the same eight one
// after the other. The program is the one that people run, its model a script.
//
// Threading: REQUIRES: the calling thread is the only one.

#include <string>

#include "bench/tally.h"

namespace agentd::bench {

// Prints a row for each tool. `directory` is empty and writable. Ends the benchmark if the program fails.
void bench_reads(Tally& tally, const std::string& agentd, const std::string& directory, bool once);

}  // namespace agentd::bench
