// SPDX-License-Identifier: Apache-2.0
#include "core/agent/read_event.h"

#include <cmath>
#include <vector>

#include "core/compaction/compaction.h"

namespace agentd {
namespace {

using Type = RunEvent::Type;

// The value with that name, of those from the first one of its type to `last`; `otherwise` when there is none.
template <class T>
T named(std::string_view name, T last, T otherwise) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (name_of(static_cast<T>(i)) == name) return static_cast<T>(i);
  return otherwise;
}

std::uint32_t result_of(std::string_view name) {
  for (std::uint32_t each = AGENTD_RESULT_APPLIED; each <= AGENTD_RESULT_VETOED; ++each)
    if (result_name(each) == name) return each;
  return AGENTD_RESULT_FAILED;
}

std::vector<PlanEntry> plan_of(JsonView entries) {
  std::vector<PlanEntry> out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const JsonView entry = entries.at(i);
    out.push_back({std::string(entry["content"].string_or("")),
                   named(entry["status"].string_or(""), PlanEntry::Status::kCompleted, PlanEntry::Status::kPending),
                   named(entry["priority"].string_or(""), PlanEntry::Priority::kLow, PlanEntry::Priority::kMedium)});
  }
  return out;
}

// The texts that the views of an event point to, besides the document.
struct Held {
  std::string_view json;
  std::string input;
  std::vector<PlanEntry> plan;
};

RunEvent::Body body_of(Type type, JsonView from, const Gauge& context, Held& held) {
  const auto text = [&](std::string_view name) { return from[name].string_or(""); };
  const auto number = [&](std::string_view name) { return from[name].uint_or(0); };
  switch (type) {
    case Type::kRunStarted:
      return told::RunStarted{text("run_id"), text("provider"), text("model")};
    case Type::kUserMessage:
      return told::UserMessage{named(text("source"), MessageSource::kSchema, MessageSource::kUser), text("text"),
                               number("seq"), text("key"), from["repeated"].bool_or(false)};
    case Type::kTurnStarted:
      return told::TurnStarted{};
    case Type::kTextDelta:
      return told::TextDelta{text("text")};
    case Type::kThinkingDelta:
      return told::ThinkingDelta{text("text")};
    case Type::kAnswerAgain:
      return told::AnswerAgain{text("text")};
    case Type::kToolCall:
      held.input = from["input"].text();
      return told::ToolCalled{text("call_id"), text("name"), held.input};
    case Type::kToolResult:
      return told::ToolEnded{text("call_id"), text("name"),
                             named(text("status"), ToolStatus::kUnknown, ToolStatus::kUnknown), text("content"),
                             number("duration_us")};
    case Type::kPlan:
      held.plan = plan_of(from["entries"]);
      return told::PlanChanged{held.plan};
    case Type::kWaiting:
      return told::Waiting{text("wait_id"), text("call_id"), text("name"),
                           text("hook"),    text("reason"),  from["until_ms"].int_or(0)};
    case Type::kTurnEnded:
      return told::TurnEnded{stop_reason_of(text("stop_reason")), read_usage_figures(from["usage"]),
                             read_context(from["context"])};
    case Type::kHookAnswer:
      return told::HookAnswered{text("name"), text("event"), text("answer"), text("effect"), number("duration_us")};
    case Type::kHookConflict:
      return told::HookConflict{text("name"), text("event"), text("winner"), text("effect")};
    case Type::kHookFailure:
      return told::HookFailed{text("name"), text("event"), text("error")};
    case Type::kStatus:
      return told::Status{text("status"), text("progress")};
    case Type::kCompactBoundary:
      return told::Compacted{from["uuid"].string_or(""), held.json, context};
    case Type::kCompactionOutcome:
      return told::CompactionEnded{result_of(text("outcome")), text("message")};
    case Type::kCompactionUndone:
      return told::CompactionUndone{text("boundary_id"), number("pre_tokens"), number("post_tokens"),
                                    read_context(from["context"])};
    case Type::kNotice:
      return told::Notice{text("text"), text("name")};
    case Type::kWarning:
      return told::Warning{text("text"), text("name")};
    case Type::kError:
      return told::Failed{text("code"), text("message")};
    case Type::kRunEnded:
      return told::RunEnded{
          text("run_id"),
          text("name"),
          named(text("outcome"), RunOutcome::kError, RunOutcome::kError),
          text("text"),
          text("reason"),
          number("duration_us"),
          read_usage_figures(from["usage"]),
          from["context"].exists() ? std::optional<Gauge>(read_context(from["context"])) : std::nullopt};
  }
  return told::TurnStarted{};
}

}  // namespace

Gauge read_context(JsonView from) {
  Gauge out;
  out.used = from["used"].uint_or(0);
  out.limit = from["limit"].uint_or(0);
  out.window = from["window"].uint_or(0);
  out.compactions = static_cast<std::uint32_t>(from["compactions"].uint_or(0));
  out.reported = from["source"].string_or("") == "provider";
  return out;
}

Usage read_usage_figures(JsonView from) {
  Usage out;
  out.input = from["input_tokens"].uint_or(0);
  out.output = from["output_tokens"].uint_or(0);
  out.cache_read = from["cache_read_tokens"].uint_or(0);
  out.cache_write = from["cache_write_tokens"].uint_or(0);
  out.cost_nano_usd = static_cast<std::uint64_t>(std::llround(from["cost_usd"].number_or(0) * 1e9));
  out.unpriced = from["unpriced_requests"].uint_or(0);
  return out;
}

Result<void> read_event(std::string_view json, const Gauge& context, EventSink& to) {
  AGENTD_TRY(const JsonDocument document, JsonDocument::parse(json));
  const JsonView from = document.root();
  const std::string_view name = from["type"].string_or("");
  for (const EventShape& shape : event_shapes()) {
    if (shape.name != name) continue;
    Held held{json, {}, {}};
    RunEvent event(body_of(shape.type, from, context, held));
    event.session_id = from["session_id"].string_or("");
    event.conversation_id = from["conv_id"].string_or("");
    event.agent_id = from["agent"]["id"].string_or("");
    event.agent_type = from["agent"]["type"].string_or("");
    event.agent_depth = static_cast<std::uint32_t>(from["agent"]["depth"].uint_or(0));
    event.turn = static_cast<std::uint32_t>(from["turn"].uint_or(0));
    to.on_event(event);
    return {};
  }
  return Error{Code::kInvalid, "this version knows no event '" + std::string(name.substr(0, 60)) + "'"};
}

}  // namespace agentd
