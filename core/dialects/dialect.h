// SPDX-License-Identifier: Apache-2.0
#pragma once
// dialect.h - translates between agentd's events and answers and those of the tool that a hook was written for.
//
// Outgoing: a hook gets the object that its own tool would have sent, built from the one canonical payload
// (payload_json.h), with that tool's tool names and argument keys and no others. Incoming: its exit code and output
// become actions. Anything that the dialect does not know or the event does not allow is a warning, never ignored
// silently.
//
// Threading: pure functions.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json.h"
#include "core/dialects/answer.h"
#include "core/dialects/definition.h"
#include "core/dialects/dialect_traits.h"

namespace agentd {

// ---- names

// AGENTD_EVENT_ for a dialect's event name; 0 = the dialect has no such event, or agentd has no counterpart.
std::uint32_t canonical_event(Dialect dialect, std::string_view foreign);
// "PreToolUse" for AGENTD_EVENT_BEFORE_TOOL_CALL; empty = none.
std::string_view foreign_event(Dialect dialect, std::uint32_t event);
// "Bash" for "bash". Names without a counterpart are kept; MCP names follow the dialect's form.
std::string foreign_tool(Dialect dialect, std::string_view tool);
// All of the dialect's names for the tool: some have an older or a newer name as well.
std::vector<std::string> foreign_tools(Dialect dialect, std::string_view tool);
std::string canonical_tool(Dialect dialect, std::string_view tool);
// The input object of a tool with the dialect's keys (file_path, cmd), and back. Keys without a counterpart are kept.
// Both return compact JSON; text that is not an object is returned unchanged. Paths are made absolute with `cwd` for
// dialects whose hooks expect that; empty = unchanged.
std::string foreign_input(Dialect dialect, std::string_view tool, JsonView input, std::string_view cwd = {});
std::string canonical_input(Dialect dialect, std::string_view tool, JsonView input);

// ---- what differs between the tools

const DialectTraits& traits_of(Dialect dialect);
// The rules of the dialect's matchers at the event.
MatcherRules matcher_rules(Dialect dialect, std::uint32_t event);

// ---- shell

// The shell for command lines. Other tools' command lines are written for bash: they use [[ ]], and an `echo` that
// leaves the backslashes of a JSON object alone, unlike plain sh.
std::string shell_of(Dialect dialect);

// ---- time

// The dialect's own time limit for a hook of the event that sets none. nullopt = agentd's (hooks.deadline_ms); also at
// the end of a session.
std::optional<Milliseconds> default_time(Dialect dialect, std::uint32_t event);

// ---- out

// The JSON object for the hook's standard input. REQUIRES: `payload` is the canonical object.
std::string dialect_input(const HookDefinition& hook, JsonView payload, const DialectContext& context);

// The strings that the matcher is tested against: the dialect's names of the tool, the source, trigger or reason; one
// match is enough. Empty if the event has no subject: then every matcher matches.
std::vector<std::string> matcher_subjects(const HookDefinition& hook, JsonView payload);
// Evaluates claude's `if`: "Bash(git *)", "Edit(src/**)", "Read". An empty rule is true. kInvalid: the rule cannot be
// read.
Result<bool> if_rule_holds(const HookDefinition& hook, JsonView payload);

// "NAME=value" entries in addition to the runtime's own, such as CLAUDE_PROJECT_DIR.
std::vector<std::string> dialect_environment(const HookDefinition& hook, JsonView payload,
                                             const DialectContext& context);

// ---- back

// False if no answer of the hook, in its dialect or by its `do`, replaces the event's text.
bool may_rewrite(const HookDefinition& hook);
// True if an answer of the hook can refuse what the event announces.
bool may_refuse(const HookDefinition& hook);

// Turns an answer into actions, a failure or warnings. Does not fail itself.
Verdict interpret(const HookDefinition& hook, JsonView payload, const RawAnswer& answer);

// The words of the canonical answer's key `action`.
struct ActionWord {
  std::string_view word;
  std::uint32_t kind = 0;  // AGENTD_ACT_; 0 = none
  std::string_view needs;  // one of these keys, separated by "|"; empty = no other key
};
std::span<const ActionWord> action_words();

// Reads the canonical answer object, which executables, webhooks, `do:` and recipes write: {action, reason, message,
// input, output, messages, replace_messages, summary, custom_instructions, strategy, keep_tokens, model,
// additional_context, system_message, permission, tools{enable,disable}, callback{recipe,args}, then: stop|continue},
// and Kodelet's legacy keys blocked, follow_up_messages. An absent key and null mean no answer; "" is an empty text.
Verdict interpret_canonical(std::uint32_t event, JsonView payload, JsonView answer);

// ---- whole files

// Reads another tool's settings file: {"hooks": {...}} of Claude Code or Gemini CLI (JSON), or a `hooks:` block of
// docker-agent (YAML, at the top or below agents.NAME). `prefix` begins the hooks' names ("claude"). kInvalid: the file
// is unreadable; "FILE:LINE:COLUMN: what" for syntax errors.
Result<DefinitionSet> read_settings(Dialect dialect, std::string_view text, std::string_view path,
                                    std::string_view prefix);
// The names of the dialects that have settings files: "claude", ...
std::vector<std::string> settings_dialects();
// Guesses from a file's name and content: settings.json below .claude or .gemini, YAML with a docker block.
std::optional<Dialect> guess_dialect(std::string_view path, std::string_view text);

}  // namespace agentd
