// SPDX-License-Identifier: Apache-2.0
#pragma once
// saving.h - a session's own checkpoints: of all that it has recorded so far. Private to this room.
//
// Threading: the session's thread.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/agent/session/context.h"
#include "core/agent/session/log_writer.h"

namespace agentd {

class Saving final : private LastRecords {
 public:
  // All outlive it.
  Saving(const AgentResources& agent, const AgentOptions& options, const Position& position, SharedSession& shared,
         LogWriter& log, const Context& context)
      : agent_(agent), options_(options), position_(position), shared_(shared), log_(log), context_(context) {
    if (!saves() || !options_.saves) return;
    shared_.take_wishes();
    log_.add_last_of(*this);
  }

  // True where checkpoints are made at all: in the user's own conversation.
  bool saves() const { return options_.lifecycle && position_.agent.depth == 0; }
  // Adds a checkpoint, which is pending: its id. Empty: the conversation has no messages.
  std::string add(std::string_view why, std::string name = {}) {
    CheckpointWish wish;
    wish.name = std::move(name);
    return add_wished(why, std::move(wish));
  }

 private:
  std::string add_wished(std::string_view why, CheckpointWish wish);
  // Checkpoints that others want come with the next commit.
  void add_last() override;
  void stored_last() override;

  const AgentResources& agent_;
  const AgentOptions& options_;
  const Position& position_;
  SharedSession& shared_;
  LogWriter& log_;
  const Context& context_;
  std::size_t added_ = 0;  // of the wishes, to the commit that goes on
};

}  // namespace agentd
