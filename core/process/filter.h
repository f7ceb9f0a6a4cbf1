// SPDX-License-Identifier: Apache-2.0
#pragma once
// filter.h - runs a program as a filter: a text in, its standard output back, a deadline over all its descendants.
//
// Unlike run_process(), it keeps standard output and standard error apart: the one is the answer, the other
// diagnostics. The child gets its own session, only descriptors 0 to 2, default signals, and the environment of the
// request. All its descendants end with it, after its answer as at its deadline: processes in its session or group, its
// children, holders of its pipes, and carriers of the run's mark or brand (family.h), which includes a daemon that gave
// up everything else.
//
// Threading: thread-safe; run_filter() blocks its caller.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/process/command_cage.h"

namespace agentd {

struct FilterRequest {
  // The file to execute: empty = argv[0], looked up in the environment's PATH. A sealed copy of a file is named
  // "/proc/PID/fd/N" of this process, so that the child needs no descriptor for it.
  std::string program;
  std::vector<std::string> argv;
  std::string cwd;
  // The complete environment: "NAME=value". AGENTD_RUN, the mark of this run, is added.
  std::vector<std::string> environment;
  std::string input;                          // the program may leave it unread
  std::uint64_t output_bytes_max = 1u << 20;  // of standard output
  std::uint64_t error_bytes_max = 64u << 10;  // of standard error: head and tail
  Milliseconds grace{500};                    // between SIGTERM and SIGKILL
  // How long the answer may still come after the program ended while a child of it holds the pipe.
  Milliseconds settle{50};
  // The program starts inside; null = with the user's rights. Where `program` is a descriptor of this process, its
  // number is `program_fd`.
  std::shared_ptr<CommandCage> cage{};
  int program_fd = -1;
};

struct FilterResult {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  bool timed_out = false, cancelled = false;
  bool output_over_cap = false;  // the program was ended when it wrote more than output_bytes_max
  std::string output, error;
  std::uint64_t duration_us = 0;
  std::uint32_t children = 0;  // its processes that had to be ended with it
  CagedCommand::After after;   // with a cage
};

// Returns when the program and all its descendants have ended and its output is read: at the latest `grace` plus the
// time of the kill after the deadline. kNotFound, kDenied: the program, its interpreter or the permission is missing;
// kInvalid: argv is empty or cwd is not a directory; kUnavailable: no process, or no cage, can be made.
Result<FilterResult> run_filter(const FilterRequest& request, const Clock& clock, const CancelToken& cancel,
                                Deadline deadline);

}  // namespace agentd
