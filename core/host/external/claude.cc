// SPDX-License-Identifier: Apache-2.0
// claude.cc - Claude Code's events, objects and environment.
#include "core/host/external/claude.h"

#include <array>

#include "core/base/paths.h"

namespace agentd {
namespace {

constexpr std::array<EventName, 33> kEvents{{
    {"PreToolUse", AGENTD_EVENT_BEFORE_TOOL_CALL},
    {"PermissionRequest", AGENTD_EVENT_PERMISSION_REQUEST},
    {"PostToolUse", AGENTD_EVENT_AFTER_TOOL_CALL},
    {"PostToolUseFailure", AGENTD_EVENT_TOOL_CALL_FAILED},
    {"UserPromptSubmit", AGENTD_EVENT_USER_MESSAGE_SEND},
    {"SessionStart", AGENTD_EVENT_SESSION_START},
    {"SessionEnd", AGENTD_EVENT_SESSION_END},
    {"Stop", AGENTD_EVENT_AGENT_STOP},
    {"StopFailure", AGENTD_EVENT_AGENT_ERROR},
    {"SubagentStart", AGENTD_EVENT_SUBAGENT_START},
    {"SubagentStop", AGENTD_EVENT_SUBAGENT_STOP},
    {"PreCompact", AGENTD_EVENT_BEFORE_COMPACTION},
    {"PostCompact", AGENTD_EVENT_AFTER_COMPACTION},
    {"Notification", AGENTD_EVENT_NOTIFICATION},
    {"PermissionDenied", 0},
    {"PostToolBatch", 0},
    {"UserPromptExpansion", 0},
    {"Setup", 0},
    {"PreModelSwitch", 0},
    {"PostModelSwitch", 0},
    {"TeammateIdle", 0},
    {"TaskCreated", 0},
    {"TaskCompleted", 0},
    {"Elicitation", 0},
    {"ElicitationResult", 0},
    {"ConfigChange", 0},
    {"InstructionsLoaded", 0},
    {"CwdChanged", 0},
    {"FileChanged", 0},
    {"DirectoryAdded", 0},
    {"WorktreeCreate", 0},
    {"WorktreeRemove", 0},
    {"MessageDisplay", 0},
}};

std::string_view text_of(JsonView value) { return value.string_or(""); }

// Claude's reasons: clear, logout, prompt_input_exit, other.
std::string_view end_reason(JsonView payload) {
  const std::string_view reason = text_of(payload["reason"]);
  if (reason == "clear") return reason;
  return reason == "exit" ? "prompt_input_exit" : "other";
}

// ---- the objects

void write_tool(JsonWriter& out, JsonView payload) {
  const std::string_view tool = tool_of(payload);
  out.member("tool_name", foreign_tool(Dialect::kClaude, tool));
  out.key("tool_input").raw(foreign_input(Dialect::kClaude, tool, tool_input_of(payload),
                                              text_of(payload["cwd"])));
  out.member("tool_use_id", text_of(payload["tool"]["call_id"]));
}

// What Claude's own tools answer; scripts read these keys.
void write_response(JsonWriter& out, JsonView payload) {
  const std::string_view tool = tool_of(payload);
  const std::string_view content = text_of(payload["output"]["content"]);
  std::string path(text_of(tool_input_of(payload)["path"]));
  if (!path.empty()) path = lexical_path(path, text_of(payload["cwd"]));
  out.key("tool_response").begin_object();
  if (tool == "bash") {
    out.member("stdout", content).member("stderr", "");
    out.member("interrupted", false).member("isImage", false);
  } else if (tool == "read_file") {
    out.member("type", "text").key("file").begin_object();
    out.member("filePath", path).member("content", content).end_object();
  } else {
    if (!path.empty()) out.member("filePath", path);
    out.member("success", payload["output"]["success"].bool_or(true)).member("content", content);
  }
  out.end_object();
}

void write_after_tool(JsonWriter& out, JsonView payload) {
  write_tool(out, payload);
  write_response(out, payload);
  out.member("duration_ms", payload["duration_ms"].uint_or(0));
}

void write_failed_tool(JsonWriter& out, JsonView payload) {
  write_tool(out, payload);
  const std::string_view error = text_of(payload["output"]["error"]);
  out.member("error", error.empty() ? text_of(payload["output"]["content"]) : error);
  out.member("is_interrupt", false).member("duration_ms", payload["duration_ms"].uint_or(0));
}

void write_permission(JsonWriter& out, JsonView payload) {
  write_tool(out, payload);
  if (payload["suggestions"].is_array())
    out.key("permission_suggestions").value(payload["suggestions"]);
}

void write_agent(JsonWriter& out, JsonView payload) {
  out.member("agent_id", text_of(payload["agent"]["id"]));
  out.member("agent_type", text_of(payload["agent"]["type"]));
}

void write_stop(JsonWriter& out, JsonView payload) {
  out.member("stop_hook_active", payload["stop_hook_active"].bool_or(false));
  out.member("last_assistant_message", text_of(payload["response"]));
}

void write_before_compact(JsonWriter& out, JsonView payload) {
  out.member("trigger", text_of(payload["trigger"])).key("custom_instructions");
  const std::string_view instructions = text_of(payload["custom_instructions"]);
  if (instructions.empty())
    out.null();
  else
    out.string(instructions);
}

void write_event(JsonWriter& out, std::uint32_t event, JsonView payload,
                 const DialectContext& context) {
  switch (event) {
    case AGENTD_EVENT_BEFORE_TOOL_CALL:
      return write_tool(out, payload);
    case AGENTD_EVENT_PERMISSION_REQUEST:
      return write_permission(out, payload);
    case AGENTD_EVENT_AFTER_TOOL_CALL:
      return write_after_tool(out, payload);
    case AGENTD_EVENT_TOOL_CALL_FAILED:
      return write_failed_tool(out, payload);
    case AGENTD_EVENT_USER_MESSAGE_SEND:
      out.member("prompt", text_of(payload["message"]));
      return;
    case AGENTD_EVENT_SESSION_START:
      out.member("source", text_of(payload["source"])).member("model", text_of(payload["model"]));
      return;
    case AGENTD_EVENT_SESSION_END:
      out.member("reason", end_reason(payload));
      return;
    case AGENTD_EVENT_AGENT_STOP:
      return write_stop(out, payload);
    case AGENTD_EVENT_AGENT_ERROR:
      out.member("error", text_of(payload["code"]));
      out.member("error_details", text_of(payload["message"]));
      return;
    case AGENTD_EVENT_SUBAGENT_STOP:
      out.member("agent_transcript_path", context.transcript_path);
      return write_stop(out, payload);
    case AGENTD_EVENT_BEFORE_COMPACTION:
      return write_before_compact(out, payload);
    case AGENTD_EVENT_AFTER_COMPACTION:
      out.member("trigger", text_of(payload["trigger"]));
      out.member("compact_summary", text_of(payload["summary"]));
      return;
    case AGENTD_EVENT_NOTIFICATION:
      out.member("message", text_of(payload["text"]));
      out.member("notification_type", text_of(payload["level"]));
      return;
  }
}

std::string input(const HookDefinition& hook, JsonView payload, const DialectContext& context) {
  JsonWriter out;
  out.begin_object();
  out.member("session_id", text_of(payload["session_id"]));
  out.member("transcript_path", context.transcript_path);
  out.member("cwd", text_of(payload["cwd"]));
  out.member("permission_mode",
             context.permission_mode.empty() ? std::string("default") : context.permission_mode);
  out.member("hook_event_name", foreign_event(Dialect::kClaude, hook.event));
  const bool about_agent =
      hook.event == AGENTD_EVENT_SUBAGENT_START || hook.event == AGENTD_EVENT_SUBAGENT_STOP;
  if (about_agent || text_of(payload["invoked_by"]) == "subagent") write_agent(out, payload);
  write_event(out, hook.event, payload, context);
  out.end_object();
  return std::string(out.text());
}

// ---- matchers and environment

std::string subject(const HookDefinition& hook, JsonView payload) {
  if (is_tool_event(hook.event)) return foreign_tool(Dialect::kClaude, tool_of(payload));
  std::string_view text;
  switch (hook.event) {
    case AGENTD_EVENT_SESSION_START:
      text = text_of(payload["source"]);
      break;
    case AGENTD_EVENT_SESSION_END:
      text = end_reason(payload);
      break;
    case AGENTD_EVENT_BEFORE_COMPACTION:
    case AGENTD_EVENT_AFTER_COMPACTION:
      text = text_of(payload["trigger"]);
      break;
    case AGENTD_EVENT_NOTIFICATION:
      text = text_of(payload["level"]);
      break;
    case AGENTD_EVENT_SUBAGENT_START:
    case AGENTD_EVENT_SUBAGENT_STOP:
      text = text_of(payload["agent"]["type"]);
      break;
    case AGENTD_EVENT_AGENT_ERROR:
      text = text_of(payload["code"]);
      break;
  }
  return std::string(text);
}

// Scripts ask whether they run below Claude Code, and are silently off when they do not.
// They append `export` lines for later commands to CLAUDE_ENV_FILE, and stop when it is not set.
// No command here reads them, so they go nowhere.
std::vector<std::string> environment(const HookDefinition& hook, JsonView payload,
                                     const DialectContext& context) {
  const std::string project =
      context.project_dir.empty() ? std::string(text_of(payload["cwd"])) : context.project_dir;
  std::vector<std::string> out{
      "CLAUDE_PROJECT_DIR=" + project, "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli",
      "CLAUDE_CODE_CHILD_SESSION=1",
      "CLAUDE_CODE_SESSION_ID=" + std::string(text_of(payload["session_id"]))};
  if (hook.event == AGENTD_EVENT_SESSION_START) out.emplace_back("CLAUDE_ENV_FILE=/dev/null");
  return out;
}

// A prompt waits for its hooks at the screen; everything else has ten minutes since 2.1.3.
std::optional<Milliseconds> time(std::uint32_t event) {
  return event == AGENTD_EVENT_USER_MESSAGE_SEND ? Milliseconds(30'000) : Milliseconds(600'000);
}

constexpr Translator kClaude{
    Dialect::kClaude,     kEvents, input, subject, environment, interpret_claude,
    read_claude_settings, time};

}  // namespace

const Translator& claude_translator() { return kClaude; }

}  // namespace agentd
