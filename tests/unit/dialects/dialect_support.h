// SPDX-License-Identifier: Apache-2.0
#pragma once
// dialect_support.h - canonical payloads made from real records, hooks and raw answers, for the
// tests of all dialects.
//
// Threading: one test at a time.

#include <agentd/hook_abi.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/codec/json.h"
#include "core/conversation/rows.h"
#include "core/dialects/dialect.h"
#include "core/hooks/payload_json.h"

namespace agentd {

template <typename Record>
Record sized() {
  Record record{};
  record.size = sizeof(Record);
  return record;
}

inline JsonDocument parsed(const std::string& json) {
  auto document = JsonDocument::parse(json);
  EXPECT_TRUE(document) << (document ? "" : document.error().message) << "\n" << json;
  return document ? std::move(*document) : std::move(*JsonDocument::parse("{}"));
}

// The canonical payload of an event, as the runtime makes it.
inline JsonDocument payload_of(std::uint32_t event, const void* record) {
  auto gauge = sized<agentd_gauge>();
  gauge.source = AGENTD_GAUGE_PROVIDER;
  gauge.used = 7000;
  gauge.limit = 10000;
  auto envelope = sized<agentd_envelope>();
  envelope.turn_number = 3;
  envelope.event_id = to_abi("evt_1");
  envelope.conversation_id = to_abi("conv_1");
  envelope.session_id = to_abi("ses_1");
  envelope.turn_id = to_abi("turn_1");
  envelope.cwd = to_abi("/work/app");
  envelope.project_id = to_abi("u/p");
  envelope.provider = to_abi("anthropic");
  envelope.model = to_abi("big");
  envelope.agent_id = to_abi("main");
  envelope.agent_type = to_abi("main");
  envelope.invoked_by = AGENTD_INVOKED_BY_MAIN;
  envelope.context = &gauge;
  return parsed(payload_json(event, &envelope, record));
}

inline JsonDocument tool_payload(std::uint32_t event, std::string_view tool, std::string_view input,
                                 std::string_view output = "done", bool success = true, std::string_view error = {}) {
  auto result = sized<agentd_tool_result>();
  result.success = success ? 1 : 0;
  result.content = to_abi(output);
  result.error = to_abi(error);
  result.duration_ns = 5'000'000;
  auto call = sized<agentd_tool_call>();
  call.name = to_abi(tool);
  call.call_id = to_abi("call_1");
  call.input_json = to_abi(input);
  call.origin = to_abi("workspace_tools");
  const bool after = event == AGENTD_EVENT_AFTER_TOOL_CALL || event == AGENTD_EVENT_TOOL_CALL_FAILED;
  if (after) call.result = &result;
  return payload_of(event, &call);
}

inline JsonDocument bash_payload(std::string_view command = "ls -la") {
  return tool_payload(AGENTD_EVENT_BEFORE_TOOL_CALL, "bash",
                      JsonWriter().begin_object().member("command", command).end_object().text());
}

inline JsonDocument message_payload(std::string_view text) {
  auto message = sized<agentd_user_message>();
  message.source = AGENTD_MESSAGE_SOURCE_USER;
  message.text = to_abi(text);
  return payload_of(AGENTD_EVENT_USER_MESSAGE_SEND, &message);
}

inline JsonDocument stop_payload(std::string_view response = "All done.", bool active = false) {
  auto stop = sized<agentd_agent_stop>();
  stop.flags = active ? AGENTD_AGENT_STOP_HOOK_ACTIVE : 0;
  stop.stop_reason = AGENTD_STOP_END_TURN;
  stop.response = to_abi(response);
  stop.max_context_window = 200000;
  stop.messages = {nullptr, 0, sizeof(agentd_message)};
  return payload_of(AGENTD_EVENT_AGENT_STOP, &stop);
}

inline JsonDocument start_payload(std::uint32_t source = AGENTD_SOURCE_STARTUP) {
  auto start = sized<agentd_session_start>();
  start.source = source;
  return payload_of(AGENTD_EVENT_SESSION_START, &start);
}

inline JsonDocument compaction_payload(std::uint16_t trigger = AGENTD_TRIGGER_AUTO,
                                       std::string_view instructions = {}) {
  auto request = sized<agentd_before_compaction>();
  request.trigger = trigger;
  request.reason = AGENTD_REASON_THRESHOLD;
  request.phase = AGENTD_PHASE_PRE_REQUEST;
  request.tokens = 9000;
  request.limit = 10000;
  request.custom_instructions = to_abi(instructions);
  request.messages = {nullptr, 0, sizeof(agentd_message)};
  return payload_of(AGENTD_EVENT_BEFORE_COMPACTION, &request);
}

// A payload of any event, for tests that look at the answer only.
inline JsonDocument any_payload(std::uint32_t event) {
  switch (event) {
    case AGENTD_EVENT_BEFORE_TOOL_CALL:
    case AGENTD_EVENT_PERMISSION_REQUEST:
    case AGENTD_EVENT_AFTER_TOOL_CALL:
    case AGENTD_EVENT_TOOL_CALL_FAILED:
      return tool_payload(event, "bash", R"({"command":"ls"})");
    case AGENTD_EVENT_USER_MESSAGE_SEND:
      return message_payload("hello");
    case AGENTD_EVENT_AGENT_STOP:
      return stop_payload();
    case AGENTD_EVENT_SESSION_START:
      return start_payload();
    case AGENTD_EVENT_BEFORE_COMPACTION:
      return compaction_payload();
  }
  return payload_of(event, nullptr);
}

// The first of the names that the matcher is tested against; empty = the event has no subject.
inline std::string first_subject(const HookDefinition& hook, JsonView payload) {
  const std::vector<std::string> all = matcher_subjects(hook, payload);
  return all.empty() ? std::string() : all.front();
}

inline HookDefinition hook_for(Dialect dialect, std::uint32_t event) {
  HookDefinition hook;
  hook.name = "guard";
  hook.dialect = dialect;
  hook.event = event;
  hook.foreign_event = std::string(foreign_event(dialect, event));
  return hook;
}

inline RawAnswer exited(int code, std::string out = {}, std::string err = {}) {
  RawAnswer answer;
  answer.code = code;
  answer.out = std::move(out);
  answer.err = std::move(err);
  return answer;
}

inline Verdict verdict_of(Dialect dialect, std::uint32_t event, const RawAnswer& answer) {
  return interpret(hook_for(dialect, event), any_payload(event).root(), answer);
}

// The only action of a verdict; a failed expectation and an empty one when there are more or none.
inline Action only_action(const Verdict& verdict) {
  EXPECT_FALSE(verdict.failed) << verdict.failure.text;
  EXPECT_EQ(verdict.actions.size(), 1u);
  return verdict.actions.size() == 1 ? verdict.actions[0] : Action{};
}

inline std::vector<std::uint32_t> kinds_of(const Verdict& verdict) {
  std::vector<std::uint32_t> kinds;
  for (const Action& action : verdict.actions) kinds.push_back(action.kind);
  return kinds;
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline bool any_contains(const std::vector<std::string>& texts, std::string_view part) {
  for (const std::string& text : texts)
    if (contains(text, part)) return true;
  return false;
}

}  // namespace agentd
