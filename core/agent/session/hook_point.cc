// SPDX-License-Identifier: Apache-2.0
#include "core/agent/session/hook_point.h"

#include <utility>

#include "core/base/bytes.h"
#include "core/scrub/secrets.h"

namespace agentd {
namespace {

constexpr Milliseconds kSessionEndTime{1'500};

}  // namespace

RunError interrupted() { return {RunError::Kind::kCancelled, "the run was interrupted"}; }

HookPoint::HookPoint(const AgentResources& agent, const AgentOptions& options, const Position& position,
                     const SharedSession& shared, const Surface& surface, LogWriter& log, const Context& context)
    : parts_(agent.parts()),
      scrubs_messages_(agent.runtime_settings().scrub_input),
      options_(options),
      position_(position),
      shared_(shared),
      surface_(surface),
      log_(log),
      context_(context),
      snapshot_(parts_.dispatcher.pin()) {}

void HookPoint::renew() {
  if (parts_.refresh) parts_.refresh();
  snapshot_ = parts_.dispatcher.pin();
}

bool HookPoint::sees_calls_apart() const {
  for (const std::uint32_t event : {AGENTD_EVENT_BEFORE_TOOL_CALL, AGENTD_EVENT_PERMISSION_REQUEST,
                                    AGENTD_EVENT_AFTER_TOOL_CALL, AGENTD_EVENT_TOOL_CALL_FAILED})
    for (const Snapshot::Entry& entry : snapshot_->entries(event))
      if ((entry.flags & kSeesCallsApart) != 0) return true;
  return false;
}

void HookPoint::leave_run() {
  snapshot_ = parts_.dispatcher.pin();
  end_run();
}

// ---- asking

agentd_envelope HookPoint::envelope_of(const Fired& fired, const std::string& event_id,
                                       const agentd_gauge& gauge) const {
  agentd_envelope envelope{};
  envelope.size = sizeof envelope;
  envelope.turn_number = position_.turn;
  envelope.event_id = to_abi(event_id);
  envelope.conversation_id = to_abi(position_.conversation_id);
  envelope.session_id = to_abi(position_.session_id);
  envelope.run_id = to_abi(position_.run_id);
  envelope.turn_id = to_abi(position_.turn_id);
  envelope.cwd = to_abi(options_.cwd);
  envelope.project_id = to_abi(options_.project_id);
  envelope.recipe = to_abi(position_.recipe);
  envelope.provider = to_abi(position_.asked.provider);
  envelope.model = to_abi(position_.asked.model);
  envelope.agent_id = to_abi(position_.agent.id);
  envelope.agent_type = to_abi(position_.agent.type);
  envelope.agent_depth = position_.agent.depth;
  envelope.invoked_by = position_.agent.depth == 0 ? AGENTD_INVOKED_BY_MAIN : AGENTD_INVOKED_BY_SUBAGENT;
  envelope.attempt = fired.attempt;
  envelope.revision = shared_.conversation().revision();
  envelope.context = &gauge;
  return envelope;
}

HookReceipt HookPoint::receipt_of(std::uint32_t event, std::string event_id) const {
  HookReceipt receipt;
  receipt.event_id = std::move(event_id);
  receipt.event = std::string(event_name(event));
  receipt.revision = shared_.conversation().revision();
  receipt.run = position_.run;
  receipt.turn = position_.turn;
  receipt.time_ms = parts_.clock.wall_ms();
  return receipt;
}

Firing::Frame HookPoint::frame_of(std::uint32_t event, const std::string& event_id) const {
  Firing::Frame frame{*snapshot_};
  frame.all = parts_.trace_hooks;
  frame.receipt = receipt_of(event, event_id);
  frame.kind_of = parts_.hook_kind;
  if (position_.run != 0) frame.ledger = shared_.hook_ledger();
  frame.secrets = parts_.secrets;
  frame.scrubs_messages = scrubs_messages_;
  if (parts_.trace_hooks) frame.tell = [this](const HookTrace& trace) { tell_hook(trace); };
  return frame;
}

Dispatch HookPoint::dispatch_of(const Fired& fired) const {
  Dispatch dispatch;
  dispatch.event = fired.event;
  dispatch.conversation = position_.handle;
  dispatch.payload = fired.payload;
  dispatch.payload_bare = fired.bare;
  dispatch.lineage = shared_.conversation().rows().lineage();
  // Work at the end must not keep the user waiting.
  const Milliseconds time = fired.event == AGENTD_EVENT_SESSION_END ? kSessionEndTime : options_.hook_deadline;
  dispatch.deadline_ns = Deadline::after(parts_.clock, time).at_ns;
  dispatch.budget_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
  if (fired.rewrite != nullptr) dispatch.rewrite = &Firing::rewrite;
  if (fired.admit != nullptr) dispatch.admit = &Firing::admit;
  if (fired.withdraw != nullptr) dispatch.withdraw = &Firing::withdraw;
  if (position_.run != 0) dispatch.refusal = &Firing::refusal;
  dispatch.slots = &parts_.slots;
  dispatch.only = fired.only;
  dispatch.except = fired.except;
  return dispatch;
}

std::unique_ptr<Outcome> HookPoint::fire(const Fired& fired) {
  if (!wants(fired.event)) return nullptr;
  const agentd_gauge gauge = to_abi(context_.gauge());
  const std::string event_id = parts_.ids.next().text();
  const agentd_envelope envelope = envelope_of(fired, event_id, gauge);
  std::optional<SlotLease> borrowed;
  CallSlot& slot = slot_ ? **slot_ : *borrowed.emplace(parts_.slots);
  Firing firing(fired, slot, frame_of(fired.event, event_id));
  Dispatch dispatch = dispatch_of(fired);
  dispatch.envelope = &envelope;
  dispatch.context = &firing;
  auto outcome = agentd::dispatch(*snapshot_, slot, dispatch, &firing);
  take(fired, firing, outcome.get());
  return outcome;
}

// Turns the answers into receipts, reports, and the end of the run.
void HookPoint::take(const Fired& fired, Firing& firing, Outcome* outcome) {
  if (outcome != nullptr) drop_illegal(*outcome, fired.event);
  firing.leave_out_quotes(outcome);
  for (HookReceipt& receipt : firing.take_receipts(outcome)) log_.add_receipt(std::move(receipt));
  for (const std::string& line : firing.log()) parts_.log.write(LogLevel::kWarning, "hooks", line);
  for (const Firing::Problem& problem : firing.problems()) report_problem(fired.event, problem);
  if (outcome == nullptr) return;
  pass_border(*outcome);
  report(*outcome, fired.event);
  if (!outcome->stop || position_.run == 0 || stopped_) return;
  stopped_ = outcome->stop;
  record_effect(fired.event, stopped_->by, HookEffect::kStopRun, {}, {}, stopped_->action.text);
}

// A hook's texts come from anywhere: a file that it has read, a command that it has run. A text that it writes instead
// of another is a matter of the event.
void HookPoint::pass_border(Outcome& outcome) const {
  if (parts_.secrets == nullptr) return;
  const auto clean = [this](std::string& text) { text = parts_.secrets->pass(std::move(text)).text; };
  for (auto* const list : {&outcome.contexts, &outcome.continues, &outcome.notices})
    for (Outcome::Attributed& each : *list) clean(each.action.text);
  for (Outcome::Failure& each : outcome.failures) clean(each.text);
  if (outcome.stop) clean(outcome.stop->action.text);
  clean(outcome.reason);
  clean(outcome.permission_reason);
}

std::unique_ptr<Outcome> HookPoint::fire(std::uint32_t event, const void* payload, const void* bare) {
  Fired fired;
  fired.event = event;
  fired.payload = payload;
  fired.bare = bare;
  return fire(fired);
}

void HookPoint::warn(std::string_view text) {
  surface_.tell(told::Warning{text});
  notify(AGENTD_LEVEL_WARNING, text);
}

void HookPoint::notify(std::uint32_t level, std::string_view text) {
  if (!wants(AGENTD_EVENT_NOTIFICATION)) return;
  agentd_notification payload{};
  payload.size = sizeof payload;
  payload.level = level;
  payload.text = to_abi(text);
  fire(AGENTD_EVENT_NOTIFICATION, &payload);
}

void HookPoint::notify_error(std::string_view code, std::string_view message, std::string_view phase, bool retryable) {
  surface_.tell(told::Failed{code, message});
  fire_error(code, message, phase, retryable);
}

void HookPoint::fire_error(std::string_view code, std::string_view message, std::string_view phase, bool retryable) {
  if (!wants(AGENTD_EVENT_AGENT_ERROR)) return;
  agentd_agent_error payload{};
  payload.size = sizeof payload;
  payload.retryable = retryable ? 1 : 0;
  payload.code = to_abi(code);
  payload.message = to_abi(message);
  payload.phase = to_abi(phase);
  fire(AGENTD_EVENT_AGENT_ERROR, &payload);
}

// ---- the end of the run

std::string HookPoint::stop_text() const {
  const std::string& reason = stopped_->action.text;
  return "the run was stopped by " + stopped_->by.hook + (reason.empty() ? "" : ": " + reason);
}

Result<void, RunError> HookPoint::check_stopped() const {
  if (stopped_) return RunError{RunError::Kind::kStopped, stop_text()};
  if (shared_.cancel().cancelled()) return interrupted();
  return {};
}

RunError HookPoint::refused(std::string text) const {
  return shared_.cancel().cancelled() ? interrupted() : RunError{RunError::Kind::kBlocked, std::move(text)};
}

// ---- what came of an answer

void HookPoint::tell_hook(const HookTrace& trace) const {
  std::string answer;
  for (const Action& action : trace.actions) {
    if (!answer.empty()) answer += ", ";
    answer += action_name(action.kind);
  }
  if (answer.empty()) answer = trace.status < 0 ? "failed" : "none";
  surface_.tell(told::HookAnswered{trace.hook, event_name(trace.event), answer, name_of(trace.effect),
                                   (trace.duration_ns + 500) / 1000});
}

// Once for each hook and cause: a mistake that is made at every event is one mistake.
void HookPoint::report_problem(std::uint32_t event, const Firing::Problem& problem) {
  const std::string text = "the hook " + problem.hook + " at " + std::string(event_name(event)) + ": " + problem.text;
  if (!told_problems_.insert(text).second) return;
  surface_.tell(told::Warning{text, problem.hook});
  if (!problem.logged) parts_.log.write(LogLevel::kWarning, "hooks", text);
}

void HookPoint::report(const Outcome& outcome, std::uint32_t event) const {
  const std::string name(event_name(event));
  for (const Outcome::Conflict& conflict : outcome.conflicts) {
    const std::string action(action_name(conflict.kind));
    surface_.tell(told::HookConflict{conflict.loser.hook, name, conflict.winner.hook, action});
    parts_.log.write(LogLevel::kWarning, "hooks",
                     action + " of " + conflict.loser.hook + " at " + name + " lost to " + conflict.winner.hook);
  }
  for (const Outcome::Failure& failure : outcome.failures) {
    const std::string why =
        failure.text.empty() ? "it answered with status " + std::to_string(failure.status) : failure.text;
    surface_.tell(told::HookFailed{failure.by.hook, name, why});
    parts_.log.write(LogLevel::kWarning, "hooks", failure.by.hook + " failed at " + name + ": " + why);
  }
  for (const Outcome::Attributed& notice : outcome.notices)
    surface_.tell(told::Notice{notice.action.text, notice.by.hook});
}

// A receipt that is stored already stays as it is, and another one says what came of the answer.
void HookPoint::refute(std::string_view hook, std::uint32_t event, std::string_view why) {
  if (log_.refute(hook, event_name(event), why)) return;
  HookReceipt late = receipt_of(event, parts_.ids.next().text());
  late.hook = std::string(hook);
  if (parts_.hook_kind) late.kind = parts_.hook_kind(hook);
  late.effect = AnswerEffect::kRefused;
  late.note = std::string(why);
  log_.add_receipt(std::move(late));
}

void HookPoint::report_refusal(std::string_view hook, std::uint32_t event, std::string_view why) {
  refute(hook, event, why);
  surface_.tell(told::HookFailed{hook, event_name(event), why});
  parts_.log.write(LogLevel::kWarning, "hooks",
                   std::string(hook) + " at " + std::string(event_name(event)) + ": " + std::string(why));
}

void HookPoint::record_effect(std::uint32_t event, const Outcome::By& by, HookEffect effect, std::string_view before,
                              std::string_view after, std::string_view reason) {
  HookEffectRecord record;
  record.event = find_event(event) == nullptr ? "" : std::string(event_name(event));
  record.plugin = by.plugin;
  for (const Subscription& subscription : snapshot_->subscriptions())
    if (subscription.name == by.hook) record.plugin_digest = subscription.bytes_digest;
  record.effect = std::string(name_of(effect));
  if (!before.empty()) record.before_digest = hex(sha256(before));
  if (!after.empty()) record.after_digest = hex(sha256(after));
  record.reason = one_line(reason, 500);
  log_.add(write_hook_effect(record));
}

}  // namespace agentd
