// SPDX-License-Identifier: Apache-2.0
#pragma once
// dialect.h - between agentd's events and answers and those of the tool that a hook was written for.
//
// Going out, a hook gets the object that its own tool would have sent: built from the one canonical
// payload (payload_json.h), never a union of everybody's keys, with the tool names and argument keys of
// that tool. Coming back, its exit code and output become actions; what the dialect does not know, or
// what is not legal for the event, is a warning and never silence.
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json.h"
#include "core/dialects/definition.h"
#include "core/hooks/action.h"

namespace agentd {

// ---- names

// AGENTD_EVENT_ of a dialect's event name; 0 = this dialect has no such event, or it has no counterpart.
std::uint32_t canonical_event(Dialect dialect, std::string_view foreign);
// "PreToolUse" of AGENTD_EVENT_BEFORE_TOOL_CALL; empty = none.
std::string_view foreign_event(Dialect dialect, std::uint32_t event);
// "Bash" of "bash"; a name that has no counterpart is kept; mcp names follow the dialect's form.
std::string foreign_tool(Dialect dialect, std::string_view tool);
// All that the dialect calls it: some tools have an older name, or a newer one, beside it.
std::vector<std::string> foreign_tools(Dialect dialect, std::string_view tool);
std::string canonical_tool(Dialect dialect, std::string_view tool);
// The input object of a tool with the dialect's keys (file_path, cmd), and back again. Keys that have no
// counterpart are kept. Both return compact JSON; a text that is no object is returned as it is. `cwd` is
// what paths are relative to, for dialects whose hooks get them absolute; empty = as they are.
std::string foreign_input(Dialect dialect, std::string_view tool, JsonView input, std::string_view cwd = {});
std::string canonical_input(Dialect dialect, std::string_view tool, JsonView input);

// ---- shell

// What runs a command line. Those of the other tools are written for bash: they use [[ ]], and an
// `echo` that leaves the backslashes of a JSON object alone, which that of a plain sh does not.
std::string shell_of(Dialect dialect);

// ---- time

// How long the dialect's own tool lets a hook of the event run that names no time. nullopt = as
// long as agentd's own hooks (hooks.deadline_ms), and at the end of a session.
std::optional<Milliseconds> default_time(Dialect dialect, std::uint32_t event);

// ---- out

// What the dialects want and the canonical payload does not have.
struct DialectContext {
  std::string transcript_path;  // claude, gemini; empty = none
  std::string timestamp;        // ISO 8601, UTC
  std::string permission_mode;  // claude: default, acceptEdits, plan, bypassPermissions
  std::string project_dir;
};

// The one JSON object on the hook's standard input. REQUIRES: `payload` is the canonical object.
std::string dialect_input(const HookDefinition& hook, JsonView payload, const DialectContext& context);

// What the matcher is tested against: the dialect's names of the tool, the source, trigger or reason; one that
// matches is enough. None when the event has no subject, and then every matcher matches.
std::vector<std::string> matcher_subjects(const HookDefinition& hook, JsonView payload);
// claude's `if`: "Bash(git *)", "Edit(src/**)", "Read". An empty rule is true; kInvalid for one that
// cannot be read.
Result<bool> if_rule_holds(const HookDefinition& hook, JsonView payload);

// CLAUDE_PROJECT_DIR, GEMINI_... : "NAME=value", beside the runtime's own.
std::vector<std::string> dialect_environment(const HookDefinition& hook, JsonView payload,
                                             const DialectContext& context);

// ---- back

struct RawAnswer {
  enum class End { kExited, kSignalled, kTimedOut, kCancelled, kNotStarted };
  End end = End::kExited;
  int code = 0;                // exit code, or the signal's number
  std::string out, err;        // standard output and standard error; a webhook's body is `out`
  bool out_over_cap = false;   // more than the cap was written; `out` is not whole
  std::string problem;         // kNotStarted: one sentence
  int http_status = 0;         // webhooks; 0 = no answer
  std::uint32_t children = 0;  // processes that had to be ended with the program
};

struct Verdict {
  std::vector<Action> actions;        // legal ones, in order; targets set
  bool failed = false;                // follows the hook's on_failure
  bool timed_out = false;             // a failure by deadline
  std::string failure;                // one sentence
  std::vector<std::string> warnings;  // unknown keys, illegal answers, non-blocking errors
  std::uint32_t children = 0;         // processes that had to be ended with the program
};

// False when no answer of the hook, in its dialect or by its `do`, replaces the event's text.
bool may_rewrite(const HookDefinition& hook);

// Never fails itself: whatever came is an answer, a failure or a warning.
Verdict interpret(const HookDefinition& hook, JsonView payload, const RawAnswer& answer);

// The canonical answer object, the one form that executables, webhooks, `do:` and recipes write:
// {action: none|block|stop_run|continue|compact|summary|replace|callback, reason, message, input, output,
// messages, replace_messages, summary, custom_instructions, strategy, keep_tokens, model,
// additional_context, system_message, permission, tools{enable,disable}, callback{recipe,args},
// then: stop|continue}, and Kodelet's legacy keys blocked, follow_up_messages. Absent, null and "" are
// different: absent has no opinion, null is absent, "" is an empty text.
Verdict interpret_canonical(std::uint32_t event, JsonView payload, JsonView answer);

// ---- whole files

// A settings file of another tool: {"hooks": {...}} of Claude Code or Gemini CLI (JSON), or a
// `hooks:` block of docker-agent (YAML, at the top or below agents.NAME). `prefix` begins the hooks' names ("claude").
// kInvalid: not readable at all, "FILE:LINE:COLUMN: what" where the syntax tells.
Result<DefinitionSet> read_settings(Dialect dialect, std::string_view text, std::string_view path,
                                    std::string_view prefix);
// By name and content of a file: settings.json below .claude or .gemini, YAML with a docker block.
std::optional<Dialect> guess_dialect(std::string_view path, std::string_view text);

}  // namespace agentd
