// SPDX-License-Identifier: Apache-2.0
// firing.cc - from the session to its hooks and back to its surface.
#include "core/agent/session/firing.h"

#include "core/agent/receipts.h"
#include "core/agent/session/session.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr Milliseconds kSessionEndTime{1'500};

std::string_view event_name(std::uint32_t event) {
  const EventTraits* const traits = find_event(event);
  return traits == nullptr ? std::string_view("?") : traits->name;
}

// Texts that the log has only in the form in which hooks leave them.
bool is_private(std::uint32_t event) {
  return event == AGENTD_EVENT_USER_MESSAGE_SEND || event == AGENTD_EVENT_AFTER_MODEL_CALL ||
         event == AGENTD_EVENT_AFTER_TOOL_CALL || event == AGENTD_EVENT_TOOL_CALL_FAILED;
}

// One kept payload per piece of a streamed answer would be the answer many times over.
bool is_stream(std::uint32_t event) { return event == AGENTD_EVENT_MODEL_DELTA; }

bool redacts_messages(const Snapshot& snapshot) {
  for (const Snapshot::Entry& entry : snapshot.entries(AGENTD_EVENT_USER_MESSAGE_SEND))
    if ((entry.flags & AGENTD_HOOK_REDACTS) != 0) return true;
  return false;
}

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

std::string Firing::refusal(void* me, const Subscription& hook) {
  return static_cast<Firing*>(me)->frame_.ledger->refusal(hook.name, hook.file);
}

void Firing::find_problems(const HookTrace& trace) {
  const std::string hook(trace.hook);
  if (trace.refused && trace.effect == "skipped")
    problems_.push_back({hook, "it is not asked any more: " + std::string(trace.note), false});
  if (trace.effect == "skipped") return;
  for (const Action& action : trace.actions)
    if (std::string why = why_illegal(trace.event, action); !why.empty())
      problems_.push_back({hook, std::move(why), false});
  // What the host refused to take from a hook that is content with itself otherwise.
  if (trace.status >= 0 && !trace.failure.empty()) problems_.push_back({hook, std::string(trace.failure), true});
  // Observers also note what they did; nobody waits for what they say.
  const Snapshot::Entry* const entry = entry_of(trace);
  const bool observes = entry != nullptr && (entry->flags & AGENTD_HOOK_OBSERVES) != 0;
  if (!trace.note.empty() && !observes) problems_.push_back({hook, std::string(trace.note), true});
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
  if (worth_it) keep(trace);
  before_rewrite_.reset();
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
  receipt.answer = answer_json(trace.actions, fired_.event, redacts_messages(frame_.snapshot));
  receipt.effect = std::string(trace.effect);
  receipt.note = joined(trace.failure, trace.note);
  receipt.duration_us = (trace.duration_ns + 500) / 1000;
}

const Digest& Firing::digest_of(const std::shared_ptr<const std::string>& text) {
  if (digested_ != text) {
    digested_ = text;
    digest_ = sha256(*text);
  }
  return digest_;
}

// What a hook rewrote or refused is stored nowhere: such a payload is known by its digest alone.
std::vector<HookReceipt> Firing::take_receipts(const Outcome* outcome) {
  const bool refused = fired_.event == AGENTD_EVENT_USER_MESSAGE_SEND && outcome != nullptr && outcome->blocked;
  const bool kept = (answered_ || frame_.all) && !refused && !is_stream(fired_.event);
  std::vector<HookReceipt> out;
  for (Seen& seen : seen_) {
    if (kept && (!is_private(fired_.event) || seen.version == version_)) seen.receipt.payload = std::move(seen.payload);
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
       {&outcome.exclusive, &outcome.continues, &outcome.contexts, &outcome.notices, &outcome.sets, &outcome.tools})
    keep_legal(*list);
  if (is_legal(event, AGENTD_ACT_PERMISSION)) return;
  if (outcome.permission == AGENTD_PERMISSION_DENY && !outcome.blocked_by_failure) outcome.blocked = false;
  outcome.permission = 0;
}

// ---- the session

agentd_envelope SessionImpl::envelope_of(const Fired& fired, const agentd_gauge& gauge) {
  texts_.event_id = parts_.ids.next().text();
  agentd_envelope envelope{};
  envelope.size = sizeof envelope;
  envelope.turn_number = turn_;
  envelope.event_id = to_abi(texts_.event_id);
  envelope.conversation_id = to_abi(shared_.conversation().id());
  envelope.session_id = to_abi(session_id_);
  envelope.run_id = to_abi(texts_.run_id);
  envelope.turn_id = to_abi(texts_.turn_id);
  envelope.cwd = to_abi(options_.cwd);
  envelope.project_id = to_abi(options_.project_id);
  envelope.recipe = to_abi(recipe_);
  envelope.provider = to_abi(asked_.provider);
  envelope.model = to_abi(asked_.model);
  envelope.agent_id = to_abi(agent_.id);
  envelope.agent_type = to_abi(agent_.type);
  envelope.agent_depth = agent_.depth;
  envelope.invoked_by = agent_.depth == 0 ? AGENTD_INVOKED_BY_MAIN : AGENTD_INVOKED_BY_SUBAGENT;
  envelope.attempt = fired.attempt;
  envelope.revision = shared_.conversation().revision();
  envelope.context = &gauge;
  return envelope;
}

