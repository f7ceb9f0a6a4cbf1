// SPDX-License-Identifier: Apache-2.0
#pragma once
// subagent.h - a call of the tool `task`: another agent, in a conversation of its own, under the same hooks.
// Private to this room.
//
// Order: subagent_start - child record (durable) - the child's run, with every gate of any run -
// subagent_stop - its last text is the tool's result, its usage is the parent's too.
//
// Threading: the session's thread.

#include <memory>
#include <string>

#include "core/agent/session/parts.h"

namespace agentd {

// The start parameters of a child. One without a prompt goes on where it waits.
struct ChildTask {
  Ulid id;
  AgentIdentity agent;
  std::unique_ptr<Lease> lease;
  std::string description, prompt;
  const Outcome* started = nullptr;  // of subagent_start; null = no hook was called
  std::string changed{};             // Session::carry_on()
};

// Runs children: each in its own session, made by the maker of sessions.
class ChildSessions {
 public:
  virtual ~ChildSessions() = default;
  struct Done {
    Result<RunReport, RunError> report;
    Usage usage;  // of the child and its children
  };
  // To the child's end.
  virtual Done run_child(ChildTask task) = 0;
};

struct SubagentEnd {
  ToolOutcome outcome;
  std::string conversation{};  // its own
  std::string waits_for{};     // a wait of it, or of one below: then there is no outcome yet
};
// kDenied: a hook refused; kCancelled: the user has ended the run; any other failure is an outcome.
Result<SubagentEnd> run_subagent(const SessionParts& session, ChildSessions& children, const ToolCall& call);
// A subagent that waits.
struct WaitingSubagent {
  std::string conversation, wait;
  std::string changed;  // Session::carry_on()
};
// Goes on with it; while another process works in its conversation it waits on.
Result<SubagentEnd> resume_subagent(const SessionParts& session, ChildSessions& children,
                                    const WaitingSubagent& waiting);

}  // namespace agentd
