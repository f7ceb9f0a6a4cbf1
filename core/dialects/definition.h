// SPDX-License-Identifier: Apache-2.0
#pragma once
// definition.h - one hook that is not a native module, as data: its event, conditions and action.
//
// Every source ends here: an executable file, an entry of a YAML file, a handler of another tool's settings. From here
// on all are matched, run, traced and trusted alike.
//
// Threading: values.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/dialects/expression.h"
#include "core/dialects/matcher.h"
#include "core/hooks/dispatcher.h"

namespace agentd {

// Every dialect: its value, its name. dialect.cc makes the rest of a row from `NAME_translator()`, which the dialect's
// own source defines (translator.h).
#define AGENTD_DIALECTS(X) \
  X(kAgentd, agentd)       \
  X(kKodelet, kodelet)     \
  X(kClaude, claude)       \
  X(kDocker, docker)       \
  X(kGemini, gemini)

// The protocol that a hook speaks: its stdin object, exit codes, time units, tool names, argument keys.
enum class Dialect : std::uint8_t {
#define AGENTD_DIALECT_VALUE(value, name) value,
  AGENTD_DIALECTS(AGENTD_DIALECT_VALUE)
#undef AGENTD_DIALECT_VALUE
};
std::span<const Dialect> all_dialects();
std::string_view name_of(Dialect dialect);  // "claude"
std::optional<Dialect> find_dialect(std::string_view name);
std::string dialect_names();  // "agentd, kodelet, ..."

// How the hook answers.
enum class HookRuns : std::uint8_t {
  kFile,       // the file itself, `FILE run`, from a sealed copy of its bytes
  kShell,      // `command` by a shell: bash for dialects written for bash, else /bin/sh
  kArgv,       // `argv` without a shell
  kWebhook,    // POST to `url`
  kAction,     // runs nothing: `action_json` is the answer
  kExtension,  // `argv` stays alive and speaks Kodelet's JSON-RPC
};

enum class HookOnce : std::uint8_t { kAlways, kRun, kConversation };

struct HookDefinition {
  std::string name;    // qualified and unique: "smart_compact", "project/guard", "claude/app-3fa9c1/PreToolUse.1"
  std::string file{};  // the name by which hooks.NAME addresses all hooks of that file
  std::string path;    // the file that defines it, or that is the hook
  int line = 0;        // line in that file; 0 = not at one line
  Precedence precedence = Precedence::kUser;
  Dialect dialect = Dialect::kAgentd;

  std::uint32_t event = 0;    // AGENTD_EVENT_
  std::string foreign_event;  // the dialect's name for the event, "PreToolUse"; empty = agentd's
  Matcher matcher;            // matched against the dialect's subject: tool name, source, trigger
  std::string if_rule;        // claude: "Bash(git *)"; empty = none
  Expression when;            // over the canonical payload; empty = true

  HookRuns runs = HookRuns::kShell;
  std::string command;                                       // kShell
  std::vector<std::string> argv;                             // kArgv, kExtension
  std::string url;                                           // kWebhook
  std::vector<std::pair<std::string, std::string>> headers;  // ${NAME} only for names in allowed_environment
  std::vector<std::string> allowed_environment;
  std::string action_json;                                       // kAction: the canonical answer, one JSON object
  std::vector<std::pair<std::string, std::string>> environment;  // in addition to the clean environment
  std::string working_directory;                                 // empty = the session's
  bool sandbox = false;                                          // its program runs in the sandbox of commands
  std::string directory{};  // of files that may belong to it, which it can read in the sandbox; empty = none

  std::optional<Milliseconds> timeout;      // absent = the event's deadline
  std::optional<FailurePolicy> on_failure;  // absent = open, or closed for a guard
  bool guard = false;                       // it gates or redacts: fails closed unless on_failure says otherwise
  int priority = 0;
  HookOnce once = HookOnce::kAlways;
  bool async = false;     // an observer: the run does not wait for it
  bool observes = false;  // its answers are ignored
  bool shadow = false;    // shadow mode: the hook is called and traced, its answer is ignored
  bool strict_output = false;
  bool sequential = false;  // the dialect's tool calls the hooks of its file one after another
};

// True if the hook starts a program.
inline bool runs_program(const HookDefinition& hook) {
  return hook.runs != HookRuns::kWebhook && hook.runs != HookRuns::kAction;
}

inline bool is_guard(const HookDefinition& hook) {
  return hook.on_failure ? *hook.on_failure == FailurePolicy::kClosed : hook.guard;
}

// The kind shown to users: "executable", "yaml", "webhook", "extension", or the dialect's name.
std::string_view kind_name(const HookDefinition& hook);

// A mistake in a source at an event that can be blocked: read as it is, the source would refuse less than its author
// intends.
struct SourceMistake {
  std::string hook;     // the hook's name, or the event's name in the source where the mistake hides the hook
  std::uint32_t event;  // AGENTD_EVENT_
  std::string sentence;
};

// A key that the source's tool may know but agentd does not.
struct UnknownKey {
  std::string key, sentence;
};

struct DefinitionSet {
  std::vector<HookDefinition> hooks;
  std::vector<std::string> problems;     // unsupported or unknown parts; sentences with file:line
  std::vector<SourceMistake> mistakes;   // their sentences are also in `problems`
  std::vector<UnknownKey> unknown_keys;  // likewise; only keys that resemble no known key
};
// Adds the sentence to the problems, and to the mistakes if the event can be blocked (0 = no event).
void blame(DefinitionSet& set, std::string hook, std::uint32_t event, std::string sentence);

}  // namespace agentd
