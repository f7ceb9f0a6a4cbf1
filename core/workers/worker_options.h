// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_options.h - limits for starting worker processes, waiting for them and giving them up.
//
// Threading: values.

#include <cstdint>
#include <string>

#include "core/base/clock.h"

namespace agentd {

struct WorkerOptions {
  std::string program;                            // path of agentd-hook-worker; empty = it is not installed
  bool zygote = true;                             // fork workers from a ready zygote if possible; false = execute each
  std::uint64_t memory_bytes_max = 512ull << 20;  // address space that one worker may allocate
  Milliseconds start_time{5'000};                 // to load the module
  Milliseconds control_time{5'000};               // for create(), destroy() and similar calls
  Milliseconds eviction_time{1'000};              // for destroy() of an instance that is evicted
  // Time in which a call may still answer after its deadline or a cancel; then its worker is killed.
  Milliseconds grace{50};
  // A call that had less time than this has not hung: earlier calls used it up.
  Milliseconds hang_time{100};
  // This many crashes and hangs within the window quarantine the module.
  std::uint32_t crashes_max = 3;
  Milliseconds crash_window{60'000};
  // Pause before the second new worker within the window; each further pause is four times as long.
  Milliseconds first_pause{100};
  Milliseconds pause_max{10'000};
  // For a plugin with one worker per conversation. Workers that it keeps: beyond them the least recently used idle one
  // ends.
  std::size_t conversations_max = 16;
  // Conversations that run calls at the same time: a call of a further one waits until its deadline.
  std::size_t conversations_busy_max = 128;
};

}  // namespace agentd
