// SPDX-License-Identifier: Apache-2.0
// firing.cc - from the session to its hooks and back to its surface.
#include "core/agent/services.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {
constexpr Milliseconds kSessionEndTime{1'500};
}  // namespace

std::unique_ptr<Outcome> SessionImpl::fire(std::uint32_t event, const void* payload,
                                           const void* payload_bare,
                                           void (*rewrite)(void*, std::uint32_t, std::string_view),
                                           void* context) {
  if (!snapshot_->wants(event)) return nullptr;
  texts_.event_id = parts_.ids.next().text();
  const agentd_gauge gauge = to_abi(this->gauge());
  agentd_envelope envelope{};
  envelope.size = sizeof envelope;
  envelope.turn_number = turn_;
  envelope.event_id = to_abi(texts_.event_id);
  envelope.conversation_id = to_abi(conversation_->id());
  envelope.session_id = to_abi(session_id_);
  envelope.run_id = to_abi(texts_.run_id);
  envelope.turn_id = to_abi(texts_.turn_id);
  envelope.cwd = to_abi(options_.cwd);
  envelope.project_id = to_abi(options_.project_id);
  envelope.recipe = to_abi(options_.recipe);
  envelope.provider = to_abi(options_.provider);
  envelope.model = to_abi(options_.model);
  envelope.agent_id = to_abi(std::string_view("main"));
  envelope.agent_type = to_abi(std::string_view("main"));
  envelope.invoked_by = AGENTD_INVOKED_BY_MAIN;
  envelope.attempt = 1;
  envelope.revision = conversation_->revision();
  envelope.context = &gauge;
  Dispatch dispatch;
  dispatch.event = event;
  dispatch.conversation = handle_;
  dispatch.envelope = &envelope;
  dispatch.payload = payload;
  dispatch.payload_bare = payload_bare;
  // What happens at the end must not keep the user waiting.
  const Milliseconds time = event == AGENTD_EVENT_SESSION_END ? kSessionEndTime : options_.hook_deadline;
  dispatch.deadline_ns = Deadline::after(parts_.clock, time).at_ns;
  dispatch.rewrite = rewrite;
  dispatch.context = context;
  auto outcome =
      agentd::dispatch(*snapshot_, *slot_, dispatch, parts_.trace_hooks ? this : nullptr);
  if (outcome) report(*outcome, event);
  return outcome;
}

void SessionImpl::on_hook(const HookTrace& trace) {
  const EventTraits* const event = find_event(trace.event);
  std::string answer;
  for (const Action& action : trace.actions) {
    if (!answer.empty()) answer += ", ";
    answer += action_name(action.kind);
  }
  if (answer.empty()) answer = trace.status < 0 ? "failed" : "none";
  RunEvent out{RunEvent::Type::kHookAnswer};
  out.name = trace.hook;
  out.detail = event == nullptr ? std::string_view("?") : event->name;
  out.text = answer;
  out.effect = trace.effect;
  out.ok = trace.status >= 0;
  out.duration_us = (trace.duration_ns + 500) / 1000;
  tell(out);
}

void SessionImpl::report(const Outcome& outcome, std::uint32_t event) {
  const EventTraits* const traits = find_event(event);
  const std::string_view name = traits == nullptr ? std::string_view("?") : traits->name;
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
    parts_.log.write(LogLevel::kWarning, "hooks",
                     failure.by.hook + " failed at " + std::string(name) + ": " + why);
  }
  for (const Outcome::Attributed& notice : outcome.notices) {
    RunEvent told{RunEvent::Type::kNotice};
    told.name = notice.by.hook;
    told.text = notice.action.text;
    tell(told);
  }
}

void SessionImpl::add_contexts(const Outcome& outcome) {
  for (const Outcome::Attributed& context : outcome.contexts) {
    if (context.action.text.empty()) continue;
    Message message = Message::of_text(Role::kUser, context.action.text);
    message.flags = AGENTD_MESSAGE_CONTEXT;
    add(write_message({message, StopReason::kEndTurn, "hook", context.by.hook}));
  }
}

void SessionImpl::record_effect(std::uint32_t event, const Outcome::By& by, std::string_view effect,
                                std::string_view before, std::string_view after,
                                std::string_view reason) {
  const EventTraits* const traits = find_event(event);
  HookEffectRecord record;
  record.event = traits == nullptr ? "" : std::string(traits->name);
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
  event.conversation_id = conversation_->id();
  if (event.turn == 0) event.turn = turn_;
  parts_.events.on_event(event);
}

void SessionImpl::notify_error(std::string_view code, std::string_view message, std::string_view phase,
                               bool retryable) {
  RunEvent told{RunEvent::Type::kError};
  told.detail = code;
  told.text = message;
  tell(told);
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
