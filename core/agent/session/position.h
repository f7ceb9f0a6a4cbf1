// SPDX-License-Identifier: Apache-2.0
#pragma once
// position.h - who speaks and where it is: stamped on every record, event, envelope and receipt of a session.
// Private to this room.
//
// Threading: the session's thread.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <string>
#include <utility>

#include "core/base/ids.h"
#include "core/model/provider.h"

namespace agentd {

// The agent of a session: the user's, or one started by another agent.
struct AgentIdentity {
  std::string id = "main", type = "main";
  std::uint32_t depth = 0;
};

struct Position {
  const Ulid conversation;
  const std::string conversation_id, session_id;
  const AgentIdentity agent;
  const agentd_conv handle;

  std::string recipe;  // of the newest run; empty = none
  Origin asked;        // the model that is or was asked last

  // Outside of runs 0 and empty.
  std::uint32_t run = 0, turn = 0;
  std::string run_id{}, turn_id{};

  void begin_run(std::uint32_t number, std::string id) {
    run = number;
    turn = 0;
    run_id = std::move(id);
  }
  void begin_turn(std::string id) {
    ++turn;
    turn_id = std::move(id);
  }
  void leave_run() {
    run = turn = 0;
    run_id.clear();
    turn_id.clear();
  }
};

}  // namespace agentd
