// SPDX-License-Identifier: Apache-2.0
#pragma once
// answer.h - a hook's raw answer, the verdict that a dialect makes of it, and the values beside the payload.
//
// Threading: values.

#include <cstdint>
#include <string>
#include <vector>

#include "core/hooks/action.h"
#include "core/hooks/failure_text.h"

namespace agentd {

// Values that dialects need and the canonical payload does not have.
struct DialectContext {
  std::string transcript_path;  // claude, gemini; empty = none
  std::string timestamp;        // ISO 8601, UTC
  std::string permission_mode;  // claude: of the conversation, as `permissions.mode` names it; empty = unknown
  std::string project_dir;
};

struct RawAnswer {
  enum class End { kExited, kSignalled, kTimedOut, kCancelled, kNotStarted };
  End end = End::kExited;
  int code = 0;                        // exit code, or the signal's number
  std::string out, err;                // standard output and standard error; a webhook's body is `out`
  bool out_over_cap = false;           // more than the cap was written; `out` is incomplete
  std::string problem;                 // kNotStarted: one sentence
  int http_status = 0;                 // webhooks; 0 = no answer
  std::uint32_t children = 0;          // processes that had to be killed with the program
  std::vector<std::string> remarks{};  // of its sandbox
  bool undone = false;                 // it changed what the sandbox guards, which was put back
};

struct Verdict {
  std::vector<Action> actions;        // legal for the event, in order; targets set
  bool failed = false;                // follows the hook's on_failure
  bool timed_out = false;             // a failure by deadline
  FailureText failure;                // one sentence
  std::vector<std::string> warnings;  // unknown keys, illegal answers, non-blocking errors
  std::vector<std::string> log{};     // lines for the log, which may quote the hook
  std::uint32_t children = 0;         // processes that had to be killed with the program
};

}  // namespace agentd
