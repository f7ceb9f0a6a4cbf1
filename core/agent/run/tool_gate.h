// SPDX-License-Identifier: Apache-2.0
#pragma once
// tool_gate.h - whether a tool call may run: hooks gate and rewrite it, what they rewrote is held to the tool's schema
// and shown to the gates once more, then rules permit it, or demand a person's answer. Before that a call which would
// write a placeholder in the place of a secret is refused. Private to this room.
//
// Threading: the session's thread.

#include <memory>
#include <set>
#include <string>

#include "core/agent/input_schemas.h"
#include "core/agent/run/tool_payload.h"
#include "core/agent/session/parts.h"

namespace agentd {

// The state that a session keeps between calls.
struct ToolMemory {
  explicit ToolMemory(Log& log) : schemas(log) {}
  InputSchemas schemas;
  std::set<std::string> allowed;  // tools that the user allowed for this session
};

// How paths in a tool's input are resolved in this session.
InputPaths paths_of(const AgentOptions& options, const Tool& tool);

class ToolGate {
 public:
  // Both outlive it.
  ToolGate(const SessionParts& session, ToolMemory& memory) : session_(session), memory_(memory) {}

  // Refuses the call when its input does not fit the tool's schema. `by`: the hook that wrote the input.
  void check_schema(PreparedCall& prepared, const std::string& by = {});
  // Asks hooks and rules, and refuses the call when one of them does; or leaves a question for a person. `must_ask`:
  // only a person permits it. The hooks' outcome, whose contexts are to be given to the model; null: no hook was
  // called.
  // REQUIRES: the call is not refused.
  std::unique_ptr<Outcome> judge(PreparedCall& prepared, bool must_ask = false);
  // A call that a person has permitted earlier: rules and gates of now see it once more, and may only refuse it.
  std::unique_ptr<Outcome> judge_again(PreparedCall& prepared);
  // The person's answer: permits or refuses the call, with a record of it.
  void take_answer(PreparedCall& prepared, const PermissionAnswer& answer, const std::string& by);

 private:
  void take_rewritten_input(PreparedCall& prepared, const ToolInput& rewritten, Outcome& outcome);
  void ask_again(PreparedCall& prepared, const Outcome::By& by, Outcome& outcome);
  bool allowed_final_input(const Outcome& outcome) const;
  void deny(PreparedCall& prepared, const Outcome& outcome) const;
  bool refuse_placeholder(PreparedCall& prepared);
  void decide_permission(PreparedCall& prepared, const Outcome* outcome, bool must_ask);
  PathPlace path_place() const;
  PermissionVerdict rules_decide(const PreparedCall& prepared) const;
  bool rules_deny(PreparedCall& prepared, const PermissionVerdict& verdict);
  // "Always": for the project, or for the session when nothing narrower than the tool can be kept.
  void remember(const PreparedCall& prepared, const std::vector<std::string>& keeps);
  void ask_permission(PreparedCall& prepared, PreparedCall::Question question, bool must_ask);
  // Calls the hooks of permission_request; true if they have decided.
  bool hooks_decide(PreparedCall& prepared, PreparedCall::Question& question, bool must_ask);
  void record_decision(const PreparedCall& prepared, PermissionDecision decision, const std::string& by,
                       const std::string& reason);

  const SessionParts& session_;
  ToolMemory& memory_;
};

}  // namespace agentd
