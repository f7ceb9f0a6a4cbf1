// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_options.h - how worker processes are started, waited for and given up.
//
// Threading: values.

#include <cstdint>
#include <string>

#include "core/base/clock.h"

namespace agentd {

struct WorkerOptions {
  std::string program;  // path of agentd-hook-worker; empty = it is not installed
  bool zygote = true;   // workers are forked from one that is ready, where that can be; false = each is executed
  std::uint64_t memory_bytes_max = 512ull << 20;  // of what one worker allocates
  Milliseconds start_time{5'000};                 // to load the module
  Milliseconds control_time{5'000};               // for create(), destroy() and their like
  Milliseconds eviction_time{1'000};              // for destroy() of an instance that makes room
  // After its deadline, or a cancel, a call may still answer for so long; then its worker is
  // killed.
  Milliseconds grace{50};
  // A call that had less until its deadline has not hung: those before it took the time.
  Milliseconds hang_time{100};
  // So many crashes and hangs within the window set the module aside.
  std::uint32_t crashes_max = 3;
  Milliseconds crash_window{60'000};
  // Before the second new worker within the window; four times as long before each further one.
  Milliseconds first_pause{100};
  Milliseconds pause_max{10'000};
  std::size_t conversations_max = 16;  // workers of one plugin that has one for each conversation
};

}  // namespace agentd
