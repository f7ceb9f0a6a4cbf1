// SPDX-License-Identifier: Apache-2.0
#include "core/agent/events.h"

#include <iterator>

namespace agentd {
namespace {

using Name = std::string_view;

// ---- members of the objects

void write_agent_id(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.agent_id); }
void write_agent_type(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.agent_type); }
void write_agent_depth(JsonWriter& out, Name name, const RunEvent& event) {
  out.member(name, unsigned{event.agent_depth});
}

constexpr EventMember kAgentMembers[] = {
    {"id", "string", true, "the subagent; `conversation show ID` shows its conversation", write_agent_id},
    {"type", "string", true, "its recipe, or `general`", write_agent_type},
    {"depth", "integer", true, "1 for a subagent of the user's agent", write_agent_depth},
};

void write_input_tokens(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.usage->input); }
void write_output_tokens(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.usage->output); }
void write_cache_read(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.usage->cache_read); }
void write_cache_write(JsonWriter& out, Name name, const RunEvent& event) {
  out.member(name, event.usage->cache_write);
}
void write_cost(JsonWriter& out, Name name, const RunEvent& event) {
  if (event.usage->unpriced == 0 || event.usage->cost_nano_usd != 0)
    out.key(name).real(static_cast<double>(event.usage->cost_nano_usd) / 1e9);
}
void write_unpriced(JsonWriter& out, Name name, const RunEvent& event) {
  if (event.usage->unpriced != 0) out.member(name, event.usage->unpriced);
}

constexpr EventMember kUsageMembers[] = {
    {"input_tokens", "integer", true, "tokens of prompts, without those of the cache", write_input_tokens},
    {"output_tokens", "integer", true, "tokens of answers, thinking included", write_output_tokens},
    {"cache_read_tokens", "integer", true, "tokens of prompts that the provider had in its cache", write_cache_read},
    {"cache_write_tokens", "integer", true, "tokens of prompts that it put there", write_cache_write},
    {"cost_usd", "number", false, "US dollars, of the requests whose price is known", write_cost},
    {"unpriced_requests", "integer", false, "requests whose price is not known, and not in `cost_usd`", write_unpriced},
};

void write_used(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.gauge->used); }
void write_limit(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.gauge->limit); }
void write_percent(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.gauge->percent()); }
void write_window(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.gauge->window); }
void write_compactions(JsonWriter& out, Name name, const RunEvent& event) {
  out.member(name, static_cast<unsigned>(event.gauge->compactions));
}
void write_source(JsonWriter& out, Name name, const RunEvent& event) {
  out.member(name, event.gauge->reported ? "provider" : "estimate");
}

constexpr EventMember kContextMembers[] = {
    {"used", "integer", true, "tokens that the next request would have", write_used},
    {"limit", "integer", true, "tokens that it may have: the window less the room for an answer", write_limit},
    {"percent", "integer", true, "`used` of `limit`", write_percent},
    {"window", "integer", true, "the model's context window, tokens", write_window},
    {"compactions", "integer", true, "compactions of the conversation that count", write_compactions},
    {"source", "string", true, "`provider`: the last report and an estimate of what came after it; `estimate`",
     write_source},
};

void write_members(JsonWriter& out, std::span<const EventMember> members, const RunEvent& event) {
  for (const EventMember& member : members)
    if (member.write != nullptr) member.write(out, member.name, event);
}

void write_object(JsonWriter& out, Name name, std::span<const EventMember> members, const RunEvent& event) {
  out.key(name).begin_object();
  write_members(out, members, event);
  out.end_object();
}

// ---- members of events

