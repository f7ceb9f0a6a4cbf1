// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_calls.h - the tool calls of one answer, each from the model's wish to the recorded result: the one way to any
// tool. Private to this room.
//
// Order: the input is read and held to the tool's schema, the gate (tool_gate.h), the intent is committed, the tool
// runs, hooks see the output, the result is recorded.
//
// Threading: the session's thread.

#include <set>
#include <string>
#include <vector>

#include "core/agent/run/subagent.h"
#include "core/agent/run/tool_gate.h"

namespace agentd {

bool has_tool_calls(const Message& message);

class ToolCalls {
 public:
  // All outlive it.
  ToolCalls(const SessionParts& session, ToolMemory& memory, ChildSessions& children)
      : session_(session), gate_(session, memory), children_(children) {}

  // The tools that the request had: no other is called.
  void offer(const std::vector<ToolSpec>& tools);
  // Reads the calls of an answer, whose inputs are canonical and whose ids are its own afterwards.
  void take(Message& answer);
  // None of them is run.
  void forget() { inputs_.clear(); }
  // Runs the calls of `answer` in order and adds what rules and hooks say behind their results.
  // REQUIRES: it is the answer that was taken.
  Result<void, RunError> run(const Message& answer);

 private:
  // Some servers give two calls one id, or count anew in each answer; a request in which an id names two
  // calls is refused. The first keeps it, for the others it is made longer: "call_0_2".
  void part_calls(Message& answer) const;
  Result<void, RunError> run_one(const Block& use, const Result<ToolInput>& input);
  PreparedCall prepare(const Block& use, const Result<ToolInput>& input);
  Result<ToolStatus, RunError> run_judged(PreparedCall& prepared, ToolResultRecord& result, std::uint64_t& took_ns);
  void add_intent(const PreparedCall& prepared);
  ToolStatus call_tool(const PreparedCall& prepared, ToolResultRecord& result);
  void after_tool(const PreparedCall& prepared, ToolStatus status, ToolResultRecord& result, std::uint64_t duration_ns,
                  bool denied);
  void note_rules(const PreparedCall& prepared);
  bool knows_rules(const PathRules& rules) const;

  const SessionParts& session_;
  ToolGate gate_;
  ChildSessions& children_;
  std::set<std::string> offered_;
  std::vector<Result<ToolInput>> inputs_;  // of the answer's calls, in order
  // Recorded behind the batch's results, which follow their calls directly.
  std::vector<Outcome> late_contexts_;
  std::vector<PathRules> late_rules_;  // of directories that tools have touched
};

}  // namespace agentd
