// SPDX-License-Identifier: Apache-2.0
#include "core/agent/events.h"

#include <iterator>

#include "core/compaction/compaction.h"

namespace agentd {
namespace {

using Name = std::string_view;

template <class T>
void write_members(JsonWriter& out, std::span<const MemberOf<T>> members, const T& of) {
  for (const MemberOf<T>& member : members)
    if (member.write != nullptr) member.write(out, member.name, of);
}

template <class T>
void write_object(JsonWriter& out, Name name, std::span<const MemberOf<T>> members, const T& of) {
  out.key(name).begin_object();
  write_members(out, members, of);
  out.end_object();
}

// ---- members of the objects

template <auto Field, class T>
void write_of(JsonWriter& out, Name name, const T& of) {
  out.member(name, of.*Field);
}

constexpr EventMember kAgentMembers[] = {
    {"id", "string", true, "the subagent; `conversation show ID` shows its conversation",
     write_of<&RunEvent::agent_id>},
    {"type", "string", true, "its recipe, or `general`", write_of<&RunEvent::agent_type>},
    {"depth", "integer", true, "1 for a subagent of the user's agent", write_of<&RunEvent::agent_depth>},
};

void write_cost(JsonWriter& out, Name name, const Usage& usage) {
  if (usage.unpriced == 0 || usage.cost_nano_usd != 0)
    out.key(name).real(static_cast<double>(usage.cost_nano_usd) / 1e9);
}
void write_unpriced(JsonWriter& out, Name name, const Usage& usage) {
  if (usage.unpriced != 0) out.member(name, usage.unpriced);
}

constexpr MemberOf<Usage> kUsageMembers[] = {
    {"input_tokens", "integer", true, "prompt tokens, without cached ones", write_of<&Usage::input>},
    {"output_tokens", "integer", true, "answer tokens, including thinking", write_of<&Usage::output>},
    {"cache_read_tokens", "integer", true, "prompt tokens read from the provider's cache",
     write_of<&Usage::cache_read>},
    {"cache_write_tokens", "integer", true, "prompt tokens written to the cache", write_of<&Usage::cache_write>},
    {"cost_usd", "number", false, "US dollars, for requests with a known price", write_cost},
    {"unpriced_requests", "integer", false, "requests with an unknown price, not in `cost_usd`", write_unpriced},
};

void write_percent(JsonWriter& out, Name name, const Gauge& gauge) { out.member(name, gauge.percent()); }
void write_source(JsonWriter& out, Name name, const Gauge& gauge) {
  out.member(name, gauge.reported ? "provider" : "estimate");
}

constexpr MemberOf<Gauge> kContextMembers[] = {
    {"used", "integer", true, "tokens of the next request", write_of<&Gauge::used>},
    {"limit", "integer", true, "the most tokens it may have: the window less the room for an answer",
     write_of<&Gauge::limit>},
    {"percent", "integer", true, "`used` of `limit`", write_percent},
    {"window", "integer", true, "the model's context window, tokens", write_of<&Gauge::window>},
    {"compactions", "integer", true, "compactions in effect in this conversation", write_of<&Gauge::compactions>},
    {"source", "string", true, "`provider`: the last report plus an estimate of everything after it; `estimate`",
     write_source},
};

// ---- members of events

template <class Owner, class Value>
Owner owner_of(Value Owner::*);

// The members of each kind of event.
template <auto Field>
const auto& field_of(const RunEvent& event) {
  return std::get<decltype(owner_of(Field))>(event.body).*Field;
}

std::string_view shown(std::string_view text) { return text; }
std::uint64_t shown(std::uint64_t number) { return number; }
std::int64_t shown(std::int64_t number) { return number; }
std::string_view shown(MessageSource source) { return name_of(source); }
std::string_view shown(ToolStatus status) { return name_of(status); }
std::string_view shown(StopReason reason) { return name_of(reason); }
std::string_view shown(RunOutcome outcome) { return name_of(outcome); }

template <auto Field>
void write(JsonWriter& out, Name name, const RunEvent& event) {
  out.member(name, shown(field_of<Field>(event)));
}
// Absent when it is empty, or 0.
template <auto Field>
void write_known(JsonWriter& out, Name name, const RunEvent& event) {
  const auto& value = field_of<Field>(event);
  if (value != std::decay_t<decltype(value)>{}) out.member(name, value);
}
template <auto Field>
void write_usage(JsonWriter& out, Name name, const RunEvent& event) {
  write_object<Usage>(out, name, kUsageMembers, field_of<Field>(event));
}
template <auto Field>
void write_context(JsonWriter& out, Name name, const RunEvent& event) {
  write_object<Gauge>(out, name, kContextMembers, field_of<Field>(event));
}
void write_last_context(JsonWriter& out, Name name, const RunEvent& event) {
  const auto& context = field_of<&told::RunEnded::context>(event);
  if (context) write_object<Gauge>(out, name, kContextMembers, *context);
}
void write_version(JsonWriter& out, Name name, const RunEvent&) { out.member(name, kEventsVersion); }
void write_agent(JsonWriter& out, Name name, const RunEvent& event) {
  if (event.agent_depth != 0) write_object<RunEvent>(out, name, kAgentMembers, event);
}
void write_turn(JsonWriter& out, Name name, const RunEvent& event) {
  if (event.turn != 0) out.member(name, static_cast<unsigned>(event.turn));
}
void write_input(JsonWriter& out, Name name, const RunEvent& event) {
  const std::string_view input = field_of<&told::ToolCalled::input>(event);
  out.key(name).raw(input.empty() ? "{}" : input);
}
void write_entries(JsonWriter& out, Name name, const RunEvent& event) {
  out.key(name).begin_array();
  for (const PlanEntry& entry : field_of<&told::PlanChanged::entries>(event))
    out.begin_object()
        .member("content", entry.content)
        .member("status", name_of(entry.status))
        .member("priority", name_of(entry.priority))
        .end_object();
  out.end_array();
}
void write_ok(JsonWriter& out, Name name, const RunEvent& event) {
  out.member(name, std::get<told::ToolEnded>(event.body).ok());
}
void write_result(JsonWriter& out, Name name, const RunEvent& event) {
  out.member(name, result_name(field_of<&told::CompactionEnded::result>(event)));
}

constexpr EventMember kShared[] = {
    {"session_id", "string", true, "the session: one process's attachment to a conversation",
     write_of<&RunEvent::session_id>},
    {"conv_id", "string", true, "the conversation", write_of<&RunEvent::conversation_id>},
    {"agent", "object", false, "the subagent that the event is about; absent for the user's agent", write_agent},
    {"turn", "integer", false, "the turn of the run, from 1", write_turn},
};

constexpr std::string_view kUsageAbout = "tokens and money, as below",
                           kContextAbout = "the fill of the window, as below";
constexpr std::string_view kEventAbout = "the hook's event, as in events.md";

constexpr EventMember kRunStarted[] = {
    {"run_id", "string", true, "the run", write<&told::RunStarted::run_id>},
    {"provider", "string", true, "the provider in use", write<&told::RunStarted::provider>},
    {"model", "string", true, "the model in use", write<&told::RunStarted::model>},
    {"events_version", "string", true, "the version of this format", write_version},
};
constexpr EventMember kUserMessage[] = {
    {"source", "string", true, "`user`, `hook`, `recipe`, `agent` or `schema`", write<&told::UserMessage::source>},
    {"text", "string", true, "the message as sent", write<&told::UserMessage::text>},
    {"seq", "integer", true, "the sequence of its record in the log", write<&told::UserMessage::seq>},
    {"key", "string", false, "the client's key for it (`--key`)", write_known<&told::UserMessage::key>},
    {"repeated", "boolean", false,
     "true: a message with this key was in the log already; `seq` and `text` are that one's, and nothing was sent. "
     "Without a run going on, no `run_started` and no `run_ended` come with it",
     write_known<&told::UserMessage::repeated>},
};
template <class Delta>
constexpr EventMember kDelta[] = {
    {"text", "string", true, "the next piece", write<&Delta::text>},
};
constexpr EventMember kAnswerAgain[] = {
    {"text", "string", true, "the reason", write<&told::AnswerAgain::why>},
};
constexpr EventMember kToolCall[] = {
    {"call_id", "string", true, "the call", write<&told::ToolCalled::call_id>},
    {"name", "string", true, "the tool", write<&told::ToolCalled::name>},
    {"input", "object", true, "the arguments, in canonical JSON", write_input},
};
constexpr EventMember kToolResult[] = {
    {"call_id", "string", true, "the call", write<&told::ToolEnded::call_id>},
    {"name", "string", true, "the tool", write<&told::ToolEnded::name>},
    {"status", "string", true, "`ok`, `error`, `denied`, `invalid`, `cancelled` or `unknown`",
     write<&told::ToolEnded::status>},
    {"content", "string", true, "the text for the model", write<&told::ToolEnded::content>},
    {"ok", "boolean", true, "true for the status `ok`", write_ok},
    {"duration_us", "integer", false, "microseconds; absent for a call that did not run",
     write_known<&told::ToolEnded::duration_us>},
};
constexpr EventMember kPlan[] = {
    {"entries", "array", true,
     "all tasks in their order, each with `content`, `status` (`pending`, `in_progress` or `completed`) and `priority` "
     "(`high`, `medium` or `low`)",
     write_entries},
};
constexpr EventMember kWaiting[] = {
    {"wait_id", "string", true, "the wait: `agentd approve ID` answers it", write<&told::Waiting::wait_id>},
    {"call_id", "string", true, "the call", write<&told::Waiting::call_id>},
    {"name", "string", true, "the tool", write<&told::Waiting::name>},
    {"hook", "string", false, "the hook that demands the answer; absent where the rules do",
     write_known<&told::Waiting::hook>},
    {"reason", "string", false, "the hook's reason", write_known<&told::Waiting::reason>},
    {"until_ms", "integer", true, "milliseconds since 1970; from then on it counts as denied",
     write<&told::Waiting::until_ms>},
};
constexpr EventMember kTurnEnded[] = {
    {"stop_reason", "string", true,
     "`end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `refusal`, `pause`, `context_length` or `interrupted`",
     write<&told::TurnEnded::stop_reason>},
    {"usage", "object", true, kUsageAbout, write_usage<&told::TurnEnded::usage>},
    {"context", "object", true, kContextAbout, write_context<&told::TurnEnded::context>},
};
constexpr EventMember kHookAnswer[] = {
    {"name", "string", true, "the hook", write<&told::HookAnswered::hook>},
    {"event", "string", true, kEventAbout, write<&told::HookAnswered::event>},
    {"answer", "string", true, "the actions, `none`, or `failed`", write<&told::HookAnswered::answer>},
    {"effect", "string", false, "the effect of the answer, as in `hooks trace`",
     write_known<&told::HookAnswered::effect>},
    {"duration_us", "integer", false, "microseconds", write_known<&told::HookAnswered::duration_us>},
};
constexpr EventMember kHookConflict[] = {
    {"name", "string", true, "the hook whose action was dropped", write<&told::HookConflict::loser>},
    {"event", "string", true, kEventAbout, write<&told::HookConflict::event>},
    {"winner", "string", true, "the hook whose action was used", write<&told::HookConflict::winner>},
    {"effect", "string", false, "the action", write_known<&told::HookConflict::action>},
};
constexpr EventMember kHookFailure[] = {
    {"name", "string", true, "the hook", write<&told::HookFailed::hook>},
    {"event", "string", true, kEventAbout, write<&told::HookFailed::event>},
    {"error", "string", true, "a sentence", write<&told::HookFailed::why>},
};
constexpr EventMember kStatus[] = {
    {"progress", "string", false, "`part 2 of 5` of a long summary", write_known<&told::Status::progress>},
    {"status", "string", true, "`compacting`", write<&told::Status::status>},
};
constexpr EventMember kSystem[] = {
    {"subtype", "string", true, "`compact_boundary`"},
    {"compact_metadata", "object", true,
     "`id` (for `compact --undo` and `conversation boundaries`), `trigger` (`manual`, `auto`), `pre_tokens`, "
     "`post_tokens`, `duration_ms`, `method`, `reason`, `phase`, `strategy`, `result`, `seq`, and "
     "`preserved_messages`: `anchor_uuid` (the message, or the boundary, behind which the kept ones follow), `uuids` "
     "of the kept messages, and `ranges` of their sequences in the log"},
    {"uuid", "string", true, "the boundary"},
    {"session_id", "string", true, "the session"},
};
constexpr EventMember kCompactionOutcome[] = {
    {"outcome", "string", true, "`applied`, `noop`, `degraded`, `failed` or `vetoed`", write_result},
    {"message", "string", true, "the reason, or empty", write<&told::CompactionEnded::reason>},
};
constexpr EventMember kCompactionUndone[] = {
    {"boundary_id", "string", true, "the boundary that was undone", write<&told::CompactionUndone::boundary_id>},
    {"pre_tokens", "integer", true, "tokens of the conversation before", write<&told::CompactionUndone::pre_tokens>},
    {"post_tokens", "integer", true, "and after it", write<&told::CompactionUndone::post_tokens>},
    {"context", "object", true, kContextAbout, write_context<&told::CompactionUndone::context>},
};
template <class Note>
constexpr EventMember kNote[] = {
    {"name", "string", false, "the hook", write_known<&Note::hook>},
    {"text", "string", true, "a sentence", write<&Note::text>},
};
constexpr EventMember kError[] = {
    {"code", "string", true, "`provider`, `store`, ...", write<&told::Failed::code>},
    {"message", "string", true, "a sentence", write<&told::Failed::message>},
};
constexpr EventMember kRunEnded[] = {
    {"run_id", "string", true, "the run", write<&told::RunEnded::run_id>},
    {"name", "string", false, "the hook that ended the run", write_known<&told::RunEnded::stopped_by>},
    {"outcome", "string", true,
     "`stop`: the model has answered; `compacted`: it has, and a summary has replaced the conversation; `max_turns`, "
     "`refused`, `cut`, `empty`, `waiting`, `blocked`, `stopped`, `limit`, `cancelled` or `error`; the exit code says "
     "the same",
     write<&told::RunEnded::outcome>},
    {"text", "string", true, "the final answer; with `--output-schema` the JSON value. Empty if the run has none",
     write<&told::RunEnded::answer>},
    {"reason", "string", false, "a message for every outcome except `stop` and `compacted`",
     write_known<&told::RunEnded::reason>},
    {"duration_us", "integer", false, "microseconds of the complete run", write_known<&told::RunEnded::duration_us>},
    {"usage", "object", true, kUsageAbout, write_usage<&told::RunEnded::usage>},
    {"context", "object", false, "the fill of the window; absent if the run failed", write_last_context},
};

using Type = RunEvent::Type;

constexpr EventShape kShapes[] = {
    {Type::kRunStarted, "run_started", "A run begins.", kRunStarted},
    {Type::kUserMessage, "user_message", "A message to the model.", kUserMessage},
    {Type::kTurnStarted, "turn_started", "A request to the model begins.", {}},
    {Type::kTextDelta, "text_delta", "A piece of the answer.", kDelta<told::TextDelta>},
    {Type::kThinkingDelta, "thinking_delta", "A piece of the model's thinking.", kDelta<told::ThinkingDelta>},
    {Type::kAnswerAgain, "answer_again",
     "The answer was interrupted and is requested again: discard the `text_delta` and `thinking_delta` of this turn so "
     "far.",
     kAnswerAgain},
    {Type::kToolCall, "tool_call", "The model calls a tool. The gates are called after this event.", kToolCall},
    {Type::kToolResult, "tool_result",
     "The tool call has ended. Its result is saved with the next request to the model.", kToolResult},
    {Type::kPlan, "plan", "A tool has set the agent's plan, which replaces the last one.", kPlan},
    {Type::kWaiting, "waiting",
     "The tool call waits for a person's answer, and the run ends. `agentd approve` continues both.", kWaiting},
    {Type::kTurnEnded, "turn_ended", "The model's answer of this turn is complete and saved.", kTurnEnded},
    {Type::kHookAnswer, "hook_answer", "A hook has answered (with `hooks.trace`, or `--json`).", kHookAnswer},
    {Type::kHookConflict, "hook_conflict", "Two hooks requested conflicting actions.", kHookConflict},
    {Type::kHookFailure, "hook_failure", "A hook failed, or its answer could not be used.", kHookFailure},
    {Type::kStatus, "status", "Work that takes longer.", kStatus},
    {Type::kCompactBoundary, "system", "The conversation was compacted. The shape is that of the Claude Agent SDK.",
     kSystem},
    {Type::kCompactionOutcome, "compaction_outcome", "A compaction has ended.", kCompactionOutcome},
    {Type::kCompactionUndone, "compaction_undone", "The last compaction was undone.", kCompactionUndone},
    {Type::kNotice, "notice", "A note for the user.", kNote<told::Notice>},
    {Type::kWarning, "warning", "A warning for the user.", kNote<told::Warning>},
    {Type::kError, "error", "A failure that hooks were notified of.", kError},
    {Type::kRunEnded, "run_ended", "The run has ended.", kRunEnded},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kShapes); ++i)
    if (static_cast<std::size_t>(kShapes[i].type) != i) return false;
  return std::size(kShapes) == static_cast<std::size_t>(Type::kRunEnded) + 1;
}
static_assert(in_order(), "a row for each type, in its place");

const EventShape& shape_of(Type type) { return kShapes[static_cast<std::size_t>(type)]; }

}  // namespace

std::span<const EventShape> event_shapes() { return kShapes; }
std::span<const EventMember> shared_members() { return kShared; }
std::span<const MemberOf<Usage>> usage_members() { return kUsageMembers; }
std::span<const MemberOf<Gauge>> context_members() { return kContextMembers; }
std::span<const EventMember> agent_members() { return kAgentMembers; }

std::string_view name_of(RunEvent::Type type) { return shape_of(type).name; }

void write_usage_figures(JsonWriter& out, const Usage& usage) { write_members<Usage>(out, kUsageMembers, usage); }

std::string event_json(const RunEvent& event) {
  // The boundary message has its whole documented shape already.
  if (const auto* const compacted = std::get_if<told::Compacted>(&event.body)) return json_line(compacted->json);
  const EventShape& shape = shape_of(event.type());
  JsonWriter out;
  out.begin_object().member("type", shape.name);
  write_members<RunEvent>(out, kShared, event);
  write_members<RunEvent>(out, shape.members, event);
  out.end_object();
  return json_line(out.text());
}

}  // namespace agentd
