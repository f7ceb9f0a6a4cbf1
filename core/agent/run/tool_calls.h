// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_calls.h - the tool calls of one answer, each from the model's wish to the recorded result: the one way to any
// tool. Private to this room.
//
// Order: the input is read and held to the tool's schema, the gate (tool_gate.h), the intent is committed, the tool
// runs, hooks see the output, the result is recorded. Neighbours that only read are a group, and take each of these
// steps together: gates in order, one commit of their intents, the tools at the same time, outputs and results in
// order. Any other call is alone, and so is each while a hook of ABI 1.0 watches tool calls.
//
// Threading: the session's thread; the tools of a group on threads of their own.

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
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
  // A call of the model, and what became of its input.
  struct Wish {
    const Block& use;
    const Result<ToolInput>& input;
  };
  // A call on its way to its result.
  struct Step {
    PreparedCall prepared;
    ToolResultRecord result{};
    ToolStatus status = ToolStatus::kOk;
    bool passed = false;  // the gate
    bool heard = false;   // by hooks, behind the call
    std::uint64_t took_ns = 0;
    void end(ToolStatus as, std::string text);
  };
  bool only_reads(const Wish& wish) const;
  Result<void, RunError> run_group(std::span<const Wish> group);
  PreparedCall prepare(const Wish& wish);
  Step pass_gate(const Wish& wish);
  // Ends the step if the run has ended meanwhile.
  void check_run(Step& step) const;
  void add_intent(const PreparedCall& prepared);
  void call_tools(std::span<Step* const> passed);
  void call_step(Step& step);
  ToolStatus call_tool(const PreparedCall& prepared, ToolResultRecord& result);
  void settle(Step& step);
  void after_tool(Step& step);
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
