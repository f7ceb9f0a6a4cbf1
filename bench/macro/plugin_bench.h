// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin_bench.h - what isolated plugins cost a run: none, one and ten, asked and never asked, beside ten
// hooks in sh and ten bare processes, and with a thousand more processes on the machine.
//
// Threading: one thread.

#include "bench/macro/setting.h"
#include "bench/tally.h"

namespace agentd::bench {

inline constexpr int kPluginRows = 6;  // with few and with a thousand other processes each

// Starts a thousand processes that sleep, and ends them.
Result<void> bench_plugins(Setting& setting, int rounds, Tally& tally);

}  // namespace agentd::bench
