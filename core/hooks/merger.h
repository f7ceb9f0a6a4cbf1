// SPDX-License-Identifier: Apache-2.0
#pragma once
// merger.h - merges the answers of an event's hooks into its outcome, by the rules of each action. Private to this
// room.
//
// Threading: one thread.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/conversation/answer_effect.h"
#include "core/hooks/dispatch.h"
#include "core/hooks/outcome.h"
#include "core/hooks/slot.h"
#include "core/hooks/snapshot.h"

namespace agentd {

// The result of one call of a hook.
struct HookAnswer : CallSlot::Answer {
  agentd_status status = AGENTD_OK;
  std::uint64_t duration_ns = 0;
  bool refused = false;
};

// For the answer of one hook.
class Merger {
 public:
  // `outcome` is made when the first hook returns something.
  Merger(const Snapshot& snapshot, const Dispatch& event, std::unique_ptr<Outcome>& outcome)
      : snapshot_(snapshot), event_(event), outcome_(outcome) {}

  // Merges the answer; returns its effect. Once.
  AnswerEffect take(const Snapshot::Entry& entry, const HookAnswer& answer);

  bool blocked() const { return outcome_ && outcome_->blocked; }

 private:
  Outcome& outcome();
  static Outcome::By by(const Subscription& from) { return {from.name, from.plugin}; }

  AnswerEffect take_failure(const Subscription& from, agentd_status status, const FailureText& failure);
  void withhold(const Subscription& from);
  void block(const Subscription& from, std::string reason);
  AnswerEffect keep_notice(const Subscription& from, const Action& action);
  AnswerEffect apply(const Subscription& from, const Action& action);
  AnswerEffect add(const Subscription& from, const Action& action);
  AnswerEffect stop_run(const Subscription& from, const Action& action);
  AnswerEffect apply_exclusive(const Subscription& from, const Action& action);
  AnswerEffect apply_permission(const Subscription& from, const Action& action);
  AnswerEffect apply_rewrite(const Subscription& from, const Action& action);

  std::size_t notices_ = 0;  // of the hook
  const Snapshot& snapshot_;
  const Dispatch& event_;
  std::unique_ptr<Outcome>& outcome_;
};

}  // namespace agentd
