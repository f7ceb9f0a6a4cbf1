// SPDX-License-Identifier: Apache-2.0
#pragma once
// priming.h - what a session begins with: the offer of the project's newest checkpoint, and memories that fit the task.
// Private to this room.
//
// The memories are asked for once: before session_start where the first text is known, else before the first message of
// the user is added. A text that hooks of messages may refuse or rewrite is not known before they have passed it. The
// model gets them behind that message.
//
// Threading: the session's thread; never inside a dispatch.

#include <optional>
#include <string>
#include <vector>

#include "core/agent/recollections.h"
#include "core/agent/session/log_writer.h"

namespace agentd {

class Priming {
 public:
  // All outlive it.
  Priming(const AgentResources& agent, const AgentOptions& options, const Position& position,
          const SharedSession& shared)
      : agent_(agent), options_(options), position_(position), shared_(shared) {}

  // The payload of session_start borrows from it.
  struct Start {
    std::string task;
    std::vector<Recollection> memories{};
    std::optional<Recollection> checkpoint{};
  };
  // `task`: the first text; empty = not known yet. `offers`: the checkpoint is looked up.
  const Start& begin(std::string task, bool offers, const CancelToken& cancel);
  const Start& start() const { return start_; }
  // The context behind a message of the user's; empty = none, as behind every other one.
  std::string take(const std::string& message, const CancelToken& cancel);

 private:
  void ask(const std::string& task, const CancelToken& cancel);
  void look_up();
  bool is_quoted(const std::string& id) const;

  const AgentResources& agent_;
  const AgentOptions& options_;
  const Position& position_;
  const SharedSession& shared_;
  Start start_;
  bool asked_ = false, told_ = false;
};

}  // namespace agentd
