// SPDX-License-Identifier: Apache-2.0
#pragma once
// turn.h - one model exchange and the tools that it asks for: make room, ask, take the answer in, run its calls.
// Private to this room.
//
// Threading: the session's thread.

#include "core/agent/run/model_call.h"

namespace agentd {

class Turn {
 public:
  // All outlive it.
  Turn(const SessionParts& session, RunState& run, ToolMemory& memory, ChildSessions& children)
      : session_(session),
        run_(run),
        doors_(session, run),
        calls_(session, memory, children),
        model_(session, run, doors_, calls_) {}

  // True if the run continues with another turn.
  Result<bool, RunError> take();

 private:
  Result<bool, RunError> settle(ModelResponse response);
  bool goes_on(const ModelResponse& response, bool calls);
  void add_answer(ModelResponse& response);
  void add_usage(const Usage& usage);
  void end(const ModelResponse& response, bool final_turn);

  const SessionParts& session_;
  RunState& run_;
  CompactionDoors doors_;
  ToolCalls calls_;
  ModelCall model_;
  std::uint64_t assistant_seq_ = 0;
};

}  // namespace agentd
