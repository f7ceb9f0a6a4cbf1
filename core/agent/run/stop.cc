// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/stop.h"

#include <map>
#include <utility>

#include "core/agent/summariser.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/marked_rows.h"

namespace agentd {
namespace {

constexpr std::uint32_t kContinuesMax = 8;

}  // namespace

Result<Stop::Decision, RunError> Stop::ask() {
  if (!session_.hooks.wants(event())) return run_.compaction ? close_compaction(nullptr) : Decision{};
  // Hooks see the answer in the view: it is committed before they are asked.
  if (auto done = session_.messages.prompt() ? session_.log.commit_behind() : session_.log.commit(); !done)
    return done.error();
  const auto outcome = fire();
  if (auto runs = session_.hooks.check_stopped(); !runs) return runs.error();
  if (run_.compaction) return close_compaction(outcome.get());
  if (!outcome) return Decision{};
  return apply(*outcome);
}

std::unique_ptr<Outcome> Stop::fire() {
  const agentd_usage usage = to_abi(session_.conversation().usage());
  const Gauge now = session_.context.gauge();
  const agentd_gauge context = to_abi(now);
  agentd_agent_stop payload{};
  payload.size = sizeof payload;
  payload.flags = run_.stop_hook_active ? AGENTD_AGENT_STOP_HOOK_ACTIVE : 0;
  payload.continuation = run_.continuation;
  payload.stop_reason = static_cast<std::uint32_t>(run_.stop_reason);
  payload.response = to_abi(run_.final_text);
  payload.usage = &usage;
  payload.context = &context;
  payload.max_context_window = now.window;
  agentd_agent_stop bare = payload;
  const Rows pinned = session_.conversation().pin();
  payload.messages = pinned.list();
  bare.messages = {nullptr, 0, sizeof(agentd_message)};
  return session_.hooks.fire(event(), &payload, &bare);
}

// The answer takes the history's place, as the recipe's handler says it: whatever else hooks ask for at
// this stop is about a conversation that is gone.
Result<Stop::Decision, RunError> Stop::close_compaction(const Outcome* outcome) {
  std::string text = run_.final_text;
  std::string author = "recipe/" + session_.position.recipe;
  // A declined or truncated answer is not a summary, even without a handler that checks it.
  bool whole = run_.stop_reason == StopReason::kEndTurn || run_.stop_reason == StopReason::kSequence;
  if (outcome != nullptr)
    if (const Action* const action = outcome->exclusive_action();
        action != nullptr && action->kind == AGENTD_ACT_REPLACE_MESSAGES && action->parts.size() == 1 &&
        action->parts[0].literal.role == Role::kSummary) {
      text = action->parts[0].literal.text();
      author = outcome->exclusive[0].by.hook;
      whole = true;
    }
  if (!whole)
    return RunError{RunError::Kind::kProvider, run_.stop_reason == StopReason::kRefusal
                                                   ? "the model declined to summarise"
                                                   : "the model's summary was cut short"};
  if (is_blank(text)) return RunError{RunError::Kind::kProvider, "the model's summary is empty"};
  // Context that hooks add from here on belongs to the next view.
  session_.messages.end_prompt();
  auto done = run_.compaction->close_run(text, author);
  if (!done) return done.error();
  (void)session_.shared.take_queued();  // asked for of a view that is gone
  run_.compaction_report = *done;
  if (!done->changed()) return RunError{RunError::Kind::kFailure, done->text};
  return Decision{false, RunOutcome::kCompacted};
}

Result<void, RunError> Stop::apply_exclusive(const Outcome::Attributed& asked, Decision& decision, NextMessages& next) {
  if (asked.action.kind == AGENTD_ACT_SUMMARY) return store_summary(asked.action);
  if (asked.action.kind != AGENTD_ACT_CALLBACK) return change_view(asked, decision);
  std::string text = run_callback(asked.action);
  if (!is_blank(text)) next.push_back({std::move(text), MessageSource::kRecipe});
  return {};
}

Result<void, RunError> Stop::change_view(const Outcome::Attributed& asked, Decision& decision) {
  CompactionRequest request;
  request.reason = AGENTD_REASON_HOOK;
  request.phase = AGENTD_PHASE_POST_TURN;
  const bool compact = asked.action.kind == AGENTD_ACT_COMPACT;
  if (compact) {
    request.strategy = asked.action.code;
    request.keep_tokens = asked.action.number;
    request.model = asked.action.model;
    request.instructions = {asked.action.text};
  }
  Compaction compaction(session_, request);
  auto done = compact ? compaction.attempt() : compaction.replace(asked);
  if (!done) return done.error();
  if (done->changed()) decision.outcome = RunOutcome::kCompacted;
  if (done->outcome == AGENTD_RESULT_VETOED || done->outcome == AGENTD_RESULT_FAILED)
    session_.hooks.refute(asked.by.hook, event(), std::string(result_name(done->outcome)) + ": " + done->text);
  return {};
}

Result<Stop::Decision, RunError> Stop::apply(const Outcome& outcome) {
  Decision decision;
  NextMessages next;
  for (const Outcome::Attributed& text : outcome.continues)
    if (!text.action.text.empty()) next.push_back({text.action.text, MessageSource::kHook});
  if (!outcome.exclusive.empty())
    if (auto done = apply_exclusive(outcome.exclusive[0], decision, next); !done) return done.error();
  // After the view changed: what is added now is part of the new one.
  if (const Action* const title = outcome.set_of(AGENTD_KEY_TITLE)) session_.log.add(write_meta({title->text}));
  session_.messages.add_contexts(outcome);
  const Action* const then = outcome.set_of(AGENTD_KEY_THEN);
  if (next.empty() && then != nullptr && then->number == 1) next.push_back({"Continue.", MessageSource::kHook});
  const bool asks = !next.empty();
  if (auto done = go_on(std::move(next), decision); !done) return done.error();
  if (asks && !decision.go_on)
    for (const Outcome::Attributed& text : outcome.continues)
      session_.hooks.refute(text.by.hook, event(), "the run does not continue");
  return decision;
}

// Sends what hooks want to be said next. A message that another hook blocks is not sent; the run that was
// good until here ends well, or goes on with the other messages.
Result<void, RunError> Stop::go_on(NextMessages next, Decision& decision) {
  if (next.empty()) return {};
  if (run_.continuation >= kContinuesMax) {
    const std::string text =
        "hooks have continued this run " + std::to_string(kContinuesMax) + " times in a row; it stops here";
    session_.base().log.write(LogLevel::kWarning, "hooks", text);
    session_.hooks.warn(text);
    return {};
  }
  for (NextMessage& message : next) {
    auto sent = session_.messages.send(std::move(message.text), message.source);
    if (sent) {
      decision.go_on = true;
    } else if (sent.error().kind == RunError::Kind::kBlocked) {
      session_.hooks.warn("the run does not continue: " + sent.error().message);
    } else {
      return sent.error();
    }
  }
  if (!decision.go_on) return {};
  ++run_.continuation;
  run_.pauses = 0;
  run_.stop_hook_active = true;
  decision.outcome = RunOutcome::kStop;
  return {};
}

// Made and stored; the view stays as it is.
Result<void, RunError> Stop::store_summary(const Action& action) {
  std::string text = action.text;
  if (text.empty()) {
    const agentd_conv handle = session_.position.handle;
    ServiceCaller caller;
    caller.conversation = handle;
    auto answer = services_.compact(caller, {handle, 0, 0, {nullptr, 0, 0}}, {});
    if (!answer) {
      session_.hooks.warn("no summary was stored: " + answer.error().message);
      return {};
    }
    text = std::move(answer->summary);
  }
  session_.log.add(write_message(
      {Message::of_text(Role::kSummary, text), StopReason::kEndTurn, std::string(name_of(MessageSource::kHook)), {}}));
  return session_.log.commit();
}

// ---- the callback to a recipe

// Empty: it failed, and the user was warned.
std::string Stop::run_callback(const Action& action) {
  auto answer = ask_recipe(action);
  if (answer) return std::move(*answer);
  session_.hooks.warn("the callback to the recipe '" + action.text + "' failed: " + answer.error().message);
  return {};
}

Result<std::string> Stop::ask_recipe(const Action& action) {
  std::map<std::string, std::string> values{{"conversation_id", session_.position.conversation_id}};
  if (auto arguments = JsonDocument::parse(action.json); arguments)
    for (std::size_t i = 0; i < arguments->root().size(); ++i)
      values[std::string(arguments->root().key_at(i))] = std::string(arguments->root().at(i).string_or({}));
  AGENTD_TRY(const std::string prompt, session_.base().prompts.recipe_prompt(action.text, values));
  UtilityRequest ask;
  ask.model = session_.options.model;
  ask.system = session_.context.system_text();
  ask.closing_text = prompt;
  ask.purpose = std::string(name_of(UsagePurpose::kThread));
  ask.conversation_id = session_.position.conversation_id;
  const Rows& rows = session_.conversation().rows();
  const MarkedRows marked({rows.begin(), rows.size()}, &session_.conversation().origins());
  ask.messages = marked.rows();
  ask.origins = &session_.conversation().origins();
  const std::vector<ToolSpec> tools = session_.context.tool_specs();
  ask.tools = tools;
  ask.max_output_tokens = session_.options.max_output_tokens;
  AGENTD_TRY(const ModelResponse answer,
             ask_utility(session_.base(), *session_.shared.account(), ask, session_.shared.cancel()));
  session_.shared.charge(answer.usage.value_or(Usage{}), std::string(name_of(UsagePurpose::kThread)));
  return answer.message.text();
}

}  // namespace agentd
