// SPDX-License-Identifier: Apache-2.0
// docker_events.cc - docker-agent's events and their counterparts in agentd.
#include <algorithm>

#include "core/dialects/docker.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

// Rewriters run before guards, and guards before all others, as in docker-agent's phases.
constexpr int kTransform = 20, kGuard = 10;

DockerEvent of(std::string_view name, std::uint32_t event, std::uint32_t second = 0) {
  DockerEvent out;
  out.name = name;
  out.events = {event, second};
  return out;
}

DockerEvent tool_event(std::string_view name, int priority, std::uint32_t event, std::uint32_t second = 0) {
  DockerEvent out = of(name, event, second);
  out.tool_matched = true;
  out.priority = priority;
  return out;
}

DockerEvent nowhere(std::string_view name, std::string_view why) {
  DockerEvent out;
  out.name = name;
  out.missing = why;
  return out;
}

DockerEvent blocking(DockerEvent event) {
  event.can_block = true;
  return event;
}

DockerEvent with_context(DockerEvent event, bool instructions = false) {
  event.context = true;
  event.instructions = instructions;
  return event;
}

DockerEvent only_when(DockerEvent event, std::string_view when) {
  event.when = when;
  return event;
}

DockerEvent guarding(DockerEvent event) {
  event.can_block = event.fails_closed = event.decision = true;
  return event;
}

DockerEvent rewriting(DockerEvent event, DockerRewrite what) {
  event.rewrite = what;
  return event;
}

std::vector<DockerEvent> tool_events() {
  constexpr std::uint32_t kBefore = AGENTD_EVENT_BEFORE_TOOL_CALL;
  constexpr std::uint32_t kAfter = AGENTD_EVENT_AFTER_TOOL_CALL;
  constexpr std::uint32_t kFailed = AGENTD_EVENT_TOOL_CALL_FAILED;
  DockerEvent guard = guarding(tool_event("tool_guard", kGuard, kBefore));
  guard.metadata = true;
  DockerEvent asked = blocking(tool_event("permission_request", 0, AGENTD_EVENT_PERMISSION_REQUEST));
  asked.approval = asked.metadata = true;
  return {
      rewriting(guarding(tool_event("pre_tool_use", 0, kBefore)), DockerRewrite::kToolInput),
      guard,
      rewriting(blocking(tool_event("tool_input_transform", kTransform, kBefore)), DockerRewrite::kToolInput),
      asked,
      blocking(tool_event("post_tool_use", 0, kAfter, kFailed)),
      rewriting(tool_event("tool_response_transform", kTransform, kAfter, kFailed), DockerRewrite::kToolResponse),
  };
}

std::vector<DockerEvent> other_events() {
  DockerEvent turn_start = with_context(of("turn_start", AGENTD_EVENT_BEFORE_MODEL_CALL), true);
  turn_start.priority = kGuard;
  DockerEvent pre_compact = blocking(with_context(of("pre_compact", AGENTD_EVENT_BEFORE_COMPACTION)));
  pre_compact.priority = kGuard;
  DockerEvent before_compaction = blocking(of("before_compaction", AGENTD_EVENT_BEFORE_COMPACTION));
  before_compaction.summary = true;
  constexpr std::uint32_t kMessage = AGENTD_EVENT_USER_MESSAGE_SEND;
  return {
      rewriting(blocking(of("before_llm_call", AGENTD_EVENT_BEFORE_MODEL_CALL)), DockerRewrite::kMessages),
      turn_start,
      of("after_llm_call", AGENTD_EVENT_AFTER_MODEL_CALL),
      of("turn_end", AGENTD_EVENT_TURN_END),
      with_context(of("session_start", AGENTD_EVENT_SESSION_START), true),
      of("session_end", AGENTD_EVENT_SESSION_END),
      only_when(blocking(with_context(of("user_prompt_submit", kMessage))), "source != \"hook\""),
      // A message that waits for the end of a turn corresponds to a message that a hook adds there.
      only_when(blocking(with_context(of("user_followup_submit", kMessage))), "source == \"hook\""),
      before_compaction,
      pre_compact,
      only_when(of("after_compaction", AGENTD_EVENT_AFTER_COMPACTION),
                "result == \"applied\" or result == \"degraded\""),
      of("stop", AGENTD_EVENT_AGENT_STOP),
      of("subagent_stop", AGENTD_EVENT_SUBAGENT_STOP),
      of("on_error", AGENTD_EVENT_AGENT_ERROR),
      of("notification", AGENTD_EVENT_NOTIFICATION),
      nowhere("user_steering_messages_submit", "agentd takes no messages while a turn runs"),
      nowhere("on_user_input", "agentd does not announce that it waits for the user"),
      nowhere("on_max_iterations", "agentd has no limit that the user could raise in the middle of a run"),
      nowhere("on_agent_switch", "agentd's agents do not pass on a conversation"),
      nowhere("on_session_resume", "agentd has no limit that the user could raise in the middle of a run"),
      nowhere("on_tool_approval_decision", "agentd records decisions in its log"),
      nowhere("worktree_create", "agentd makes no worktrees"),
  };
}

std::vector<DockerEvent> all() {
  std::vector<DockerEvent> out = tool_events();
  for (const DockerEvent& each : other_events()) out.push_back(each);
  return out;
}

}  // namespace

std::span<const DockerEvent> docker_events() {
  static const std::vector<DockerEvent> kEvents = all();
  return kEvents;
}

const DockerEvent* find_docker_event(std::string_view name) {
  for (const DockerEvent& each : docker_events())
    if (each.name == name) return &each;
  return nullptr;
}

const DockerEvent& docker_event_of(const HookDefinition& hook) {
  static const DockerEvent kNone;
  if (const DockerEvent* const named = find_docker_event(hook.foreign_event)) return *named;
  for (const DockerEvent& each : docker_events())
    if (each.events[0] == hook.event || (each.events[1] != 0 && each.events[1] == hook.event)) return each;
  return kNone;
}

}  // namespace agentd