void write_version(JsonWriter& out, Name name, const RunEvent&) { out.member(name, kEventsVersion); }
void write_session(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.session_id); }
void write_conversation(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.conversation_id); }
void write_run(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.run_id); }
void write_provider(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.provider); }
void write_model(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.model); }
void write_agent(JsonWriter& out, Name name, const RunEvent& event) {
  if (event.agent_depth != 0) write_object(out, name, kAgentMembers, event);
}
void write_turn(JsonWriter& out, Name name, const RunEvent& event) {
  if (event.turn != 0) out.member(name, static_cast<unsigned>(event.turn));
}
void write_call(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.call_id); }
void write_name(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.name); }
void write_known_name(JsonWriter& out, Name name, const RunEvent& event) { out.optional(name, event.name); }
void write_text(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.text); }
void write_detail(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.detail); }
void write_known_detail(JsonWriter& out, Name name, const RunEvent& event) { out.optional(name, event.detail); }
void write_input(JsonWriter& out, Name name, const RunEvent& event) {
  out.key(name).raw(event.text.empty() ? "{}" : event.text);
}
void write_effect(JsonWriter& out, Name name, const RunEvent& event) { out.optional(name, event.effect); }
void write_reason(JsonWriter& out, Name name, const RunEvent& event) { out.optional(name, event.reason); }
void write_ok(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.ok); }
void write_duration(JsonWriter& out, Name name, const RunEvent& event) {
  if (event.duration_us != 0) out.member(name, event.duration_us);
}
void write_pre_tokens(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.pre_tokens); }
void write_post_tokens(JsonWriter& out, Name name, const RunEvent& event) { out.member(name, event.post_tokens); }
void write_usage(JsonWriter& out, Name name, const RunEvent& event) {
  if (event.usage != nullptr) write_object(out, name, kUsageMembers, event);
}
void write_context(JsonWriter& out, Name name, const RunEvent& event) {
  if (event.gauge != nullptr) write_object(out, name, kContextMembers, event);
}

constexpr EventMember kShared[] = {
    {"session_id", "string", true, "the session: a program's time with a conversation", write_session},
    {"conv_id", "string", true, "the conversation", write_conversation},
    {"agent", "object", false, "the subagent that the event is about; absent for the user's agent", write_agent},
    {"turn", "integer", false, "the turn of the run, from 1", write_turn},
};

constexpr EventMember kRunId{"run_id", "string", true, "the run", write_run};
constexpr EventMember kUsage{"usage", "object", true, "tokens and money, as below", write_usage};
constexpr EventMember kContext{"context", "object", true, "how full the window is, as below", write_context};
constexpr EventMember kCallId{"call_id", "string", true, "the call", write_call};
constexpr EventMember kTool{"name", "string", true, "the tool", write_name};
constexpr EventMember kHook{"name", "string", true, "the hook", write_name};
constexpr EventMember kKnownHook{"name", "string", false, "the hook that it comes from", write_known_name};
constexpr EventMember kHookEvent{"event", "string", true, "the event of the hook, as in events.md", write_detail};
constexpr EventMember kText{"text", "string", true, "a sentence", write_text};

constexpr EventMember kRunStarted[] = {
    kRunId,
    {"provider", "string", true, "the provider that is asked", write_provider},
    {"model", "string", true, "the model that is asked", write_model},
    {"events_version", "string", true, "the version of this page", write_version},
};
constexpr EventMember kUserMessage[] = {
    {"source", "string", true, "`user`, `hook`, `recipe`, `agent` or `schema`", write_detail},
    {"text", "string", true, "the message as it is sent", write_text},
};
constexpr EventMember kTextDelta[] = {
    {"text", "string", true, "the next piece", write_text},
};
constexpr EventMember kAnswerAgain[] = {
    {"text", "string", true, "the reason", write_text},
};
constexpr EventMember kToolCall[] = {
    kCallId,
    kTool,
    {"input", "object", true, "the arguments, in canonical JSON", write_input},
};
constexpr EventMember kToolResult[] = {
    kCallId,
    kTool,
    {"status", "string", true, "`ok`, `error`, `denied`, `invalid`, `cancelled` or `unknown`", write_detail},
    {"content", "string", true, "the text that the model reads", write_text},
    {"ok", "boolean", true, "true for the status `ok`", write_ok},
    {"duration_us", "integer", false, "microseconds; absent for a call that did not run", write_duration},
};
constexpr EventMember kTurnEnded[] = {
    {"stop_reason", "string", true,
     "`end_turn`, `tool_use`, `max_tokens`, `stop_sequence`, `refusal`, `pause`, `context_length` or `interrupted`",
     write_detail},
    kUsage,
    kContext,
};
constexpr EventMember kHookAnswer[] = {
    kHook,
    kHookEvent,
    {"answer", "string", true, "the actions, `none`, or `failed`", write_text},
    {"effect", "string", false, "the effect of the answer, as `hooks trace` shows it", write_effect},
    {"duration_us", "integer", false, "microseconds", write_duration},
};
constexpr EventMember kHookConflict[] = {
    {"name", "string", true, "the hook whose action gave way", write_name},
    kHookEvent,
    {"winner", "string", true, "the hook whose action counts", write_text},
    {"effect", "string", false, "the action", write_effect},
};
constexpr EventMember kHookFailure[] = {
    kHook,
    kHookEvent,
    {"error", "string", true, "a sentence", write_text},
};
constexpr EventMember kStatus[] = {
    {"progress", "string", false, "`part 2 of 5` of a long one", write_known_detail},
    {"status", "string", true, "`compacting`", write_text},
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
    {"outcome", "string", true, "`applied`, `noop`, `degraded`, `failed` or `vetoed`", write_detail},
    {"message", "string", true, "the reason, or empty", write_text},
};
constexpr EventMember kCompactionUndone[] = {
    {"boundary_id", "string", true, "the boundary that no longer counts", write_text},
    {"pre_tokens", "integer", true, "tokens of the conversation before", write_pre_tokens},
    {"post_tokens", "integer", true, "and after it", write_post_tokens},
    kContext,
};
constexpr EventMember kNotice[] = {kKnownHook, kText};
constexpr EventMember kError[] = {
    {"code", "string", true, "`provider`, `store`, ...", write_detail},
    {"message", "string", true, "a sentence", write_text},
};
constexpr EventMember kRunEnded[] = {
    kRunId,
    {"name", "string", false, "the hook that has ended the run", write_known_name},
    {"outcome", "string", true,
     "`stop`: the model has answered; `compacted`: and the conversation is a summary now; `max_turns`, `refused`, "
     "`cut`, `empty`, `blocked`, `stopped`, `limit`, `cancelled` or `error`; the exit code says the same",
     write_detail},
    {"text", "string", true, "the last answer; with `--output-schema` the JSON value. Empty when the run has none",
     write_text},
    {"reason", "string", false, "a sentence about any outcome but `stop` and `compacted`", write_reason},
    {"duration_us", "integer", false, "microseconds of the whole run", write_duration},
    kUsage,
    {"context", "object", false, "how full the window is; absent when the run has failed", write_context},
};

