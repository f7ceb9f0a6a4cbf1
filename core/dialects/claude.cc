// SPDX-License-Identifier: Apache-2.0
// claude.cc - Claude Code's events, objects and environment.
#include "core/dialects/claude.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "core/base/paths.h"
#include "core/dialects/edit_lists.h"

namespace agentd {
namespace {

constexpr std::array<EventName, 33> kClaudeEvents{{
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

using V = ToolValue;

constexpr std::array<ToolKey, 2> kClaudeBashKeys{{{"timeout_ms", "timeout"}, {"background", "run_in_background"}}};
constexpr std::array<ToolKey, 1> kOutputKeys{{{"id", "bash_id"}}};
constexpr std::array<ToolKey, 1> kKillKeys{{{"id", "shell_id"}}};
constexpr std::array<ToolKey, 1> kClaudeFileKeys{{{"path", "file_path", V::kPath}}};
constexpr std::array<ToolKey, 1> kClaudeFolderKeys{{{"path", "path", V::kPath}}};
constexpr std::array<ToolKey, 1> kNotebookKeys{{{"notebook_path", "notebook_path", V::kPath}}};
constexpr std::array<ToolKey, 5> kClaudeGrepKeys{{{"path", "path", V::kPath},
                                                  {"ignore_case", "-i"},
                                                  {"context", "-C"},
                                                  {"limit", "head_limit"},
                                                  {"output_mode", "output_mode", V::kFilesMode}}};
constexpr std::array<ToolRow, 18> kClaudeTools{{{"bash", "Bash", kClaudeBashKeys},
                                                {"bash_output", "BashOutput", kOutputKeys},
                                                {"kill_shell", "KillShell", kKillKeys},
                                                {"kill_shell", "KillBash", kKillKeys},
                                                {"read_file", "Read", kClaudeFileKeys},
                                                {"write_file", "Write", kClaudeFileKeys},
                                                {"edit_file", "Edit", kClaudeFileKeys},
                                                {"multi_edit", "MultiEdit", kClaudeFileKeys},
                                                {"glob", "Glob", kClaudeFolderKeys},
                                                {"grep", "Grep", kClaudeGrepKeys},
                                                {"ls", "LS", kClaudeFolderKeys},
                                                {"web_fetch", "WebFetch", {}},
                                                {"web_search", "WebSearch", {}},
                                                {"todo_write", "TodoWrite", {}},
                                                {"todo_read", "TodoRead", {}},
                                                {"task", "Agent", {}},
                                                {"task", "Task", {}},
                                                {"notebook_edit", "NotebookEdit", kNotebookKeys}}};

// Tools of Claude Code that agentd has no counterpart of.
constexpr std::array<std::string_view, 21> kClaudeOwnTools{
    "AskUserQuestion", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "LSP",        "Monitor",
    "NotebookRead",    "PowerShell",    "SendMessage",   "Skill",        "SlashCommand", "TaskCreate", "TaskGet",
    "TaskList",        "TaskOutput",    "TaskStop",      "TaskUpdate",   "TeamCreate",   "TeamDelete", "ToolSearch"};

constexpr std::string_view kMultiEdit = "MultiEdit";

std::string_view text_of(JsonView value) { return value.string_or(""); }

// Claude's reasons: clear, logout, prompt_input_exit, other.
std::string_view claude_end_reason(JsonView payload) {
  const std::string_view reason = text_of(payload["reason"]);
  if (reason == "clear") return reason;
  return reason == "exit" ? "prompt_input_exit" : "other";
}

// ---- the objects

// A list of edits was MultiEdit's, and is for hooks that name it. All others know an Edit, as which they get it.
std::string tool_name(const HookDefinition& hook, JsonView payload) {
  std::string usual = foreign_tool(Dialect::kClaude, tool_of(payload));
  if (!has_edit_list(payload) || hook.matcher.matches_all() || !hook.matcher.matches(kMultiEdit)) return usual;
  const bool named = hook.matcher.text().find(kMultiEdit) != std::string::npos || !hook.matcher.matches(usual);
  return named ? std::string(kMultiEdit) : usual;
}

void write_claude_tool(JsonWriter& out, const HookDefinition& hook, JsonView payload) {
  out.member("tool_name", tool_name(hook, payload));
  out.key("tool_input").raw(shown_input(Dialect::kClaude, payload, text_of(payload["cwd"])));
  out.member("tool_use_id", text_of(payload["tool"]["call_id"]));
}

std::string_view without_line_ends(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

struct NumberedLines {
  std::string text;  // without the numbers
  std::uint64_t first = 0, count = 0;
};

// Parses read_file's output, "     7\ttext" per line; nothing if a line has another form.
std::optional<NumberedLines> numbered_lines(std::string_view content) {
  NumberedLines out;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size() - 1) + 1;
    const std::string_view line = content.substr(at, end - at);
    const std::size_t digits = line.find_first_not_of(' ');
    const std::size_t tab = line.find('\t');
    if (digits == std::string_view::npos || tab == std::string_view::npos || digits == tab) return std::nullopt;
    std::uint64_t number = 0;
    for (const char c : line.substr(digits, tab - digits)) {
      if (c < '0' || c > '9' || number > UINT32_MAX) return std::nullopt;
      number = number * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (at == 0) out.first = number;
    out.text += line.substr(tab + 1);
    at = end;
  }
  if (out.text.empty()) return std::nullopt;
  out.count = 1 + static_cast<std::uint64_t>(std::count(out.text.begin(), out.text.end(), '\n'));
  return out;
}

void write_read_file(JsonWriter& out, JsonView input, std::string_view path, std::string_view content) {
  const auto lines = numbered_lines(content);
  out.member("type", "text").key("file").begin_object().member("filePath", path);
  out.member("content", lines ? std::string_view(lines->text) : content);
  if (lines) out.member("numLines", lines->count).member("startLine", lines->first);
  // The total is known only if the complete file was read.
  if (lines && !input["offset"].exists() && !input["limit"].exists()) out.member("totalLines", lines->count);
  out.end_object();
}

// Scripts written from Claude's documentation read `success`, which its own tools do not send.
void write_written_file(JsonWriter& out, JsonView input, std::string_view path, std::string_view content) {
  const bool made = content.starts_with("made ");
  out.member("type", made ? "create" : "update").member("filePath", path);
  out.member("content", text_of(input["content"])).member("userModified", false).member("success", true);
  if (!made) return;
  out.key("structuredPatch").begin_array().end_array();
  out.key("originalFile").null();
}

void write_edited_file(JsonWriter& out, JsonView payload, std::string_view path, std::string_view content) {
  const JsonView input = tool_input_of(payload);
  const bool list = has_edit_list(payload);
  const auto text = [&](std::string_view key) {
    return list ? joined_edits(payload, key) : std::string(text_of(input[key]));
  };
  out.member("filePath", path).member("oldString", text("old_string"));
  out.member("newString", text("new_string")).member("userModified", false);
  if (list) out.key("edits").value(input["edits"]);
  out.member("replaceAll", input["replace_all"].bool_or(false)).member("success", true).member("content", content);
}

// The answer of glob and grep: one result per line, and notes in brackets about results that are left out.
struct SearchAnswer {
  std::vector<std::string_view> lines;
  std::uint64_t more = 0;  // results that are left out
  bool cut = false, ended_early = false;
};

SearchAnswer search_answer(std::string_view content) {
  SearchAnswer out;
  while (!content.empty()) {
    const std::string_view line = content.substr(0, content.find('\n'));
    content.remove_prefix(std::min(content.size(), line.size() + 1));
    if (line == "(no match)" || line == "(no file matches)") continue;
    if (!line.starts_with('[') || !line.ends_with(']') || line.find(' ') == std::string_view::npos) {
      out.lines.push_back(line);
      continue;
    }
    out.cut = true;
    if (line.find(" more file") != std::string_view::npos)
      for (const char c : line.substr(1, line.find(' ') - 1))
        if (c >= '0' && c <= '9') out.more = out.more * 10 + static_cast<std::uint64_t>(c - '0');
    out.ended_early = out.ended_early || line.find("ended early") != std::string_view::npos;
  }
  return out;
}

void write_names(JsonWriter& out, const std::vector<std::string_view>& names) {
  out.key("filenames").begin_array();
  for (const std::string_view name : names) out.string(name);
  out.end_array().member("numFiles", static_cast<std::uint64_t>(names.size()));
}

void write_glob(JsonWriter& out, JsonView payload, const SearchAnswer& answer) {
  out.member("durationMs", payload["duration_ms"].uint_or(0));
  write_names(out, answer.lines);
  out.member("truncated", answer.cut).member("totalMatches", std::uint64_t{answer.lines.size() + answer.more});
  out.member("countIsComplete", !answer.ended_early);
}

void write_grep(JsonWriter& out, JsonView input, const SearchAnswer& answer) {
  const std::string_view mode = text_of(input["output_mode"]);
  if (mode != "content" && mode != "count") {
    out.member("mode", "files_with_matches");
    write_names(out, answer.lines);
    out.member("totalFiles", std::uint64_t{answer.lines.size() + answer.more});
    return;
  }
  std::string content;
  std::uint64_t matches = 0;
  for (const std::string_view line : answer.lines) {
    content.append(content.empty() ? "" : "\n").append(line);
    std::uint64_t count = 0;
    const std::string_view number = line.substr(line.rfind(':') + 1);
    std::from_chars(number.data(), number.data() + number.size(), count);
    matches += count;
  }
  out.member("mode", mode).key("filenames").begin_array().end_array().member("content", content);
  const auto lines = static_cast<std::uint64_t>(answer.lines.size());
  if (mode == "count")
    out.member("numFiles", lines).member("numMatches", matches);
  else
    out.member("numFiles", 0).member("numLines", lines);
  // The total is unknown when the answer was cut.
  if (mode == "content" && !answer.cut) out.member("totalLines", lines);
}

// The response in the shape of Claude's own tools, whose keys scripts read.
void write_claude_response(JsonWriter& out, JsonView payload) {
  const std::string_view tool = tool_of(payload);
  const JsonView input = tool_input_of(payload);
  const std::string_view content = text_of(payload["output"]["content"]);
  std::string path(text_of(input["path"]));
  if (!path.empty()) path = lexical_path(path, text_of(payload["cwd"]));
  const bool succeeded = payload["output"]["success"].bool_or(true);
  out.key("tool_response").begin_object();
  if (tool == "bash") {
    out.member("stdout", without_line_ends(content)).member("stderr", "");
    out.member("interrupted", false).member("isImage", false);
  } else if (tool == "read_file") {
    write_read_file(out, input, path, content);
  } else if (tool == "write_file" && succeeded) {
    write_written_file(out, input, path, content);
  } else if (tool == "edit_file" && succeeded) {
    write_edited_file(out, payload, path, content);
  } else if (tool == "glob" && succeeded) {
    write_glob(out, payload, search_answer(content));
  } else if (tool == "grep" && succeeded) {
    write_grep(out, input, search_answer(content));
  } else {
    if (!path.empty()) out.member("filePath", path);
    out.member("success", succeeded).member("content", content);
  }
  out.end_object();
}

void write_claude_after_tool(JsonWriter& out, const HookDefinition& hook, JsonView payload) {
  write_claude_tool(out, hook, payload);
  write_claude_response(out, payload);
  out.member("duration_ms", payload["duration_ms"].uint_or(0));
}

// agentd puts a command's exit code at the end, Claude at the beginning.
std::string failure_text(std::string_view text) {
  constexpr std::string_view kMark = "[exit code ";
  const std::size_t at = text.rfind(kMark);
  const std::string_view code = at == std::string_view::npos ? "" : text.substr(at + kMark.size());
  const bool is_last = code.size() > 1 && code.find_first_not_of("0123456789") == code.size() - 1 && code.back() == ']';
  if (!is_last || (at != 0 && text[at - 1] != '\n')) return std::string(text);
  const std::string_view said = without_line_ends(text.substr(0, at));
  std::string out = "Exit code " + std::string(code.substr(0, code.size() - 1));
  return said.empty() ? out : out.append("\n").append(said);
}

void write_failed_tool(JsonWriter& out, const HookDefinition& hook, JsonView payload) {
  write_claude_tool(out, hook, payload);
  const std::string_view error = text_of(payload["output"]["error"]);
  out.member("error", failure_text(error.empty() ? text_of(payload["output"]["content"]) : error));
  out.member("is_interrupt", false).member("duration_ms", payload["duration_ms"].uint_or(0));
}

void write_permission(JsonWriter& out, const HookDefinition& hook, JsonView payload) {
  write_claude_tool(out, hook, payload);
  const JsonView suggestions = payload["suggestions"];
  if (!suggestions.is_array()) return;
  out.key("permission_suggestions").begin_array();
  for (std::size_t i = 0; i < suggestions.size(); ++i) {
    const std::string tool = foreign_tool(Dialect::kClaude, text_of(suggestions.at(i)));
    out.begin_object().member("type", "addRules").key("rules").begin_array();
    out.begin_object().member("toolName", tool).end_object().end_array();
    out.member("behavior", "allow").member("destination", "session").end_object();
  }
  out.end_array();
}

// Claude's name of the agent type that is not user-defined.
std::string_view agent_type(JsonView payload) {
  const std::string_view type = text_of(payload["agent"]["type"]);
  return type == "general" ? "general-purpose" : type;
}

void write_agent(JsonWriter& out, JsonView payload) {
  out.member("agent_id", text_of(payload["agent"]["id"]));
  out.member("agent_type", agent_type(payload));
}

void write_claude_stop(JsonWriter& out, JsonView payload) {
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

void write_claude_event(JsonWriter& out, const HookDefinition& hook, JsonView payload, const DialectContext& context) {
  switch (hook.event) {
    case AGENTD_EVENT_BEFORE_TOOL_CALL:
      return write_claude_tool(out, hook, payload);
    case AGENTD_EVENT_PERMISSION_REQUEST:
      return write_permission(out, hook, payload);
    case AGENTD_EVENT_AFTER_TOOL_CALL:
      return write_claude_after_tool(out, hook, payload);
    case AGENTD_EVENT_TOOL_CALL_FAILED:
      return write_failed_tool(out, hook, payload);
    case AGENTD_EVENT_USER_MESSAGE_SEND:
      out.member("prompt", text_of(payload["message"]));
      return;
    case AGENTD_EVENT_SESSION_START:
      out.member("source", text_of(payload["source"])).member("model", text_of(payload["model"]));
      return;
    case AGENTD_EVENT_SESSION_END:
      out.member("reason", claude_end_reason(payload));
      return;
    case AGENTD_EVENT_AGENT_STOP:
      return write_claude_stop(out, payload);
    case AGENTD_EVENT_AGENT_ERROR:
      out.member("error", text_of(payload["code"]));
      out.member("error_details", text_of(payload["message"]));
      return;
    case AGENTD_EVENT_SUBAGENT_STOP:
      out.member("agent_transcript_path", context.transcript_path);
      return write_claude_stop(out, payload);
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

// The tool's own name of a permission mode.
std::string_view mode_of(std::string_view mode) {
  constexpr std::pair<std::string_view, std::string_view> kModes[] = {
      {"accept_edits", "acceptEdits"}, {"plan", "plan"}, {"allow", "bypassPermissions"}, {"deny", "dontAsk"}};
  for (const auto& [own, its] : kModes)
    if (own == mode) return its;
  return "default";
}

std::string claude_input(const HookDefinition& hook, JsonView payload, const DialectContext& context) {
  JsonWriter out;
  out.begin_object();
  out.member("session_id", text_of(payload["session_id"]));
  out.member("transcript_path", context.transcript_path);
  out.member("cwd", text_of(payload["cwd"]));
  out.member("permission_mode", mode_of(context.permission_mode));
  out.member("hook_event_name", foreign_event(Dialect::kClaude, hook.event));
  const bool about_agent = hook.event == AGENTD_EVENT_SUBAGENT_START || hook.event == AGENTD_EVENT_SUBAGENT_STOP;
  if (about_agent || text_of(payload["invoked_by"]) == "subagent") write_agent(out, payload);
  write_claude_event(out, hook, payload, context);
  out.end_object();
  return std::string(out.text());
}

// ---- matchers and environment

std::string claude_subject(const HookDefinition& hook, JsonView payload) {
  if (is_tool_event(hook.event)) return tool_name(hook, payload);
  std::string_view text;
  switch (hook.event) {
    case AGENTD_EVENT_SESSION_START:
      text = text_of(payload["source"]);
      break;
    case AGENTD_EVENT_SESSION_END:
      text = claude_end_reason(payload);
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
      text = agent_type(payload);
      break;
    case AGENTD_EVENT_AGENT_ERROR:
      text = text_of(payload["code"]);
      break;
  }
  return std::string(text);
}

// Some scripts disable themselves silently unless they run under Claude Code (CLAUDECODE). Some append `export` lines
// for later commands to CLAUDE_ENV_FILE and stop if it is not set; agentd's commands do not read that file.
std::vector<std::string> claude_environment(const HookDefinition& hook, JsonView payload,
                                            const DialectContext& context) {
  const std::string project = context.project_dir.empty() ? std::string(text_of(payload["cwd"])) : context.project_dir;
  std::vector<std::string> out{"CLAUDE_PROJECT_DIR=" + project, "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli",
                               "CLAUDE_CODE_CHILD_SESSION=1",
                               "CLAUDE_CODE_SESSION_ID=" + std::string(text_of(payload["session_id"]))};
  if (hook.event == AGENTD_EVENT_SESSION_START) out.emplace_back("CLAUDE_ENV_FILE=/dev/null");
  return out;
}

// A prompt's hooks have 30 s, since the user waits for them; all others have ten minutes since Claude Code 2.1.3.
std::optional<Milliseconds> claude_time(std::uint32_t event) {
  return event == AGENTD_EVENT_USER_MESSAGE_SEND ? Milliseconds(30'000) : Milliseconds(600'000);
}

constexpr Translator kClaude{
    .traits = {.program = "Claude Code",
               .settings_folder = ".claude",
               .bash = true,
               .parallel = true,
               .users_prompts = true,
               .transcript = true,
               .bare_variables = true},
    .events = kClaudeEvents,
    .tools = kClaudeTools,
    .own_tools = kClaudeOwnTools,
    .input = claude_input,
    .subject = claude_subject,
    .environment = claude_environment,
    .interpret = interpret_claude,
    .read_settings = read_claude_settings,
    .time = claude_time,
};

}  // namespace

const Translator& claude_translator() { return kClaude; }

}  // namespace agentd
