// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/merger.h"

#include <utility>
#include <vector>

#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::size_t kNoticesMax = 64;  // per hook and event

bool is_exclusive(const Action& action) {
  const ActionTraits* const traits = find_action(action.kind);
  return traits != nullptr && traits->merge == ActionMerge::kExclusive;
}

bool is_about_what_follows(const Action& action) {
  if (action.kind == AGENTD_ACT_PERMISSION) return action.code != AGENTD_PERMISSION_DENY;
  return action.kind == AGENTD_ACT_REPLACE_TEXT || is_exclusive(action);
}

}  // namespace

const Action* Outcome::set_of(std::uint32_t key) const {
  for (auto it = sets.rbegin(); it != sets.rend(); ++it)
    if (it->action.target == key) return &it->action;
  return nullptr;
}

AnswerEffect Merger::take(const Snapshot::Entry& entry, const HookAnswer& answer) {
  const Subscription& from = snapshot_.subscription(entry);
  if (answer.skipped) return AnswerEffect::kSkipped;
  if ((entry.wants & Snapshot::kShadow) != 0)
    return answer.status < 0 || !answer.actions.empty() ? AnswerEffect::kShadow : AnswerEffect::kNone;
  if (answer.status < 0) return take_failure(from, answer.status, answer.failure);
  if ((entry.flags & AGENTD_HOOK_OBSERVES) != 0)
    return answer.actions.empty() ? AnswerEffect::kNone : AnswerEffect::kIgnored;
  AnswerEffect effect = AnswerEffect::kNone;
  // An action that is not legal at the event has no effect; after a block, neither has an action about the blocked
  // part.
  const bool late = blocked();
  for (const Action& action : answer.actions) {
    const bool counts = is_legal(event_.event, action.kind) && !(late && is_about_what_follows(action));
    const AnswerEffect now = counts ? apply(from, action) : AnswerEffect::kIgnored;
    if (effect != AnswerEffect::kBlocked) effect = now;  // a notice after a block does not hide it
  }
  return effect;
}

Outcome& Merger::outcome() {
  if (!outcome_) outcome_ = std::make_unique<Outcome>();
  return *outcome_;
}

AnswerEffect Merger::take_failure(const Subscription& from, agentd_status status, const FailureText& failure) {
  outcome().failures.push_back({by(from), status, failure.text, failure.own});
  if (from.withholds()) withhold(from);
  const EventTraits* const traits = find_event(event_.event);
  if (from.on_failure == FailurePolicy::kOpen || traits == nullptr || !traits->blocking || from.observes())
    return AnswerEffect::kFailed;
  const bool first = !outcome().blocked;
  block(from, "the guard '" + from.name + "' failed" + (failure.empty() ? "" : ": " + failure.text));
  if (first) outcome().blocked_by_failure = true;
  return AnswerEffect::kBlocked;
}

// Text that a redacting hook has not checked must not be seen by anyone.
void Merger::withhold(const Subscription& from) {
  Action action;
  action.kind = AGENTD_ACT_REPLACE_TEXT;
  action.text = "[withheld: the hook " + from.name + ", which redacts it, failed]";
  if (apply_rewrite(from, action) == AnswerEffect::kApplied) outcome().withheld = true;
}

// The first hook that blocks is reported.
void Merger::block(const Subscription& from, std::string reason) {
  if (outcome().blocked && outcome().blocked_by.hook != from.name) return;
  outcome().blocked = true;
  outcome().reason = std::move(reason);
  outcome().blocked_by = by(from);
}

// Keeps the first notices of a hook; further ones are counted in a notice of their own.
AnswerEffect Merger::keep_notice(const Subscription& from, const Action& action) {
  std::vector<Outcome::Attributed>& notices = outcome().notices;
  if (++notices_ <= kNoticesMax) {
    notices.push_back({by(from), action});
    return AnswerEffect::kApplied;
  }
  if (notices_ == kNoticesMax + 1) notices.push_back({by(from), action});
  const std::size_t dropped = notices_ - kNoticesMax;
  notices.back().action.text = with_commas(dropped) +
                               (dropped == 1 ? " more notice was dropped" : " more notices were dropped") +
                               ": a hook may send " + std::to_string(kNoticesMax) + " at one event";
  return AnswerEffect::kApplied;
}

