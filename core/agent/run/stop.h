// SPDX-License-Identifier: Apache-2.0
#pragma once
// stop.h - the end of a run's last turn: what hooks want to happen next, and what comes of it. Private to this room.
//
// Threading: the session's thread.

#include <string>
#include <vector>

#include "core/agent/run/run_state.h"

namespace agentd {

class Stop {
 public:
  struct Decision {
    bool go_on = false;
    RunOutcome outcome = RunOutcome::kStop;
  };

  // All outlive it; `services` are those of hooks.
  Stop(const SessionParts& session, RunState& run, Services& services)
      : session_(session), run_(run), services_(services) {}

  // Asks agent_stop, or subagent_stop, and does what hooks want. In a run that writes a summary the answer takes the
  // history's place.
  Result<Decision, RunError> ask();

 private:
  struct NextMessage {
    std::string text;
    MessageSource source;
  };
  using NextMessages = std::vector<NextMessage>;

  std::uint32_t event() const {
    return session_.position.agent.depth == 0 ? AGENTD_EVENT_AGENT_STOP : AGENTD_EVENT_SUBAGENT_STOP;
  }
  std::unique_ptr<Outcome> fire();
  Result<Decision, RunError> close_compaction(const Outcome* outcome);
  Result<Decision, RunError> apply(const Outcome& outcome);
  Result<void, RunError> apply_exclusive(const Outcome::Attributed& asked, Decision& decision, NextMessages& next);
  Result<void, RunError> change_view(const Outcome::Attributed& asked, Decision& decision);
  Result<void, RunError> go_on(NextMessages next, Decision& decision);
  Result<void, RunError> store_summary(const Action& action);
  std::string run_callback(const Action& action);
  Result<std::string> ask_recipe(const Action& action);

  const SessionParts& session_;
  RunState& run_;
  Services& services_;
};

}  // namespace agentd
