// SPDX-License-Identifier: Apache-2.0
#pragma once
// events.h - what a run tells its surface: the terminal, `--json`, later ACP and HTTP.
//
// One stream, in order. The views in an event are borrowed for the length of the call. One table says how each type
// looks in JSON: event_json() writes from it, docs/reference/json-events.md is printed from it.
//
// Threading: called on the run's thread.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/codec/json.h"
#include "core/conversation/message.h"
#include "core/tokens/tokens.h"

namespace agentd {

struct RunEvent {
  enum class Type {
    kRunStarted,         // conversation_id, run_id, provider, model
    kUserMessage,        // text
    kTurnStarted,        // turn
    kTextDelta,          // text
    kThinkingDelta,      // text
    kAnswerAgain,        // text = why: it broke off, what was shown of it is void, and it is asked for again
    kToolCall,           // call_id, name, text = input: canonical JSON (tool_input.h)
    kToolResult,         // call_id, name, text = what the model reads, ok, duration_us, detail = status
    kTurnEnded,          // turn, usage, gauge, detail = stop reason
    kHookAnswer,         // name = hook, detail = event, text = answer, effect, duration_us
    kHookConflict,       // name = loser, detail = event, text = winner
    kHookFailure,        // name = hook, detail = event, text = why
    kStatus,             // text: compacting; detail: "part 2 of 5" of a long one, or empty
    kCompactBoundary,    // boundary (JSON of the compact_boundary message), text = id
    kCompactionOutcome,  // detail = applied|noop|degraded|failed|vetoed, text = error or reason
    kCompactionUndone,   // text = id of the boundary, pre_tokens, post_tokens, gauge
    kNotice,             // text; from hooks' system messages and the runtime
    kWarning,            // text
    kError,              // text, detail = code
    kRunEnded,           // turn, detail = outcome (outcome.h), text = the answer, reason, duration_us, gauge, usage;
                         // stopped by a hook: name = hook, reason = its reason
  };
  RunEvent() = default;
  explicit RunEvent(Type what) : type(what) {}

  Type type = Type::kNotice;
  std::string_view session_id, conversation_id, run_id, provider, model;
  std::string_view call_id, name, text, detail, effect, reason, boundary_json;
  // Of a subagent; depth 0 = the user's agent.
  std::string_view agent_id, agent_type;
  std::uint32_t agent_depth = 0;
  std::uint32_t turn = 0;
  bool ok = true;
  std::uint64_t duration_us = 0;
  std::uint64_t pre_tokens = 0, post_tokens = 0;
  const Usage* usage = nullptr;
  const Gauge* gauge = nullptr;
};

// A usage as every `--json` output has it: input_tokens and its like, cost_usd, unpriced_requests,
// as members of the object that is being written.
void write_usage_figures(JsonWriter& out, const Usage& usage);

// Stands in every run_started. The minor number grows with each type, member or value that is added, the major one
// when something changes or goes.
inline constexpr std::string_view kEventsVersion = "1.0";

// A member of the JSON form.
struct EventMember {
  std::string_view name, type;  // "turn", "integer"
  bool always = true;           // false: absent where there is nothing to say
  std::string_view about;       // Markdown
  // Writes the member, or nothing where it is absent. Null: of an object that is made elsewhere.
  void (*write)(JsonWriter& out, std::string_view name, const RunEvent& event) = nullptr;
};
struct EventShape {
  RunEvent::Type type{};
  std::string_view name, about;  // the "type" of the JSON form; a sentence, Markdown
  std::span<const EventMember> members{};
};
// One for each type, in the order of RunEvent::Type.
std::span<const EventShape> event_shapes();
// The members of every type but system, in front of its own.
std::span<const EventMember> shared_members();
// The members of the object "usage", "context" and "agent".
std::span<const EventMember> usage_members();
std::span<const EventMember> context_members();
std::span<const EventMember> agent_members();

// "text_delta", ...: the "type" of the JSON form.
std::string_view name_of(RunEvent::Type type);
// The reference page of the JSON form.
std::string run_events_reference();
// One JSON object on one line: nothing in it ends a line for any reader, whatever its texts hold. A
// compact_boundary has the shape that the Claude Agent SDK documents.
std::string event_json(const RunEvent& event);

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const RunEvent& event) = 0;
};

}  // namespace agentd
