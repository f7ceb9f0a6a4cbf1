// SPDX-License-Identifier: Apache-2.0
#include "core/hooks/event.h"

#include <array>

namespace agentd {
namespace {

constexpr std::uint32_t kContext = action_bit(AGENTD_ACT_INJECT_CONTEXT);
constexpr std::uint32_t kNotice = action_bit(AGENTD_ACT_SYSTEM_MESSAGE);
constexpr std::uint32_t kBlock = action_bit(AGENTD_ACT_BLOCK);
constexpr std::uint32_t kRewrite = action_bit(AGENTD_ACT_REPLACE_TEXT);
constexpr std::uint32_t kSet = action_bit(AGENTD_ACT_SET);
constexpr std::uint32_t kReplace = action_bit(AGENTD_ACT_REPLACE_MESSAGES);
constexpr std::uint32_t kCompact = action_bit(AGENTD_ACT_COMPACT);
constexpr std::uint32_t kSummary = action_bit(AGENTD_ACT_SUMMARY);
constexpr std::uint32_t kPermission = action_bit(AGENTD_ACT_PERMISSION);
constexpr std::uint32_t kTools =
    action_bit(AGENTD_ACT_TOOLS_ENABLE) | action_bit(AGENTD_ACT_TOOLS_DISABLE);
constexpr std::uint32_t kStop = action_bit(AGENTD_ACT_CONTINUE) | kCompact | kSummary | kReplace |
                                action_bit(AGENTD_ACT_CALLBACK) | kContext | kNotice | kSet;

constexpr std::array<EventTraits, 22> kEvents{{
    {AGENTD_EVENT_SESSION_START, "session_start", false, false, kContext | kNotice | kSet, 0,
     "source, checkpoint offer, primed memories"},
    {AGENTD_EVENT_SESSION_END, "session_end", false, false, 0, 0,
     "reason, outcome, task, approach, tags, notes"},
    {AGENTD_EVENT_USER_MESSAGE_SEND, "user_message_send", true, false,
     kBlock | kRewrite | kContext | kNotice, AGENTD_TEXT_MESSAGE, "message, source"},
    {AGENTD_EVENT_TURN_START, "turn_start", false, false, 0, 0, "turn_number"},
    {AGENTD_EVENT_BEFORE_MODEL_CALL, "before_model_call", true, false,
     kBlock | kReplace | kContext | kNotice | kSet | kTools, 0,
     "model, counts, budget; messages by view"},
    {AGENTD_EVENT_MODEL_DELTA, "model_delta", false, false, 0, 0, "batch of text deltas"},
    {AGENTD_EVENT_AFTER_MODEL_CALL, "after_model_call", false, false, kRewrite | kNotice,
     AGENTD_TEXT_RESPONSE, "response, usage, stop_reason"},
    {AGENTD_EVENT_TURN_END, "turn_end", false, false, kContext | kNotice, 0,
     "response, turn_number, final, tool_calls, usage"},
    {AGENTD_EVENT_BEFORE_TOOL_CALL, "before_tool_call", true, false,
     kBlock | kRewrite | kPermission | kContext | kNotice, AGENTD_TEXT_TOOL_INPUT,
     "tool{name, call_id, input}"},
    {AGENTD_EVENT_PERMISSION_REQUEST, "permission_request", true, false,
     kBlock | kPermission | kNotice, 0, "tool, suggestions"},
    {AGENTD_EVENT_AFTER_TOOL_CALL, "after_tool_call", false, false, kRewrite | kContext | kNotice,
     AGENTD_TEXT_TOOL_OUTPUT, "tool, output{content, success, error}, duration"},
    {AGENTD_EVENT_TOOL_CALL_FAILED, "tool_call_failed", false, false, kRewrite | kContext | kNotice,
     AGENTD_TEXT_TOOL_OUTPUT, "tool, output{content, success, error}, duration"},
    {AGENTD_EVENT_AGENT_STOP, "agent_stop", false, true, kStop, 0,
     "usage, gauge, messages, continuation, stop_hook_active"},
    {AGENTD_EVENT_CONTEXT_THRESHOLD, "context_threshold", false, false, kCompact | kContext | kNotice,
     0, "percent, threshold, checkpoint_id"},
    {AGENTD_EVENT_BEFORE_COMPACTION, "before_compaction", true, false,
     kBlock | kSummary | kSet | kReplace | kNotice, 0,
     "trigger, reason, phase, tokens, ranges, strategy, model, custom_instructions"},
    {AGENTD_EVENT_AFTER_COMPACTION, "after_compaction", false, false, kContext | kNotice, 0,
     "the request, result, method, tokens before and after, summary, boundary_id"},
    {AGENTD_EVENT_BEFORE_CLEAR, "before_clear", true, false, kBlock | kNotice, 0, "reason"},
    {AGENTD_EVENT_AFTER_CLEAR, "after_clear", false, false, kNotice, 0, "new conversation id"},
    {AGENTD_EVENT_SUBAGENT_START, "subagent_start", true, false, kBlock | kContext | kNotice, 0,
     "agent{id, type, depth}, prompt"},
    {AGENTD_EVENT_SUBAGENT_STOP, "subagent_stop", false, true, kStop, 0, "as agent_stop"},
    {AGENTD_EVENT_AGENT_ERROR, "agent_error", false, false, 0, 0, "code, message, phase, retryable"},
    {AGENTD_EVENT_NOTIFICATION, "notification", false, false, 0, 0, "level, text"},
}};

constexpr std::array<std::string_view, 17> kActionNames{
    "none",           "block",          "continue",       "compact",       "summary",    "replace",
    "rewrite",        "inject_context", "system_message", "set",           "tools_enable",
    "tools_disable",  "permission",     "callback",       "state",         "tool_output",
    "tool_result"};

}  // namespace

std::span<const EventTraits> all_events() { return kEvents; }

const EventTraits* find_event(std::uint32_t id) {
  return id >= 1 && id <= kEvents.size() ? &kEvents[id - 1] : nullptr;
}

const EventTraits* find_event(std::string_view name) {
  for (const EventTraits& event : kEvents)
    if (event.name == name) return &event;
  return nullptr;
}

bool is_legal(std::uint32_t event, std::uint32_t action_kind) {
  const EventTraits* const traits = find_event(event);
  return traits != nullptr && action_kind < 32 && (traits->actions & action_bit(action_kind)) != 0;
}

std::string_view action_name(std::uint32_t kind) {
  return kind < kActionNames.size() ? kActionNames[kind] : "?";
}

}  // namespace agentd
