// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_calls.h - the tool calls of one answer, each from the model's wish to the recorded result: the one way to any
// tool. Private to this room.
//
// Order: the input is read and held to the tool's schema, the gate (tool_gate.h), the intent is committed, the tool
// runs, hooks see the output, the result is recorded. Neighbours that only read are a group, and take each of these
// steps together: gates in order, one commit of their intents, the tools at the same time, outputs and results in
// order. Any other call is alone, and so is each while a hook of ABI 1.0 watches tool calls, or which a person has to
// answer first: the calls before it end, then it is asked about, and it may end the run until there is an answer.
//
// Threading: the session's thread; the tools of a group on threads of their own.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/agent/run/subagent.h"
#include "core/agent/run/tool_question.h"

namespace agentd {

bool has_tool_calls(const Message& message);

// Why the calls are over.
enum class CallsEnd {
  kDone,
  kWaiting,  // for an answer; the rest has not begun
};

class ToolCalls {
 public:
  // All outlive it. `run`: null = outside of runs.
  ToolCalls(const SessionParts& session, const RunState* run, ToolMemory& memory, ChildSessions& children)
      : session_(session), gate_(session, memory), question_(session, run, gate_), children_(children) {}

  // The tools that the request had: no other is called.
  void offer(const std::vector<ToolSpec>& tools);
  // Reads the calls of an answer, whose inputs are canonical and whose ids are its own afterwards.
  void take(Message& answer);
  // None of them is run.
  void forget() { inputs_.clear(); }
  // Runs the calls of `answer` in order and adds what rules and hooks say behind their results.
  // REQUIRES: it is the answer that was taken.
  Result<CallsEnd, RunError> run(const Message& answer);
  // Goes on in a recorded answer with the call that waited, whose answer is there or too late. `changed`: why the
  // answer does not count, beside what is seen here; empty = nothing.
  Result<CallsEnd, RunError> resume(const Message& answer, const OpenWait& open, const std::string& changed);
  // kWaiting: the id of the wait.
  const std::string& waits_for() const { return waits_for_; }

  // ---- a call without a model; its result is pending, or it waits

  Result<DirectReport, RunError> run_direct(const DirectCall& call);
  Result<DirectReport, RunError> resume_direct(const OpenWait& open, const std::string& changed);

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
    bool direct = false;  // without a model
    std::uint64_t took_ns = 0;
    std::optional<std::vector<PlanEntry>> plan{};  // that the tool has set
    std::optional<WaitingSubagent> resumes{};      // the subagent that continues in this call
    std::string child{}, child_wait{};             // of a subagent that waits now: its conversation and the wait
    void end(ToolStatus as, std::string text);
  };
  std::vector<Wish> wishes_of(const Message& answer) const;
  bool only_reads(const Wish& wish) const;
  Result<CallsEnd, RunError> run_all(std::span<const Wish> wishes);
  Result<CallsEnd, RunError> run_group(std::span<const Wish> group);
  Result<CallsEnd, RunError> run_steps(std::span<Step> steps);
  Result<CallsEnd, RunError> resume_step(Step& step, const OpenWait& open, const std::string& changed);
  void judge_answer(Step& step, const OpenWait& open, const std::string& changed);
  Result<CallsEnd, RunError> ask(Step& step);
  std::vector<WaitRecord::Context> contexts() const;
  BatchSoFar batch() const;
  void add_late();
  DirectReport report_of(const Step& step, CallsEnd end) const;
  PreparedCall prepare(const Wish& wish);
  PreparedCall prepare(const WaitRecord& wait);
  Step pass_gate(const Wish& wish);
  // The call is refused, or passes.
  void leave_gate(Step& step);
  // Ends the step if the run has ended meanwhile.
  void check_run(Step& step) const;
  void add_intent(const Step& step);
  void note_sandbox(std::span<Step* const> passed);
  void call_tools(std::span<Step* const> passed);
  void call_step(Step& step);
  static bool shows_files(const Tool& tool);
  ToolStatus call_tool(Step& step);
  void pass_border(Step& step) const;
  Result<ToolOutcome> call_subagent(Step& step);
  void settle(Step& step);
  void after_tool(Step& step);
  void tell_scrubbed(const Step& step) const;
  void note_rules(const PreparedCall& prepared);
  bool knows_rules(const PathRules& rules) const;

  const SessionParts& session_;
  ToolGate gate_;
  ToolQuestion question_;
  ChildSessions& children_;
  std::string waits_for_;
  std::set<std::string> offered_;
  std::vector<Result<ToolInput>> inputs_;  // of the answer's calls, in order
  std::vector<std::string> unreadable_;    // the calls among them without one, by their ids
  // Recorded behind the batch's results, which follow their calls directly.
  std::vector<Outcome> late_contexts_;
  std::vector<PathRules> late_rules_;                  // of directories that tools have touched
  std::vector<WaitRecord::Context> resumed_contexts_;  // from before the wait
};

}  // namespace agentd
