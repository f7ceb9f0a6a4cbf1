// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_bench.h - a call of the tool bash, from the request that asks for it to the request with its output: the first
// and the later ones of a run, in each layer of the sandbox and without one, next to the same command by posix_spawn
// and by a bare bwrap.
//
// Threading: one thread.

#include <vector>

#include "bench/macro/setting.h"
#include "bench/ratios.h"
#include "bench/tally.h"

namespace agentd::bench {

inline constexpr int kToolRows = 8;

// Adds its ratios to `ratios`. Layers that do not hold on this machine are left out.
Result<void> bench_tool(Setting& setting, int rounds, Tally& tally, std::vector<Ratio>& ratios);

}  // namespace agentd::bench
