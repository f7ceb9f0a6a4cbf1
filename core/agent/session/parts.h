// SPDX-License-Identifier: Apache-2.0
#pragma once
// parts.h - the parts of a session, by reference: what a run, a turn, a tool call, a compaction and an undo work
// with. Private to this room.
//
// Threading: the session's thread.

#include "core/agent/session/threshold.h"

namespace agentd {

// Warnings about compactions that a session has already given.
struct CompactionNotes {
  bool told_paused = false;  // the automatic doors stay shut
  bool told_prompt = false;  // the user's own recipe cannot be used
};

// All outlive it.
struct SessionParts {
  const AgentResources& agent;
  const AgentOptions& options;  // of this session's agent
  Position& position;
  SharedSession& shared;
  const Surface& surface;
  LogWriter& log;
  Context& context;
  HookPoint& hooks;
  Messages& messages;
  Threshold& threshold;
  CompactionNotes& notes;

  // The session, as tool calls and questions see it.
  SessionContext context_of_calls() const {
    return {position.handle, position.conversation_id, options.cwd, options.tools_roots};
  }
  // The parts that the agent was built from.
  const AgentParts& base() const { return agent.parts(); }
  const Conversation& conversation() const { return shared.conversation(); }
};

}  // namespace agentd
