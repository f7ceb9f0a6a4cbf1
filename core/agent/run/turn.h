// SPDX-License-Identifier: Apache-2.0
#pragma once
// turn.h - one model exchange and the tools that it asks for: make room, ask, take the answer in, run its calls.
// Private to this room.
//
// Threading: the session's thread.

#include "core/agent/run/model_call.h"

namespace agentd {

enum class TurnEnd {
  kMore,     // another turn follows
  kLast,     // the model asks for nothing more
  kWaiting,  // a call waits for an answer; RunState::waits_for
};

class Turn {
 public:
  // All outlive it.
  Turn(const SessionParts& session, RunState& run, ToolMemory& memory, ChildSessions& children)
      : session_(session),
        run_(run),
        doors_(session, run),
        calls_(session, &run, memory, children),
        model_(session, run, doors_, calls_) {}

  Result<TurnEnd, RunError> take();
  // Goes on with the calls of an earlier answer, one of which has waited; see ToolCalls::resume(). kFailure: the answer
  // is not in the view.
  Result<TurnEnd, RunError> resume(const OpenWait& open, const std::string& changed);

 private:
  Result<TurnEnd, RunError> settle(ModelResponse response);
  Result<TurnEnd, RunError> finish(const ModelResponse& response, CallsEnd calls, bool more);
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