Firing::Frame SessionImpl::frame_of(std::uint32_t event) {
  Firing::Frame frame{*snapshot_};
  frame.all = parts_.trace_hooks;
  frame.receipt.event_id = texts_.event_id;
  frame.receipt.event = std::string(event_name(event));
  frame.receipt.revision = shared_.conversation().revision();
  frame.receipt.run = run_number_;
  frame.receipt.turn = turn_;
  frame.receipt.time_ms = parts_.clock.wall_ms();
  frame.kind_of = parts_.hook_kind;
  if (run_number_ != 0) frame.ledger = shared_.hook_ledger().get();
  if (parts_.trace_hooks) frame.tell = [this](const HookTrace& trace) { tell_hook(trace); };
  return frame;
}

std::unique_ptr<Outcome> SessionImpl::fire(const Fired& fired) {
  if (!wants(fired.event)) return nullptr;
  const agentd_gauge gauge = to_abi(this->gauge());
  const agentd_envelope envelope = envelope_of(fired, gauge);
  Firing::Frame frame = frame_of(fired.event);
  const bool in_run = frame.ledger != nullptr;
  Firing firing(fired, *slot_, std::move(frame));
  Dispatch dispatch;
  dispatch.event = fired.event;
  dispatch.conversation = handle_;
  dispatch.envelope = &envelope;
  dispatch.payload = fired.payload;
  dispatch.payload_bare = fired.bare;
  dispatch.lineage = shared_.conversation().rows().lineage();
  // What happens at the end must not keep the user waiting.
  const Milliseconds time = fired.event == AGENTD_EVENT_SESSION_END ? kSessionEndTime : options_.hook_deadline;
  dispatch.deadline_ns = Deadline::after(parts_.clock, time).at_ns;
  dispatch.budget_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
  if (fired.rewrite != nullptr) dispatch.rewrite = &Firing::rewrite;
  if (fired.admit != nullptr) dispatch.admit = &Firing::admit;
  if (in_run) dispatch.refusal = &Firing::refusal;
  dispatch.context = &firing;
  dispatch.slots = &parts_.slots;
  dispatch.only = fired.only;
  dispatch.except = fired.except;
  auto outcome = agentd::dispatch(*snapshot_, *slot_, dispatch, &firing);
  if (outcome) drop_illegal(*outcome, fired.event);
  for (HookReceipt& receipt : firing.take_receipts(outcome.get())) receipts_.push_back(std::move(receipt));
  for (const Firing::Problem& problem : firing.problems()) report_problem(fired.event, problem);
  if (outcome) report(*outcome, fired.event);
  if (outcome && outcome->stop && run_number_ != 0 && !stopped_) {
    stopped_ = outcome->stop;
    record_effect(fired.event, stopped_->by, "stop_run", {}, {}, stopped_->action.text);
  }
  return outcome;
}

std::unique_ptr<Outcome> SessionImpl::fire(std::uint32_t event, const void* payload, const void* bare) {
  Fired fired;
  fired.event = event;
  fired.payload = payload;
  fired.bare = bare;
  return fire(fired);
}

void SessionImpl::tell_hook(const HookTrace& trace) {
  std::string answer;
  for (const Action& action : trace.actions) {
    if (!answer.empty()) answer += ", ";
    answer += action_name(action.kind);
  }
  if (answer.empty()) answer = trace.status < 0 ? "failed" : "none";
  RunEvent out{RunEvent::Type::kHookAnswer};
  out.name = trace.hook;
  out.detail = event_name(trace.event);
  out.text = answer;
  out.effect = trace.effect;
  out.ok = trace.status >= 0;
  out.duration_us = (trace.duration_ns + 500) / 1000;
  tell(out);
}

// Once for each hook and cause: a mistake that is made at every event is one mistake.
void SessionImpl::report_problem(std::uint32_t event, const Firing::Problem& problem) {
  const std::string text = "the hook " + problem.hook + " at " + std::string(event_name(event)) + ": " + problem.text;
  if (!told_problems_.insert(text).second) return;
  RunEvent told{RunEvent::Type::kWarning};
  told.name = problem.hook;
  told.text = text;
  tell(told);
  if (!problem.logged) parts_.log.write(LogLevel::kWarning, "hooks", text);
}

