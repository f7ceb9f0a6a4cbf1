// SPDX-License-Identifier: Apache-2.0
#pragma once
// process.h - runs commands.
//
// A child gets its own session and process group, only descriptors 0 to 2, and default signals. It dies with all its
// descendants (family.h) at the deadline or when it is cancelled. Processes that a command leaves behind when it ends
// in time keep running, such as a server started with setsid.
//
// Threading: thread-safe; run_process() blocks its caller.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"

namespace agentd {

struct ProcessRequest {
  std::vector<std::string> argv;         // argv[0] is looked up in PATH
  std::string cwd;                       // empty = this process's own
  std::vector<std::string> environment;  // "NAME=value"; empty = clean_environment()
  std::string input;
  std::uint64_t output_bytes_max = 1u << 20;  // kept of stdout and stderr together: head and tail
  Milliseconds grace{2'000};                  // between SIGTERM and SIGKILL
};

struct ProcessResult {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  bool timed_out = false, cancelled = false, truncated = false;
  std::string output;  // as it came; with `truncated` the head, a marker line, the tail
  std::uint64_t output_bytes = 0;
  Milliseconds duration{0};
};

// PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TERM, TZ and TMPDIR of this process and nothing else: no provider keys,
// no LD_*.
std::vector<std::string> clean_environment();

// kNotFound: the program does not exist; kInvalid: argv is empty or cwd is not a directory; kUnavailable: no process
// can be created.
Result<ProcessResult> run_process(const ProcessRequest& request, const Clock& clock, const CancelToken& cancel,
                                  Deadline deadline);

}  // namespace agentd
