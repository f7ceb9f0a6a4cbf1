// SPDX-License-Identifier: Apache-2.0
#pragma once
// fork.h - runs a function in a forked process, for code that may crash, hang or leave things behind.
//
// The child is a copy of this process: it can read everything and change nothing of it. It has its own session, reads
// no input, writes no core file and dies with its parent; its output is kept apart from its report. At the deadline it
// and all its descendants are killed.
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
  Milliseconds time_of_step{0};                // from one report to the next; 0 = only `time` applies
};

struct ForkEnd {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  bool timed_out = false, cancelled = false;
  std::string report;            // the bytes written to the descriptor before the end
  std::string output;            // standard output and standard error
  std::uint64_t memory_kib = 0;  // the most that was resident

  // "was ended by signal 11 (SIGSEGV)", "hung: it had not ended by its deadline", "ended with exit code 3"; ends a
  // sentence whose subject the caller names.
  std::string how() const;
};

// Runs `body` with a descriptor for its report; its result is the child's exit code, 250 when it throws. kUnavailable:
// no process can be created.
Result<ForkEnd> run_forked(const std::function<int(int report_fd)>& body, const ForkLimits& limits, const Clock& clock,
                           const CancelToken& cancel);

// "SIGSEGV" of 11; "signal 99" for one without a name.
std::string signal_name(int number);

}  // namespace agentd
