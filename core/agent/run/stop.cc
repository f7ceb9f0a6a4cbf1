// SPDX-License-Identifier: Apache-2.0
// stop.cc - the end of a run's last turn: what hooks want to happen next, and what comes of it.
#include "core/agent/compaction/compact.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/conversation/marked_rows.h"

namespace agentd {
namespace {

constexpr std::uint32_t kContinuesMax = 8;

}  // namespace

Result<SessionImpl::StopDecision, RunError> SessionImpl::agent_stop() {
  const std::uint32_t event = stop_event();
  if (!wants(event)) return run_compaction_ ? close_compaction(nullptr) : StopDecision{};
  // Hooks see the answer in the view: it is committed before they are asked.
  if (auto done = run_prompt_ ? commit_behind() : commit(); !done) return done.error();
  const agentd_usage usage = to_abi(shared_.conversation().usage());
  const Gauge now = gauge();
  const agentd_gauge context = to_abi(now);
  agentd_agent_stop payload{};
  payload.size = sizeof payload;
  payload.flags = stop_hook_active_ ? AGENTD_AGENT_STOP_HOOK_ACTIVE : 0;
  payload.continuation = continuation_;
  payload.stop_reason = static_cast<std::uint32_t>(stop_reason_);
  payload.response = to_abi(final_text_);
  payload.usage = &usage;
  payload.context = &context;
  payload.max_context_window = now.window;
  agentd_agent_stop bare = payload;
  const Rows pinned = shared_.conversation().pin();
  payload.messages = pinned.list();
  bare.messages = {nullptr, 0, sizeof(agentd_message)};
  const auto outcome = fire(event, &payload, &bare);
  if (auto runs = check_stopped(); !runs) return runs.error();
  if (run_compaction_) return close_compaction(outcome.get());
  if (!outcome) return StopDecision{};
  return apply_stop_answer(*outcome);
}

// The answer takes the history's place, as the recipe's handler says it: whatever else hooks ask for at
// this stop is about a conversation that is gone.
Result<SessionImpl::StopDecision, RunError> SessionImpl::close_compaction(const Outcome* outcome) {
  std::string text = final_text_;
  std::string author = "recipe/" + recipe_;
  // What was declined or cut short is no summary, also where no handler is there to say so.
  bool whole = stop_reason_ == StopReason::kEndTurn || stop_reason_ == StopReason::kSequence;
  if (outcome != nullptr)
    if (const Action* const action = outcome->exclusive_action();
        action != nullptr && action->kind == AGENTD_ACT_REPLACE_MESSAGES && action->parts.size() == 1 &&
        action->parts[0].literal.role == Role::kSummary) {
      text = action->parts[0].literal.text();
      author = outcome->exclusive[0].by.hook;
      whole = true;
    }
  if (!whole)
    return RunError{RunError::Kind::kProvider, stop_reason_ == StopReason::kRefusal
                                                   ? "the model declined to summarise"
                                                   : "the model's summary was cut short"};
  if (is_blank(text)) return RunError{RunError::Kind::kProvider, "the model's summary is empty"};
  // What hooks add from here on is about the view that comes.
  run_prompt_.reset();
  auto done = run_compaction_->close_run(text, author);
  if (!done) return done.error();
  (void)shared_.take_queued();  // asked for of a view that is gone
  compaction_report_ = *done;
  if (!done->changed()) return RunError{RunError::Kind::kFailure, done->text};
  return StopDecision{false, RunOutcome::kCompacted};
}

Result<void, RunError> SessionImpl::apply_exclusive(const Outcome::Attributed& asked, StopDecision& decision,
                                                    NextMessages& next) {
  if (asked.action.kind == AGENTD_ACT_SUMMARY) return store_summary(asked.action);
  if (asked.action.kind == AGENTD_ACT_CALLBACK) {
    auto text = run_callback(asked.action);
    if (!text) return text.error();
    if (!is_blank(*text)) next.emplace_back(std::move(*text), "recipe");
    return {};
  }
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
  Compaction compaction(*this, request);
  auto done = compact ? compaction.attempt() : compaction.replace(asked);
  if (!done) return done.error();
  if (done->changed()) decision.outcome = RunOutcome::kCompacted;
  if (done->outcome == AGENTD_RESULT_VETOED || done->outcome == AGENTD_RESULT_FAILED)
    refute(asked.by.hook, stop_event(), std::string(result_name(done->outcome)) + ": " + done->text);
  return {};
}

Result<SessionImpl::StopDecision, RunError> SessionImpl::apply_stop_answer(const Outcome& outcome) {
  StopDecision decision;
  NextMessages next;
  for (const Outcome::Attributed& text : outcome.continues)
    if (!text.action.text.empty()) next.emplace_back(text.action.text, "hook");
  if (!outcome.exclusive.empty())
    if (auto done = apply_exclusive(outcome.exclusive[0], decision, next); !done) return done.error();
  // After the view changed: what is added now is part of the new one.
  if (const Action* const title = outcome.set_of(AGENTD_KEY_TITLE)) add(write_meta({title->text}));
  add_contexts(outcome);
  const Action* const then = outcome.set_of(AGENTD_KEY_THEN);
  if (next.empty() && then != nullptr && then->number == 1) next.emplace_back("Continue.", "hook");
  const bool asks = !next.empty();
  if (auto done = go_on(std::move(next), decision); !done) return done.error();
  if (asks && !decision.go_on)
    for (const Outcome::Attributed& text : outcome.continues)
      refute(text.by.hook, stop_event(), "the run does not go on");
  return decision;
}

// Sends what hooks want to be said next. A message that another hook blocks is not sent; the run that was
// good until here ends well, or goes on with the other messages.
Result<void, RunError> SessionImpl::go_on(NextMessages next, StopDecision& decision) {
  if (next.empty()) return {};
  if (continuation_ >= kContinuesMax) {
    const std::string text =
        "hooks have continued this run " + std::to_string(kContinuesMax) + " times in a row; it stops here";
    parts_.log.write(LogLevel::kWarning, "hooks", text);
    warn(text);
    return {};
  }
  for (auto& [text, source] : next) {
    auto sent = send_user_message(std::move(text), source);
    if (sent) {
      decision.go_on = true;
    } else if (sent.error().kind == RunError::Kind::kBlocked) {
      warn("the run does not go on: " + sent.error().message);
    } else {
      return sent.error();
    }
  }
  if (!decision.go_on) return {};
  ++continuation_;
  pauses_ = 0;
  stop_hook_active_ = true;
  decision.outcome = RunOutcome::kStop;
  return {};
}

// Made and stored; the view stays as it is.
Result<void, RunError> SessionImpl::store_summary(const Action& action) {
  std::string text = action.text;
  if (text.empty()) {
    ServiceCaller caller;
    caller.conversation = handle_;
    auto answer = services_.compact(caller, {handle_, 0, 0, {nullptr, 0, 0}}, {});
    if (!answer) {
      warn("no summary was stored: " + answer.error().message);
      return {};
    }
    text = std::move(answer->summary);
  }
  add(write_message({Message::of_text(Role::kSummary, text), StopReason::kEndTurn, "hook", {}}));
  return commit();
}

Result<std::string, RunError> SessionImpl::run_callback(const Action& action) {
  std::map<std::string, std::string> values{{"conversation_id", shared_.conversation().id()}};
  if (auto arguments = JsonDocument::parse(action.json); arguments)
    for (std::size_t i = 0; i < arguments->root().size(); ++i)
      values[std::string(arguments->root().key_at(i))] = std::string(arguments->root().at(i).string_or({}));
  auto prompt = parts_.prompts.recipe_prompt(action.text, values);
  std::string why;
  if (prompt) {
    UtilityRequest ask;
    ask.model = options_.model;
    ask.system = system_text();
    ask.closing_text = *prompt;
    ask.purpose = "thread";
    ask.conversation_id = shared_.conversation().id();
    const Rows& rows = shared_.conversation().rows();
    const MarkedRows marked({rows.begin(), rows.size()}, &shared_.conversation().origins());
    ask.messages = marked.rows();
    ask.origins = &shared_.conversation().origins();
    const std::vector<ToolSpec> tools = tool_specs();
    ask.tools = tools;
    ask.max_output_tokens = options_.max_output_tokens;
    auto answer = ask_utility(parts_, *shared_.account(), ask, shared_.cancel());
    if (answer) {
      shared_.charge(answer->usage.value_or(Usage{}), "thread");
      return answer->message.text();
    }
    why = answer.error().message;
  } else {
    why = prompt.error().message;
  }
  warn("the callback to the recipe '" + action.text + "' failed: " + why);
  return std::string();
}

Result<void, RunError> SessionImpl::run_queued_compactions(std::uint32_t phase) {
  const std::vector<CompactOptions> queued = shared_.take_queued();
  if (queued.empty()) return {};
  // Several requests of one turn ask for the same thing: the first is done.
  const CompactOptions& options = queued.front();
  CompactionRequest request;
  request.reason = AGENTD_REASON_HOOK;
  request.phase = phase;
  request.strategy = options.strategy;
  request.keep_tokens = options.keep_tokens;
  request.max_summary_tokens = options.max_summary_tokens;
  request.model = options.model;
  request.instructions = {options.instructions};
  auto done = Compaction(*this, request).attempt();
  if (!done) return done.error();
  return {};
}

}  // namespace agentd
