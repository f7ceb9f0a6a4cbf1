// SPDX-License-Identifier: Apache-2.0
// gemini.cc - Gemini CLI's events, objects and environment.
#include "core/dialects/gemini.h"
#include "core/dialects/edit_lists.h"

#include <array>

namespace agentd {
namespace {

constexpr std::array<EventName, 12> kGeminiEvents{{
    {"BeforeTool", AGENTD_EVENT_BEFORE_TOOL_CALL},
    {"AfterTool", AGENTD_EVENT_AFTER_TOOL_CALL},
    {"AfterTool", AGENTD_EVENT_TOOL_CALL_FAILED},
    {"BeforeAgent", AGENTD_EVENT_USER_MESSAGE_SEND},
    {"AfterAgent", AGENTD_EVENT_AGENT_STOP},
    {"BeforeModel", AGENTD_EVENT_BEFORE_MODEL_CALL},
    {"BeforeToolSelection", AGENTD_EVENT_BEFORE_MODEL_CALL},
    {"AfterModel", AGENTD_EVENT_AFTER_MODEL_CALL},
    {"SessionStart", AGENTD_EVENT_SESSION_START},
    {"SessionEnd", AGENTD_EVENT_SESSION_END},
    {"Notification", AGENTD_EVENT_NOTIFICATION},
    {"PreCompress", AGENTD_EVENT_BEFORE_COMPACTION},
}};

constexpr std::array<ToolKey, 1> kGeminiFileKeys{{{"path", "file_path"}}};
constexpr std::array<ToolKey, 2> kReplaceKeys{{{"path", "file_path"}, {"replace_all", "allow_multiple"}}};
constexpr std::array<ToolKey, 1> kGeminiFolderKeys{{{"path", "dir_path"}}};
constexpr std::array<ToolKey, 3> kGeminiGrepKeys{
    {{"path", "dir_path"}, {"glob", "include_pattern"}, {"limit", "total_max_matches"}}};
constexpr std::array<ToolRow, 11> kGeminiTools{{{"bash", "run_shell_command", {}},
                                                {"read_file", "read_file", kGeminiFileKeys},
                                                {"write_file", "write_file", kGeminiFileKeys},
                                                {"edit_file", "replace", kReplaceKeys},
                                                {"glob", "glob", kGeminiFolderKeys},
                                                {"grep", "grep_search", kGeminiGrepKeys},
                                                {"grep", "search_file_content", kGeminiGrepKeys},
                                                {"ls", "list_directory", kGeminiFolderKeys},
                                                {"web_fetch", "web_fetch", {}},
                                                {"web_search", "google_web_search", {}},
                                                {"todo_write", "write_todos", {}}}};

// Tools of Gemini CLI that agentd has no counterpart of.
constexpr std::array<std::string_view, 14> kGeminiOwnTools{
    "activate_skill",  "ask_user",       "cli_help",          "codebase_investigator", "complete_task",
    "enter_plan_mode", "exit_plan_mode", "get_internal_docs", "delegate_to_agent",     "read_many_files",
    "save_memory",     "generalist",     "write_file_diff",   "update_topic"};

std::string_view gemini_text(JsonView value) { return value.string_or(""); }

std::string_view gemini_end_reason(JsonView payload) {
  const std::string_view reason = gemini_text(payload["reason"]);
  return reason == "exit" || reason == "clear" ? reason : "other";
}

// The texts of a message; empty for a message of only tool calls or results.
std::string texts_of(JsonView message) {
  const JsonView blocks = message["blocks"];
  if (!blocks.is_array()) return std::string(gemini_text(message["content"]));
  std::string out;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (gemini_text(blocks.at(i)["type"]) == "text") out += gemini_text(blocks.at(i)["text"]);
  return out;
}

// ---- the objects

void write_gemini_tool(JsonWriter& out, JsonView payload) {
  const std::string_view tool = tool_of(payload);
  out.member("tool_name", foreign_tool(Dialect::kGemini, tool));
  out.key("tool_input").raw(shown_input(Dialect::kGemini, payload));
}

void write_gemini_after_tool(JsonWriter& out, JsonView payload) {
  write_gemini_tool(out, payload);
  const JsonView output = payload["output"];
  const std::string_view error = gemini_text(output["error"]);
  const std::string_view content = gemini_text(output["content"]);
  out.key("tool_response").begin_object();
  out.member("llmContent", content).member("returnDisplay", content);
  if (!error.empty()) out.key("error").begin_object().member("message", error).end_object();
  out.end_object();
}

void write_request(JsonWriter& out, JsonView payload) {
  out.key("llm_request").begin_object();
  out.member("model", gemini_text(payload["model"])).key("messages").begin_array();
  if (const std::string_view system = gemini_text(payload["system"]); !system.empty())
    out.begin_object().member("role", "system").member("content", system).end_object();
  for (const GeminiMessage& each : gemini_messages(payload))
    out.begin_object().member("role", each.role).member("content", each.text).end_object();
  out.end_array().end_object();
}

std::string_view finish_reason(std::string_view reason) {
  if (reason == "max_tokens") return "MAX_TOKENS";
  return reason == "refusal" ? "SAFETY" : "STOP";
}

void write_gemini_response(JsonWriter& out, JsonView payload) {
  const std::string_view text = gemini_text(payload["response"]);
  const JsonView usage = payload["usage"];
  const std::uint64_t in =
      usage["input_tokens"].uint_or(0) + usage["cache_read_tokens"].uint_or(0) + usage["cache_write_tokens"].uint_or(0);
  const std::uint64_t answered = usage["output_tokens"].uint_or(0);
  out.key("llm_response").begin_object().member("text", text);
  out.key("candidates").begin_array().begin_object();
  out.key("content").begin_object().member("role", "model");
  out.key("parts").begin_array().string(text).end_array().end_object();
  out.member("finishReason", finish_reason(gemini_text(payload["stop_reason"])));
  out.end_object().end_array();
  out.key("usageMetadata").begin_object().member("promptTokenCount", in);
  out.member("candidatesTokenCount", answered).member("totalTokenCount", in + answered);
  out.end_object().end_object();
}

// The user's last text in the history, which AfterAgent calls the prompt.
std::string_view last_prompt(JsonView payload) {
  const JsonView messages = payload["messages"];
  for (std::size_t i = messages.size(); i-- > 0;) {
    const JsonView each = messages.at(i);
    const bool context = each["context"].bool_or(false) || each["summary"].bool_or(false);
    if (gemini_text(each["role"]) == "user" && !context && !each["blocks"].exists())
      return gemini_text(each["content"]);
  }
  return {};
}

void write_gemini_event(JsonWriter& out, std::uint32_t event, JsonView payload) {
  switch (event) {
    case AGENTD_EVENT_BEFORE_TOOL_CALL:
      return write_gemini_tool(out, payload);
    case AGENTD_EVENT_AFTER_TOOL_CALL:
    case AGENTD_EVENT_TOOL_CALL_FAILED:
      return write_gemini_after_tool(out, payload);
    case AGENTD_EVENT_USER_MESSAGE_SEND:
      out.member("prompt", gemini_text(payload["message"]));
      return;
    case AGENTD_EVENT_AGENT_STOP:
      out.member("prompt", last_prompt(payload));
      out.member("prompt_response", gemini_text(payload["response"]));
      out.member("stop_hook_active", payload["stop_hook_active"].bool_or(false));
      return;
    case AGENTD_EVENT_BEFORE_MODEL_CALL:
      return write_request(out, payload);
    case AGENTD_EVENT_AFTER_MODEL_CALL:
      write_request(out, payload);
      return write_gemini_response(out, payload);
    case AGENTD_EVENT_SESSION_START:
      out.member("source", gemini_text(payload["source"]));
      return;
    case AGENTD_EVENT_SESSION_END:
      out.member("reason", gemini_end_reason(payload));
      return;
    case AGENTD_EVENT_NOTIFICATION:
      out.member("notification_type", gemini_text(payload["level"]));
      out.member("message", gemini_text(payload["text"])).key("details").begin_object().end_object();
      return;
    case AGENTD_EVENT_BEFORE_COMPACTION:
      out.member("trigger", gemini_text(payload["trigger"]));
      return;
  }
}

std::string gemini_input(const HookDefinition& hook, JsonView payload, const DialectContext& context) {
  JsonWriter out;
  out.begin_object();
  out.member("session_id", gemini_text(payload["session_id"]));
  out.member("transcript_path", context.transcript_path);
  out.member("cwd", gemini_text(payload["cwd"])).member("hook_event_name", event_label(hook));
  out.member("timestamp", context.timestamp);
  write_gemini_event(out, hook.event, payload);
  out.end_object();
  return std::string(out.text());
}

// ---- matchers and environment

std::string gemini_subject(const HookDefinition& hook, JsonView payload) {
  if (is_tool_event(hook.event)) return foreign_tool(Dialect::kGemini, tool_of(payload));
  std::string_view text;
  switch (hook.event) {
    case AGENTD_EVENT_SESSION_START:
      text = gemini_text(payload["source"]);
      break;
    case AGENTD_EVENT_SESSION_END:
      text = gemini_end_reason(payload);
      break;
    case AGENTD_EVENT_BEFORE_COMPACTION:
      text = gemini_text(payload["trigger"]);
      break;
    case AGENTD_EVENT_NOTIFICATION:
      text = gemini_text(payload["level"]);
      break;
  }
  return std::string(text);
}

std::vector<std::string> gemini_environment(const HookDefinition&, JsonView payload, const DialectContext& context) {
  const std::string cwd(gemini_text(payload["cwd"]));
  const std::string project = context.project_dir.empty() ? cwd : context.project_dir;
  return {"GEMINI_PROJECT_DIR=" + project, "CLAUDE_PROJECT_DIR=" + project, "GEMINI_CWD=" + cwd,
          "GEMINI_SESSION_ID=" + std::string(gemini_text(payload["session_id"]))};
}

std::optional<Milliseconds> gemini_time(std::uint32_t) { return Milliseconds(60'000); }

MatcherRules gemini_matcher(std::uint32_t event) {
  return is_tool_event(event) ? MatcherRules::kGeminiTool : MatcherRules::kExact;
}

constexpr Translator kGemini{
    .traits = {.program = "Gemini CLI",
               .settings_folder = ".gemini",
               .bash = true,
               .parallel = true,
               .users_prompts = true,
               .transcript = true,
               .time_unit_ms = 1},
    .events = kGeminiEvents,
    .tools = kGeminiTools,
    .own_tools = kGeminiOwnTools,
    .mcp = {"mcp_", "_"},
    .input = gemini_input,
    .subject = gemini_subject,
    .environment = gemini_environment,
    .interpret = interpret_gemini,
    .read_settings = read_gemini_settings,
    .matcher = gemini_matcher,
    .time = gemini_time,
};

}  // namespace

std::vector<GeminiMessage> gemini_messages(JsonView payload) {
  std::vector<GeminiMessage> out;
  const JsonView messages = payload["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const JsonView message = messages.at(i);
    std::string text = texts_of(message);
    if (text.empty()) continue;
    const std::string role = gemini_text(message["role"]) == "assistant" ? "model" : "user";
    if (message["context"].bool_or(false) && !out.empty() && out.back().role == role)
      out.back().text += "\n" + text;
    else
      out.push_back({role, std::move(text)});
  }
  return out;
}

const Translator& gemini_translator() { return kGemini; }

}  // namespace agentd
