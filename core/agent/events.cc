// SPDX-License-Identifier: Apache-2.0
#include "core/agent/events.h"

#include "core/codec/json.h"

namespace agentd {
namespace {

void write_gauge(JsonWriter& out, const Gauge& gauge) {
  out.key("context").begin_object();
  out.member("used", gauge.used).member("limit", gauge.limit).member("percent", gauge.percent());
  out.member("window", gauge.window).member("compactions", static_cast<unsigned>(gauge.compactions));
  out.member("source", gauge.reported ? "provider" : "estimate");
  out.end_object();
}

}  // namespace

void write_usage_figures(JsonWriter& out, const Usage& usage) {
  out.member("input_tokens", usage.input).member("output_tokens", usage.output);
  out.member("cache_read_tokens", usage.cache_read).member("cache_write_tokens", usage.cache_write);
  // Of the requests whose price is known; the others are counted.
  if (usage.unpriced == 0 || usage.cost_nano_usd != 0)
    out.key("cost_usd").real(static_cast<double>(usage.cost_nano_usd) / 1e9);
  if (usage.unpriced != 0) out.member("unpriced_requests", usage.unpriced);
}

namespace {

void write_agent(JsonWriter& out, const RunEvent& event) {
  out.key("agent").begin_object().member("id", event.agent_id).member("type", event.agent_type);
  out.member("depth", unsigned{event.agent_depth}).end_object();
}

// What each type calls its text and its detail; empty = it has none.
struct Names {
  std::string_view type, text, detail;
};

Names names_of(RunEvent::Type type) {
  switch (type) {
    case RunEvent::Type::kRunStarted: return {"run_started", "", ""};
    case RunEvent::Type::kUserMessage: return {"user_message", "text", "source"};
    case RunEvent::Type::kTurnStarted: return {"turn_started", "", ""};
    case RunEvent::Type::kTextDelta: return {"text_delta", "text", ""};
    case RunEvent::Type::kThinkingDelta: return {"thinking_delta", "text", ""};
    case RunEvent::Type::kMessageReplaced: return {"message_replaced", "text", ""};
    case RunEvent::Type::kAnswerAgain: return {"answer_again", "text", ""};
    case RunEvent::Type::kToolCall: return {"tool_call", "input", ""};
    case RunEvent::Type::kToolResult: return {"tool_result", "content", "status"};
    case RunEvent::Type::kTurnEnded: return {"turn_ended", "", "stop_reason"};
    case RunEvent::Type::kHookAnswer: return {"hook_answer", "answer", "event"};
    case RunEvent::Type::kHookConflict: return {"hook_conflict", "winner", "event"};
    case RunEvent::Type::kHookFailure: return {"hook_failure", "error", "event"};
    case RunEvent::Type::kStatus: return {"status", "status", "progress"};
    case RunEvent::Type::kCompactBoundary: return {"system", "", ""};
    case RunEvent::Type::kCompactionOutcome: return {"compaction_outcome", "message", "outcome"};
    case RunEvent::Type::kCompactionUndone: return {"compaction_undone", "boundary_id", ""};
    case RunEvent::Type::kNotice: return {"notice", "text", ""};
    case RunEvent::Type::kWarning: return {"warning", "text", ""};
    case RunEvent::Type::kError: return {"error", "message", "code"};
    case RunEvent::Type::kRunEnded: return {"run_ended", "", "outcome"};
  }
  return {"notice", "text", ""};
}

}  // namespace

std::string_view name_of(RunEvent::Type type) { return names_of(type).type; }

std::string event_json(const RunEvent& event) {
  // The boundary message has its whole documented shape already.
  if (event.type == RunEvent::Type::kCompactBoundary) return json_line(event.boundary_json);
  const Names names = names_of(event.type);
  JsonWriter out;
  out.begin_object().member("type", names.type).member("session_id", event.session_id);
  out.optional("conv_id", event.conversation_id).optional("run_id", event.run_id);
  out.optional("provider", event.provider).optional("model", event.model);
  if (event.agent_depth != 0) write_agent(out, event);
  if (event.turn != 0) out.member("turn", static_cast<unsigned>(event.turn));
  out.optional("call_id", event.call_id).optional("name", event.name);
  const bool told = !event.detail.empty() || event.type != RunEvent::Type::kStatus;
  if (!names.detail.empty() && told) out.member(names.detail, event.detail);
  if (event.type == RunEvent::Type::kToolCall)
    out.key("input").raw(event.text.empty() ? "{}" : event.text);
  else if (!names.text.empty())
    out.member(names.text, event.text);
  if (event.type == RunEvent::Type::kRunEnded) out.optional("reason", event.text);
  out.optional("effect", event.effect);
  if (event.type == RunEvent::Type::kToolResult) out.member("ok", event.ok);
  if (event.type == RunEvent::Type::kCompactionUndone)
    out.member("pre_tokens", event.pre_tokens).member("post_tokens", event.post_tokens);
  if (event.duration_us != 0) out.member("duration_us", event.duration_us);
  if (event.usage != nullptr) {
    out.key("usage").begin_object();
    write_usage_figures(out, *event.usage);
    out.end_object();
  }
  if (event.gauge != nullptr) write_gauge(out, *event.gauge);
  out.end_object();
  return json_line(out.text());
}

}  // namespace agentd
