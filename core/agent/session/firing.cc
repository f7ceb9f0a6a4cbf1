// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/firing.h"

#include <iterator>

#include "core/agent/states.h"
#include "core/scrub/secrets.h"

namespace agentd {

std::string_view event_name(std::uint32_t event) {
  const EventTraits* const traits = find_event(event);
  return traits == nullptr ? std::string_view("?") : traits->name;
}

namespace {

// One kept payload per piece of a streamed answer would be the answer many times over.
bool is_stream(std::uint32_t event) { return event == AGENTD_EVENT_MODEL_DELTA; }

std::string joined(std::string_view first, std::string_view second) {
  std::string out(first);
  if (!out.empty() && !second.empty()) out += "; ";
  return out.append(second);
}

// Why the action has no effect at the event; empty = it has one.
std::string why_illegal(std::uint32_t event, const Action& action) {
  const std::string at = std::string(" is not legal for ") + std::string(event_name(event)) + "; it was ignored";
  if (!is_legal(event, action.kind)) return "the action " + std::string(action_name(action.kind)) + at;
  if (action.kind == AGENTD_ACT_SET && !is_legal_key(event, action.target))
    return "the key " + std::to_string(action.target) + at;
  return {};
}

}  // namespace

// ---- one dispatch

void Firing::rewrite(void* me, std::uint32_t target, std::string_view text) {
  auto& firing = *static_cast<Firing*>(me);
  if (!firing.before_rewrite_) {
    firing.before_rewrite_ = firing.slot_.payload_text(false);
    firing.version_before_ = firing.version_;
  }
  ++firing.version_;
  firing.fired_.rewrite(firing.fired_.context, target, text);
}

Result<std::string> Firing::admit(void* me, std::string_view text) {
  const auto& firing = *static_cast<Firing*>(me);
  return firing.fired_.admit(firing.fired_.context, text);
}

void Firing::withdraw(void* me) {
  auto& firing = *static_cast<Firing*>(me);
  ++firing.version_;
  firing.fired_.withdraw(firing.fired_.context);
}

std::string Firing::refusal(void* me, const Subscription& hook) {
  return static_cast<Firing*>(me)->frame_.ledger->refusal(hook.name, hook.file);
}

void Firing::find_problems(const HookTrace& trace) {
  const std::string hook(trace.hook);
  if (trace.refused && trace.effect == AnswerEffect::kSkipped)
    problems_.push_back({hook, "it is not called any more: " + std::string(trace.note), false});
  if (trace.effect == AnswerEffect::kSkipped) return;
  for (const Action& action : trace.actions)
    if (std::string why = why_illegal(trace.event, action); !why.empty())
      problems_.push_back({hook, std::move(why), false});
  const bool quotes = may_quote(trace);
  // Errors in the answer of a hook that did not fail itself.
  if (trace.status >= 0 && !trace.failure.empty())
    problems_.push_back({hook, std::string(trace.failure), true, quotes});
  // Observers also note what they did; no call waits for their answers.
  if (!trace.note.empty() && !observes(trace)) problems_.push_back({hook, std::string(trace.note), true, quotes});
}

bool Firing::observes(const HookTrace& trace) const {
  const Snapshot::Entry* const entry = entry_of(trace);
  return entry != nullptr && (entry->flags & AGENTD_HOOK_OBSERVES) != 0;
}

// Observers come last, and see what the others have left.
bool Firing::may_quote(const HookTrace& trace) const {
  return has_removable_text(fired_.event) && !observes(trace) && trace.effect != AnswerEffect::kSkipped;
}

const Snapshot::Entry* Firing::entry_of(const HookTrace& trace) const {
  for (const Snapshot::Entry& entry : frame_.snapshot.entries(trace.event))
    if (frame_.snapshot.subscription(entry).name == trace.hook) return &entry;
  return nullptr;
}

std::string Firing::kind_of(const HookTrace& trace) const {
  if (frame_.kind_of) return frame_.kind_of(trace.hook);
  const Snapshot::Entry* const entry = entry_of(trace);
  return entry != nullptr && (entry->wants & Snapshot::kWaits) != 0 ? "external" : "native";
}

void Firing::on_hook(const HookTrace& trace) {
  if (frame_.tell) frame_.tell(trace);
  if (frame_.ledger != nullptr) frame_.ledger->count_call(trace);
  find_problems(trace);
  const bool spoke = !trace.actions.empty() || trace.status < 0;
  const bool worth_it =
      is_stream(fired_.event) ? trace.status < 0 : frame_.all || spoke || !trace.note.empty() || !trace.failure.empty();
  answered_ = answered_ || spoke;
  if (!trace.log.empty()) (may_quote(trace) ? quoting_log_ : log_).emplace_back(trace.log);
  if (worth_it) keep(trace);
  before_rewrite_.reset();
}

std::string Firing::clean(std::string text) const {
  return frame_.secrets == nullptr ? text : frame_.secrets->pass(std::move(text)).text;
}

// A hook's answer passes the border, too, before a receipt holds it. What takes the place of the user's or the model's
// own words stays, as these do.
std::string Firing::answer_of(const HookTrace& trace, AnswerTexts texts) const {
  std::vector<Action> actions(trace.actions.begin(), trace.actions.end());
  const bool output = fired_.event == AGENTD_EVENT_AFTER_TOOL_CALL || fired_.event == AGENTD_EVENT_TOOL_CALL_FAILED;
  const bool words = !output && !(frame_.scrubs_messages && fired_.event == AGENTD_EVENT_USER_MESSAGE_SEND);
  for (Action& action : actions)
    if (!words || action.kind != AGENTD_ACT_REPLACE_TEXT) action.text = clean(std::move(action.text));
  return answer_json(actions, fired_.event, texts);
}

void Firing::keep(const HookTrace& trace) {
  Seen& seen = seen_.emplace_back();
  seen.payload = before_rewrite_ ? before_rewrite_ : slot_.payload_text(false);
  seen.version = before_rewrite_ ? version_before_ : version_;
  seen.receipt = frame_.receipt;
  HookReceipt& receipt = seen.receipt;
  receipt.attempt = fired_.attempt;
  receipt.hook = std::string(trace.hook);
  receipt.plugin = std::string(trace.plugin);
  receipt.kind = kind_of(trace);
  receipt.bytes_digest = std::string(trace.bytes_digest);
  if (seen.payload) receipt.payload_digest = digest_of(seen.payload);
  receipt.answer = answer_of(
      trace, frame_.snapshot.decides(AGENTD_EVENT_USER_MESSAGE_SEND) ? AnswerTexts::kSaid : AnswerTexts::kAll);
  receipt.effect = trace.effect;
  receipt.note = clean(joined(trace.failure, trace.note));
  if (fired_.event == AGENTD_EVENT_USER_MESSAGE_SEND) seen.reasons = answer_of(trace, AnswerTexts::kReasons);
  if (may_quote(trace)) seen.own_note = trace.failure.empty() ? "" : without_quotes(trace.failure, trace.own_words);
  receipt.duration_us = (trace.duration_ns + 500) / 1000;
}

const Digest& Firing::digest_of(const std::shared_ptr<const std::string>& text) {
  if (digested_ != text) {
    digested_ = text;
    digest_ = sha256(*text);
  }
  return digest_;
}

bool Firing::is_refused(const Outcome* outcome) const {
  return fired_.event == AGENTD_EVENT_USER_MESSAGE_SEND && outcome != nullptr && outcome->blocked;
}

void Firing::leave_out_quotes(Outcome* outcome) {
  if (!has_removable_text(fired_.event) || (version_ == 0 && !is_refused(outcome))) {
    log_.insert(log_.end(), std::make_move_iterator(quoting_log_.begin()), std::make_move_iterator(quoting_log_.end()));
    return;
  }
  for (Seen& seen : seen_) {
    if (seen.own_note) seen.receipt.note = std::move(*seen.own_note);
    if (is_refused(outcome)) seen.receipt.answer = std::move(seen.reasons);
  }
  std::erase_if(problems_, [](const Problem& problem) { return problem.may_quote; });
  if (outcome == nullptr) return;
  for (Outcome::Failure& failure : outcome->failures) {
    const std::string own = without_quotes(failure.text, failure.own_words);
    if (outcome->blocked_by_failure && outcome->blocked_by.hook == failure.by.hook &&
        outcome->reason.ends_with(failure.text))
      outcome->reason.replace(outcome->reason.size() - failure.text.size(), std::string::npos, own);
    failure.text = own;
  }
}

// Text that a hook rewrote or refused is not stored: such a payload is known only by its digest.
std::vector<HookReceipt> Firing::take_receipts(const Outcome* outcome) {
  const bool kept = (answered_ || frame_.all) && !is_refused(outcome) && !is_stream(fired_.event);
  std::vector<HookReceipt> out;
  for (Seen& seen : seen_) {
    if (kept && (!has_removable_text(fired_.event) || seen.version == version_))
      seen.receipt.payload = std::move(seen.payload);
    out.push_back(std::move(seen.receipt));
  }
  seen_.clear();
  return out;
}

void drop_illegal(Outcome& outcome, std::uint32_t event) {
  const bool may_block = is_legal(event, AGENTD_ACT_BLOCK) || is_legal(event, AGENTD_ACT_PERMISSION);
  if (!may_block && !outcome.blocked_by_failure) outcome.blocked = false;
  if (!is_legal(event, AGENTD_ACT_STOP_RUN)) outcome.stop.reset();
  const auto keep_legal = [&](std::vector<Outcome::Attributed>& asked) {
    std::erase_if(asked, [&](const Outcome::Attributed& one) { return !why_illegal(event, one.action).empty(); });
  };
  for (auto* const list :
       {&outcome.exclusive, &outcome.continues, &outcome.contexts, &outcome.notices, &outcome.sets, &outcome.others})
    keep_legal(*list);
  if (is_legal(event, AGENTD_ACT_PERMISSION)) return;
  if (outcome.permission == AGENTD_PERMISSION_DENY && !outcome.blocked_by_failure) outcome.blocked = false;
  outcome.permission = 0;
}

}  // namespace agentd