using Type = RunEvent::Type;

constexpr EventShape kShapes[] = {
    {Type::kRunStarted, "run_started", "A run begins.", kRunStarted},
    {Type::kUserMessage, "user_message", "A message to the model.", kUserMessage},
    {Type::kTurnStarted, "turn_started", "A request to the model begins.", {}},
    {Type::kTextDelta, "text_delta", "A piece of the answer.", kTextDelta},
    {Type::kThinkingDelta, "thinking_delta", "A piece of the model's thinking.", kTextDelta},
    {Type::kAnswerAgain, "answer_again",
     "The answer broke off and is asked for again: the `text_delta` and `thinking_delta` of this turn so far are void.",
     kAnswerAgain},
    {Type::kToolCall, "tool_call", "The model calls a tool. The gates are asked behind it.", kToolCall},
    {Type::kToolResult, "tool_result", "The call has ended.", kToolResult},
    {Type::kTurnEnded, "turn_ended", "The model's answer of this turn is whole and kept.", kTurnEnded},
    {Type::kHookAnswer, "hook_answer", "A hook has answered (with `hooks.trace`, or `--json`).", kHookAnswer},
    {Type::kHookConflict, "hook_conflict", "Two hooks asked for different things.", kHookConflict},
    {Type::kHookFailure, "hook_failure", "A hook failed, or its answer could not be used.", kHookFailure},
    {Type::kStatus, "status", "Something takes longer.", kStatus},
    {Type::kCompactBoundary, "system", "The conversation was compacted. The shape is that of the Claude Agent SDK.",
     kSystem},
    {Type::kCompactionOutcome, "compaction_outcome", "A compaction has ended.", kCompactionOutcome},
    {Type::kCompactionUndone, "compaction_undone", "The last compaction no longer counts.", kCompactionUndone},
    {Type::kNotice, "notice", "A note for the user.", kNotice},
    {Type::kWarning, "warning", "A warning for the user.", kNotice},
    {Type::kError, "error", "Something failed that hooks were told of.", kError},
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
std::span<const EventMember> usage_members() { return kUsageMembers; }
std::span<const EventMember> context_members() { return kContextMembers; }
std::span<const EventMember> agent_members() { return kAgentMembers; }

std::string_view name_of(RunEvent::Type type) { return shape_of(type).name; }

void write_usage_figures(JsonWriter& out, const Usage& usage) {
  RunEvent event;
  event.usage = &usage;
  write_members(out, kUsageMembers, event);
}

std::string event_json(const RunEvent& event) {
  // The boundary message has its whole documented shape already.
  if (event.type == Type::kCompactBoundary) return json_line(event.boundary_json);
  const EventShape& shape = shape_of(event.type);
  JsonWriter out;
  out.begin_object().member("type", shape.name);
  write_members(out, kShared, event);
  write_members(out, shape.members, event);
  out.end_object();
  return json_line(out.text());
}

}  // namespace agentd
