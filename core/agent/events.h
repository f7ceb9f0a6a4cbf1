// SPDX-License-Identifier: Apache-2.0
#pragma once
// events.h - what a run tells its surface: the terminal, `--json`, later ACP and HTTP.
//
// One stream, in order. The views in an event are borrowed for the length of the call. One table says how each type
// looks in JSON: event_json() writes from it, docs/reference/json-events.md is printed from it.
//
// Threading: called on the run's thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/agent/outcome.h"
#include "core/agent/plan.h"
#include "core/agent/states.h"
#include "core/codec/json.h"
#include "core/conversation/message.h"
#include "core/tokens/tokens.h"

namespace agentd {

// The events of a run, each kind with its own members.
namespace told {

struct RunStarted {
  std::string_view run_id, provider, model;
};
// It is stored.
struct UserMessage {
  MessageSource source = MessageSource::kUser;
  std::string_view text;
  std::uint64_t seq = 0;   // of its record
  std::string_view key{};  // the client's; empty = none
  bool repeated = false;   // the client has sent it again: it was stored before, and nothing was sent or run
};
struct TurnStarted {};
struct TextDelta {
  std::string_view text;
};
struct ThinkingDelta {
  std::string_view text;
};
// The answer broke off: what was shown of it is void, and it is asked for again.
struct AnswerAgain {
  std::string_view why;
};
struct ToolCalled {
  std::string_view call_id, name, input;  // input: canonical JSON (tool_input.h)
};
struct ToolEnded {
  std::string_view call_id, name;
  ToolStatus status = ToolStatus::kOk;
  std::string_view content;       // the text for the model
  std::uint64_t duration_us = 0;  // 0 = it did not run
  bool ok() const { return status == ToolStatus::kOk; }
};
// A tool has set the agent's plan; the entries replace all of the last one.
struct PlanChanged {
  std::span<const PlanEntry> entries;
};
// A tool call waits for a person's answer, in this process or, once the run has ended, in any other.
struct Waiting {
  std::string_view wait_id, call_id, name;
  std::string_view hook, reason;  // the hook that demands the answer, and why; empty = the rules do
  std::int64_t until_ms = 0;
};
struct TurnEnded {
  StopReason stop_reason = StopReason::kEndTurn;
  Usage usage;
  Gauge context;
};
struct HookAnswered {
  std::string_view hook, event, answer, effect;
  std::uint64_t duration_us = 0;
};
struct HookConflict {
  std::string_view loser, event, winner, action;
};
struct HookFailed {
  std::string_view hook, event, why;
};
// Something takes longer: "compacting"; progress: "part 2 of 5" of a long one, or empty.
struct Status {
  std::string_view status, progress;
};
struct Compacted {
  std::string_view boundary_id;
  std::string_view json;  // the compact_boundary message
  Gauge context;
};
struct CompactionEnded {
  std::uint32_t result = AGENTD_RESULT_FAILED;  // AGENTD_RESULT_
  std::string_view reason;                      // or the error; may be empty
};
struct CompactionUndone {
  std::string_view boundary_id;
  std::uint64_t pre_tokens = 0, post_tokens = 0;
  Gauge context;
};
// From the runtime, or from the named hook.
struct Notice {
  std::string_view text, hook{};
};
struct Warning {
  std::string_view text, hook{};
};
// Hooks were told of it.
struct Failed {
  std::string_view code, message;
};
struct RunEnded {
  std::string_view run_id;
  std::string_view stopped_by;  // the hook that has ended the run; empty = none has
  RunOutcome outcome = RunOutcome::kStop;
  std::string_view answer, reason;
  std::uint64_t duration_us = 0;
  Usage usage;
  std::optional<Gauge> context;  // none when the run has failed
};

}  // namespace told

struct RunEvent {
  // In the order of `Body`.
  enum class Type {
    kRunStarted,
    kUserMessage,
    kTurnStarted,
    kTextDelta,
    kThinkingDelta,
    kAnswerAgain,
    kToolCall,
    kToolResult,
    kPlan,
    kWaiting,
    kTurnEnded,
    kHookAnswer,
    kHookConflict,
    kHookFailure,
    kStatus,
    kCompactBoundary,
    kCompactionOutcome,
    kCompactionUndone,
    kNotice,
    kWarning,
    kError,
    kRunEnded,
  };
  using Body = std::variant<told::RunStarted, told::UserMessage, told::TurnStarted, told::TextDelta,
                            told::ThinkingDelta, told::AnswerAgain, told::ToolCalled, told::ToolEnded,
                            told::PlanChanged, told::Waiting, told::TurnEnded, told::HookAnswered, told::HookConflict,
                            told::HookFailed, told::Status, told::Compacted, told::CompactionEnded,
                            told::CompactionUndone, told::Notice, told::Warning, told::Failed, told::RunEnded>;
  static_assert(std::variant_size_v<Body> == static_cast<std::size_t>(Type::kRunEnded) + 1);

  RunEvent() = default;
  explicit RunEvent(Body what) : body(std::move(what)) {}
  Type type() const { return static_cast<Type>(body.index()); }

  // The origin of the event. Empty and 0: no session, such as messages before one is open.
  std::string_view session_id, conversation_id;
  std::string_view agent_id, agent_type;  // of a subagent
  std::uint32_t agent_depth = 0;          // 0 = the user's agent
  std::uint32_t turn = 0;
  Body body;
};

// For std::visit: one function made of several.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// A usage as every `--json` output has it: input_tokens and its like, cost_usd, unpriced_requests,
// as members of the object that is being written.
void write_usage_figures(JsonWriter& out, const Usage& usage);

// Stands in every run_started. The minor number grows with each type, member or value that is added, the major one
// when something changes or goes.
inline constexpr std::string_view kEventsVersion = "1.4";

// A member of the JSON form of a T.
template <class T>
struct MemberOf {
  std::string_view name, type;  // "turn", "integer"
  bool always = true;           // false: absent where there is nothing to say
  std::string_view about;       // Markdown
  // Writes the member, or nothing where it is absent. Null: of an object that is made elsewhere.
  void (*write)(JsonWriter& out, std::string_view name, const T& of) = nullptr;
};
using EventMember = MemberOf<RunEvent>;
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
std::span<const MemberOf<Usage>> usage_members();
std::span<const MemberOf<Gauge>> context_members();
std::span<const EventMember> agent_members();

// "text_delta", ...: the "type" of the JSON form.
std::string_view name_of(RunEvent::Type type);
// The reference page of the JSON form.
std::string run_events_reference();
// One JSON object on one line: nothing in it ends a line for any reader, whatever its texts hold. A
// compact_boundary has the shape that the Claude Agent SDK documents.
std::string event_json(const RunEvent& event);

// The run's thread waits while it is told, without a lock, so a sink that blocks costs its own session alone. As long
// as it does, the session keeps what its run has: its place (sessions.active_runs), the lease of its conversation, a
// slot of calls, the amount that its request has reserved of the day's budget, and a connection whose server is held
// back. It sees a cancel when the sink returns. Other sessions, the store and a reload of hooks do not wait for it.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const RunEvent& event) = 0;
};

}  // namespace agentd