void SessionImpl::report(const Outcome& outcome, std::uint32_t event) {
  const std::string_view name = event_name(event);
  for (const Outcome::Conflict& conflict : outcome.conflicts) {
    RunEvent told{RunEvent::Type::kHookConflict};
    told.name = conflict.loser.hook;
    told.detail = name;
    told.text = conflict.winner.hook;
    told.effect = action_name(conflict.kind);
    tell(told);
    parts_.log.write(LogLevel::kWarning, "hooks",
                     std::string(action_name(conflict.kind)) + " of " + conflict.loser.hook + " at " +
                         std::string(name) + " lost to " + conflict.winner.hook);
  }
  for (const Outcome::Failure& failure : outcome.failures) {
    const std::string why =
        failure.text.empty() ? "it answered with status " + std::to_string(failure.status) : failure.text;
    RunEvent told{RunEvent::Type::kHookFailure};
    told.name = failure.by.hook;
    told.detail = name;
    told.text = why;
    tell(told);
    parts_.log.write(LogLevel::kWarning, "hooks", failure.by.hook + " failed at " + std::string(name) + ": " + why);
  }
  for (const Outcome::Attributed& notice : outcome.notices) {
    RunEvent told{RunEvent::Type::kNotice};
    told.name = notice.by.hook;
    told.text = notice.action.text;
    tell(told);
  }
}

// A receipt that is stored already stays as it is, and another one says what came of the answer.
void SessionImpl::refute(std::string_view hook, std::uint32_t event, std::string_view why) {
  const auto answer = std::find_if(receipts_.rbegin(), receipts_.rend(), [&](const HookReceipt& receipt) {
    return receipt.hook == hook && receipt.event == event_name(event) && receipt.effect == "applied";
  });
  const bool stored = answer == receipts_.rend();
  if (stored) {
    HookReceipt late = frame_of(event).receipt;
    late.event_id = parts_.ids.next().text();
    late.hook = std::string(hook);
    if (parts_.hook_kind) late.kind = parts_.hook_kind(hook);
    receipts_.push_back(std::move(late));
  }
  HookReceipt& receipt = stored ? receipts_.back() : *answer;
  receipt.effect = "refused";
  receipt.note += (receipt.note.empty() ? "" : "; ") + std::string(why);
}

void SessionImpl::report_refusal(std::string_view hook, std::uint32_t event, std::string_view why) {
  refute(hook, event, why);
  RunEvent told{RunEvent::Type::kHookFailure};
  told.name = hook;
  told.detail = event_name(event);
  told.text = why;
  tell(told);
  parts_.log.write(LogLevel::kWarning, "hooks",
                   std::string(hook) + " at " + std::string(event_name(event)) + ": " + std::string(why));
}

void SessionImpl::add_contexts(const Outcome& outcome) {
  for (const Outcome::Attributed& context : outcome.contexts) {
    if (is_blank(context.action.text)) continue;
    if (run_prompt_) {  // a run that records nothing but its summary
      *run_prompt_ += "\n\n" + context.action.text;
      continue;
    }
    Message message = Message::of_text(Role::kUser, context.action.text);
    message.flags = AGENTD_MESSAGE_CONTEXT;
    add(write_message({message, StopReason::kEndTurn, "hook", context.by.hook}));
  }
}

void SessionImpl::record_effect(std::uint32_t event, const Outcome::By& by, std::string_view effect,
                                std::string_view before, std::string_view after, std::string_view reason) {
  HookEffectRecord record;
  record.event = find_event(event) == nullptr ? "" : std::string(event_name(event));
  record.plugin = by.plugin;
  for (const Subscription& subscription : snapshot_->subscriptions())
    if (subscription.name == by.hook) record.plugin_digest = subscription.bytes_digest;
  record.effect = std::string(effect);
  if (!before.empty()) record.before_digest = hex(sha256(before));
  if (!after.empty()) record.after_digest = hex(sha256(after));
  record.reason = one_line(reason, 500);
  add(write_hook_effect(record));
}

void SessionImpl::tell(RunEvent event) const {
  event.session_id = session_id_;
  event.conversation_id = shared_.conversation().id();
  if (agent_.depth != 0) {
    event.agent_id = agent_.id;
    event.agent_type = agent_.type;
    event.agent_depth = agent_.depth;
  }
  if (event.turn == 0) event.turn = turn_;
  parts_.events.on_event(event);
}

void SessionImpl::warn(std::string_view text) {
  RunEvent told{RunEvent::Type::kWarning};
  told.text = text;
  tell(told);
  notify(AGENTD_LEVEL_WARNING, text);
}

void SessionImpl::notify(std::uint32_t level, std::string_view text) {
  if (!wants(AGENTD_EVENT_NOTIFICATION)) return;
  agentd_notification payload{};
  payload.size = sizeof payload;
  payload.level = level;
  payload.text = to_abi(text);
  fire(AGENTD_EVENT_NOTIFICATION, &payload);
}

void SessionImpl::notify_error(std::string_view code, std::string_view message, std::string_view phase,
                               bool retryable) {
  RunEvent told{RunEvent::Type::kError};
  told.detail = code;
  told.text = message;
  tell(told);
  fire_error(code, message, phase, retryable);
}

void SessionImpl::fire_error(std::string_view code, std::string_view message, std::string_view phase, bool retryable) {
  if (!wants(AGENTD_EVENT_AGENT_ERROR)) return;
  agentd_agent_error payload{};
  payload.size = sizeof payload;
  payload.retryable = retryable ? 1 : 0;
  payload.code = to_abi(code);
  payload.message = to_abi(message);
  payload.phase = to_abi(phase);
  fire(AGENTD_EVENT_AGENT_ERROR, &payload);
}

}  // namespace agentd
