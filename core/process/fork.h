// SPDX-License-Identifier: Apache-2.0
#pragma once
// fork.h - a function in a process of its own, for code that may crash, hang or leave things behind.
//
// The child is a copy of this process: it shares nothing that it can change, but everything it may read. It
// has a session of its own, reads nothing, makes no core file and dies with its parent; what it prints is kept
// apart from what it reports. At the deadline it and all that it has started are killed.
//
// Threading: REQUIRES a process of one thread, or a body that needs no lock that another thread may hold.

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

struct ForkLimits {
  Milliseconds time{10'000};
  std::uint64_t report_bytes_max = 1u << 20;
  std::uint64_t output_bytes_max = 64 * 1024;  // of standard output and standard error: head and tail
  std::uint64_t memory_bytes_max = 0;          // RLIMIT_DATA beyond what the process has; 0 = none
  Milliseconds time_of_step{0};                // from one report to the next; 0 = `time` alone counts
};

struct ForkEnd {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  bool timed_out = false, cancelled = false;
  std::string report;            // what was written to the descriptor before the end
  std::string output;            // what it printed
  std::uint64_t memory_kib = 0;  // the most that was resident

  // "was ended by signal 11 (SIGSEGV)", "hung: it had not ended after 5 s", "ended with exit code 3"; ends a
  // sentence that begins with who.
  std::string how() const;
};

// Runs `body` with a descriptor for its report and ends the child with its exit code; 250 when it throws.
// kUnavailable: no processes.
Result<ForkEnd> run_forked(const std::function<int(int report_fd)>& body, const ForkLimits& limits, const Clock& clock,
                           const CancelToken& cancel);

// "SIGSEGV" of 11; "signal 99" for one without a name.
std::string signal_name(int number);

}  // namespace agentd
