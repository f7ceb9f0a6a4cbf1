// SPDX-License-Identifier: Apache-2.0
#pragma once
// filter.h - a program as a filter: a text in, its standard output back, a deadline over all it
// starts.
//
// Unlike run_process(), standard output and standard error stay apart, since the one is an answer
// and the other a complaint. The child gets its own session, descriptors 0 to 2 and no others,
// default signals, and the environment that the request names. All that it has started ends with it,
// at its answer as at its deadline: who is in its session or group, who descends from it, who holds
// its pipes, and who carries the run's mark or its brand (family.h), a daemon that has kept nothing
// of it included.
//
// Threading: thread-safe; run_filter() blocks its caller.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

struct FilterRequest {
  // What is executed: empty = argv[0], looked up in the environment's PATH. A sealed copy of a file
  // is named by "/proc/PID/fd/N" of this process, so that the child needs no descriptor for it.
  std::string program;
  std::vector<std::string> argv;
  std::string cwd;
  // All of it: "NAME=value". AGENTD_RUN, the mark of this run, is added.
  std::vector<std::string> environment;
  std::string input;                          // a reader may leave it unread
  std::uint64_t output_bytes_max = 1u << 20;  // of standard output
  std::uint64_t error_bytes_max = 64u << 10;  // of standard error: head and tail
  Milliseconds grace{500};                    // between SIGTERM and SIGKILL
  // How long the answer may still come when the program has ended and a child of it holds the pipe.
  Milliseconds settle{50};
};

struct FilterResult {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  bool timed_out = false, cancelled = false;
  bool output_over_cap = false;  // the program was ended when it wrote more than output_bytes_max
  std::string output, error;
  std::uint64_t duration_us = 0;
  std::uint32_t children = 0;  // processes of its own that had to be ended with it
};

// Returns when the program and all that it has started have ended and its output is read, at the
// latest `grace` and the time of the kill after the deadline.
// kNotFound, kDenied: there is no such program, interpreter or permission; kInvalid: empty argv or
// a cwd that is none; kUnavailable: no processes.
Result<FilterResult> run_filter(const FilterRequest& request, const Clock& clock, const CancelToken& cancel,
                                Deadline deadline);

}  // namespace agentd