AnswerEffect Merger::apply(const Subscription& from, const Action& action) {
  const ActionTraits* const traits = find_action(action.kind);
  if (traits == nullptr) return AnswerEffect::kIgnored;
  switch (traits->merge) {
    case ActionMerge::kBlocks:
      block(from, action.text);
      return AnswerEffect::kBlocked;
    case ActionMerge::kEndsRun:
      return stop_run(from, action);
    case ActionMerge::kExclusive:
      return apply_exclusive(from, action);
    case ActionMerge::kStrictest:
      return apply_permission(from, action);
    case ActionMerge::kChains:
      return apply_rewrite(from, action);
    case ActionMerge::kLastWins:
      outcome().sets.push_back({by(from), action});
      return AnswerEffect::kApplied;
    case ActionMerge::kAddsUp:
      return add(from, action);
    case ActionMerge::kAnswers:
      return AnswerEffect::kIgnored;
  }
  return AnswerEffect::kIgnored;
}

AnswerEffect Merger::add(const Subscription& from, const Action& action) {
  if (action.kind == AGENTD_ACT_SYSTEM_MESSAGE) return keep_notice(from, action);
  auto& list = action.kind == AGENTD_ACT_CONTINUE         ? outcome().continues
               : action.kind == AGENTD_ACT_INJECT_CONTEXT ? outcome().contexts
                                                          : outcome().others;
  list.push_back({by(from), action});
  return AnswerEffect::kApplied;
}

// The announced action does not happen. Where it has already happened, rewriting hooks are still called.
AnswerEffect Merger::stop_run(const Subscription& from, const Action& action) {
  if (!outcome().stop) outcome().stop = Outcome::Attributed{by(from), action};
  const EventTraits* const traits = find_event(event_.event);
  if (traits == nullptr || !traits->blocking) return AnswerEffect::kApplied;
  block(from, action.text);
  return AnswerEffect::kBlocked;
}

AnswerEffect Merger::apply_exclusive(const Subscription& from, const Action& action) {
  if (outcome().exclusive.empty()) {
    outcome().exclusive.push_back({by(from), action});
    return AnswerEffect::kApplied;
  }
  outcome().conflicts.push_back({outcome().exclusive[0].by, by(from), action.kind});
  return AnswerEffect::kConflict;
}

AnswerEffect Merger::apply_permission(const Subscription& from, const Action& action) {
  const auto rank = [](std::uint32_t decision) {
    switch (decision) {
      case AGENTD_PERMISSION_DENY:
        return 4;
      case AGENTD_PERMISSION_DEFER:
        return 3;
      case AGENTD_PERMISSION_ASK:
        return 2;
      default:
        return 1;
    }
  };
  // A project's hook may tighten permissions, never loosen them.
  if (action.code == AGENTD_PERMISSION_ALLOW && from.precedence == Precedence::kProject) return AnswerEffect::kIgnored;
  if (action.code == AGENTD_PERMISSION_DENY) {
    block(from, action.text);
    outcome().permission = AGENTD_PERMISSION_DENY;
    return AnswerEffect::kBlocked;
  }
  if (outcome().permission != 0 && rank(outcome().permission) >= rank(action.code)) return AnswerEffect::kNone;
  outcome().permission = action.code;
  outcome().remember = action.remember != 0;
  outcome().permission_by = by(from);
  outcome().permission_reason = action.text;
  return AnswerEffect::kApplied;
}

AnswerEffect Merger::apply_rewrite(const Subscription& from, const Action& action) {
  const EventTraits* const traits = find_event(event_.event);
  const std::uint32_t target =
      action.target == AGENTD_TEXT_DEFAULT && traits != nullptr ? traits->text_target : action.target;
  if (event_.rewrite == nullptr || traits == nullptr || target != traits->text_target) return AnswerEffect::kIgnored;
  event_.rewrite(event_.context, target, action.text);
  outcome().rewrites.push_back({by(from), action});
  return AnswerEffect::kApplied;
}

}  // namespace agentd
