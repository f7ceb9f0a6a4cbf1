// SPDX-License-Identifier: Apache-2.0
#pragma once
// surface.h - the session's way to its surface: every event says whose it is. Private to this room.
//
// Threading: the session's thread.

#include "core/agent/events.h"
#include "core/agent/session/position.h"

namespace agentd {

class Surface {
 public:
  // Both outlive it.
  Surface(const Position& position, EventSink& sink) : position_(position), sink_(sink) {}

  void tell(const RunEvent::Body& what) const {
    RunEvent event;
    event.session_id = position_.session_id;
    event.conversation_id = position_.conversation_id;
    if (position_.agent.depth != 0) {
      event.agent_id = position_.agent.id;
      event.agent_type = position_.agent.type;
      event.agent_depth = position_.agent.depth;
    }
    event.turn = position_.turn;
    event.body = what;
    sink_.on_event(event);
  }

 private:
  const Position& position_;
  EventSink& sink_;
};

}  // namespace agentd
