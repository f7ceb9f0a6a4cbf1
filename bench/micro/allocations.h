// SPDX-License-Identifier: Apache-2.0
#pragma once
// allocations.h - how often this thread asked for memory, counted for the whole program.
//
// Threading: each thread has its own count.

#include <cstdint>

namespace agentd::bench {

std::uint64_t allocations();

}  // namespace agentd::bench
