// SPDX-License-Identifier: Apache-2.0
#pragma once
// process.h - runs commands.
//
// A child gets its own session and process group, only descriptors 0 to 2, and default signals. It dies with all its
// descendants (family.h) at the deadline or when it is cancelled, and what it leaves behind is ended when it ends by
// itself. What shall go on is started as a command of its session (process_host.h).
//
// Threading: thread-safe; run_process() blocks its caller.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/process/spill.h"

namespace agentd {

struct ProcessRequest {
  std::vector<std::string> argv;         // argv[0] is looked up in PATH
  std::string cwd;                       // empty = this process's own
  std::vector<std::string> environment;  // "NAME=value"; empty = clean_environment()
  std::string input;
  std::uint64_t output_bytes_max = 1u << 20;  // kept of stdout and stderr together: head and tail
  Milliseconds grace{2'000};                  // between SIGTERM and SIGKILL
  std::vector<std::string> additions{};       // "NAME=value", in addition to the environment or in place of its own
  SpillPlace spill{};                         // for output beyond output_bytes_max
  std::vector<int> pass{};                    // as in SpawnRequest
};

// Why a command no longer runs.
enum class EndReason : std::uint8_t {
  kNone,          // it runs
  kExited,        // by itself, with an exit code
  kSignalled,     // a signal ended it that agentd did not send for one of the following reasons
  kTimedOut,      // its time was over
  kCancelled,     // the run or the call that waited for it was cancelled
  kEnded,         // by request
  kSessionEnded,  // with the session that owned it
  kOutputLimit,   // it wrote more than was allowed
};

struct ProcessResult {
  int exit_code = -1;  // -1 when a signal ended it
  int signal = 0;
  bool timed_out = false, cancelled = false, truncated = false;
  EndReason reason = EndReason::kNone;
  std::string output;  // as it came; with `truncated` the head, a marker line, the tail
  std::uint64_t output_bytes = 0;
  std::string spill_path;         // with `truncated`: the file with all of the output; empty = none
  std::uint64_t spill_bytes = 0;  // in that file; fewer than output_bytes: its limit was reached
  Milliseconds duration{0};
};

// PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TERM, TZ and TMPDIR of this process and nothing else: no provider keys,
// no LD_*.
std::vector<std::string> clean_environment();
// `environment` with `additions`, which replace variables of the same name. kInvalid: one has no "=" or an impossible
// name. kDenied: it would change which code programs load (LD_*, BASH_ENV, ENV), is agentd's own (AGENTD_*) or the key
// of a provider (*_API_KEY).
Result<std::vector<std::string>> environment_with(std::vector<std::string> environment,
                                                  const std::vector<std::string>& additions);

// All variables of the command: environment_with() of the two members.
Result<std::vector<std::string>> environment_of(const ProcessRequest& request);

// kNotFound: the program does not exist; kInvalid: argv is empty or cwd is not a directory; kUnavailable: no process
// can be created; kDenied and kInvalid of environment_with().
Result<ProcessResult> run_process(const ProcessRequest& request, const Clock& clock, const CancelToken& cancel,
                                  Deadline deadline);

}  // namespace agentd
