// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_question.h - a question to a person about a tool call. It is durable before it is shown: whoever is there
// answers it now; otherwise the run ends, and any later process answers it (waits.h). Private to this room.
//
// Threading: the session's thread.

#include <optional>
#include <string>
#include <vector>

#include "core/agent/run/run_state.h"
#include "core/agent/run/tool_gate.h"

namespace agentd {

// The part of a batch of calls that a wait keeps.
struct BatchSoFar {
  std::vector<WaitRecord::Context> contexts;  // for the model, behind the results
  std::vector<std::string> unreadable;        // WaitRecord::unreadable
};

class ToolQuestion {
 public:
  // All outlive it. `run`: null = a call outside of runs.
  ToolQuestion(const SessionParts& session, const RunState* run, ToolGate& gate)
      : session_(session), run_(run), gate_(gate) {}

  // Has it answered, or leaves it waiting: then the id of the wait, which is committed with all that is pending.
  // REQUIRES: the call has a question.
  Result<std::optional<std::string>, RunError> ask(PreparedCall& prepared, bool direct, BatchSoFar batch);
  // The call of a subagent that waits: the id of the wait on it, committed.
  Result<std::string, RunError> wait_for_child(const PreparedCall& prepared, const std::string& conversation,
                                               const std::string& wait, BatchSoFar batch);

  // Why an earlier answer does not count: the tool or a hook that was asked is another one now. Empty = it counts.
  std::string changed_since(const WaitRecord& wait) const;

 private:
  WaitRecord wait_of(const PreparedCall& prepared, BatchSoFar batch) const;
  std::string why_no_wait() const;
  Result<void, RunError> commit(const WaitRecord& wait);
  bool answer_now(PreparedCall& prepared, const WaitRecord* wait);

  const SessionParts& session_;
  const RunState* const run_;
  ToolGate& gate_;
};

// The digest of a tool's definition, hex.
std::string digest_of(const Tool& tool);

}  // namespace agentd
