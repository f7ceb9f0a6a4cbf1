// SPDX-License-Identifier: Apache-2.0
#pragma once
// translator.h - the parts that each dialect provides, and what they share.
//
// A dialect is a few tables, facts and functions; dialect.cc selects them and does not look into them. Reading an
// output, reporting an unknown key and refusing an action that the event does not allow are implemented here once for
// all dialects.
//
// Threading: pure functions and values.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json.h"
#include "core/codec/yaml.h"
#include "core/dialects/answer.h"
#include "core/dialects/definition.h"
#include "core/dialects/dialect_traits.h"

namespace agentd {

// One event name of a dialect; an event's first row gives the outgoing name. event 0 = agentd has no counterpart.
struct EventName {
  std::string_view foreign;
  std::uint32_t event = 0;
};

struct Translator {
  DialectTraits traits{};
  std::span<const EventName> events{};            // empty = agentd's own names
  std::span<const ToolRow> tools{};               // the tools that agentd has, too
  std::span<const std::string_view> own_tools{};  // the names of all others
  McpForm mcp{};
  // The functions of dialect.h with these names; null = the dialect has none.
  std::string (*input)(const HookDefinition&, JsonView payload, const DialectContext&) = nullptr;
  std::string (*subject)(const HookDefinition&, JsonView payload) = nullptr;
  std::vector<std::string> (*environment)(const HookDefinition&, JsonView payload, const DialectContext&) = nullptr;
  Verdict (*interpret)(const HookDefinition&, JsonView payload, const RawAnswer&) = nullptr;
  Result<DefinitionSet> (*read_settings)(std::string_view text, std::string_view path,
                                         std::string_view prefix) = nullptr;
  // True if the YAML is its settings; null = its settings are JSON, or it has none.
  bool (*is_its_yaml)(const YamlNode& root) = nullptr;
  // matcher_rules() of dialect.h; null = agentd's for all events.
  MatcherRules (*matcher)(std::uint32_t event) = nullptr;
  // default_time() of dialect.h; null = agentd's own for all events.
  std::optional<Milliseconds> (*time)(std::uint32_t event) = nullptr;
  // may_rewrite() of dialect.h; null = at every event that has a text.
  bool (*rewrites)(const HookDefinition&) = nullptr;
};

// agentd_translator() and so on, each in its dialect's source.
#define AGENTD_DIALECT_TRANSLATOR(value, name) const Translator& name##_translator();
AGENTD_DIALECTS(AGENTD_DIALECT_TRANSLATOR)
#undef AGENTD_DIALECT_TRANSLATOR
const Translator& translator_of(Dialect dialect);
// True if a dialect with settings files has an event of this name that can be blocked.
bool is_a_gate_elsewhere(std::string_view event);

// ---- answers

// A hook's standard output (or a webhook's body) without white space at both ends and without a byte order mark.
struct ParsedOutput {
  enum class Kind {
    kEmpty,   // no output: no answer
    kObject,  // exactly one JSON object
    kText,    // valid text that does not begin with "{"
    kBroken,  // anything else; `problem` says why
  };
  Kind kind = Kind::kEmpty;
  std::optional<JsonDocument> object;
  std::string_view text;  // trimmed; borrows from the output
  // kBroken: one sentence. kText: set when an answer follows other text, such as a log line before the JSON object;
  // that must not pass for no answer.
  std::string problem;

  JsonView root() const { return object ? object->root() : JsonView(); }
};
ParsedOutput parse_output(std::string_view out, bool over_cap);

// "OWN: QUOTE", of which the first part is agentd's.
FailureText quoting(std::string own, std::string_view quote);
// That the output is a text: "its output must be one JSON object; it begins with ...".
FailureText not_one_object(const ParsedOutput& output);
// The failure in how a hook ended: a signal, the deadline, no start, a webhook's status other than 2xx. Exit codes are
// left to the dialect. Empty = it exited normally (or the webhook returned 2xx).
FailureText broken_end(const HookDefinition& hook, const RawAnswer& answer);
// The line of standard error that names the error: the last one that is not indented.
std::string telling_line(std::string_view error, std::size_t most = 200);
// "it exited with code 3: " and that line of standard error.
FailureText exit_sentence(const RawAnswer& answer);
// Standard error without white space at its ends, as valid UTF-8, at most `most` bytes.
std::string error_text(const RawAnswer& answer, std::size_t most = 16 * 1024);
std::string first_line(std::string_view text, std::size_t most = 200);

// Builds a verdict: every action goes through add(), which refuses actions that the event does not allow.
class VerdictMaker {
 public:
  explicit VerdictMaker(std::uint32_t event) : event_(event) {}

  std::uint32_t event() const { return event_; }
  std::string_view event_name() const;
  bool can(std::uint32_t kind) const;
  bool failed() const { return verdict_.failed; }
  bool empty() const { return verdict_.actions.empty(); }

  void warn(std::string sentence);
  // The first failure is kept; take() then drops all actions.
  void fail(FailureText why);
  void fail_by_deadline(FailureText why);
  // Records broken_end() as a failure; false = it ended normally.
  bool fails_by_end(const HookDefinition& hook, const RawAnswer& answer);

  // For a hook whose exit code reports a failure, after its output was read: refusals, questions and redactions are
  // kept, as in its own tool; permissions and changes are dropped. Without any of the former it is a failure. A guard
  // has failed in any case, which refuses too.
  void keep_refusals(const HookDefinition& hook, FailureText failure);

  // Returns false and warns that `what` has no effect if the event does not allow the action.
  bool add(Action action, std::string_view what);
  bool block(std::string_view reason, std::string_view what);
  bool stop_run(std::string_view reason, std::string_view what);
  bool go_on(std::string_view message, std::string_view what);  // CONTINUE
  bool context(std::string_view text, std::string_view what);   // "" adds nothing
  bool notice(std::string_view text, std::string_view what);    // SYSTEM_MESSAGE; "" adds nothing
  bool rewrite(std::string_view text, std::string_view what);   // the event's own text
  // A tool's input; one that cannot be applied blocks the call, since the hook wanted another than this.
  bool rewrite_input(const Result<std::string>& input, std::string_view what);
  bool set(std::uint32_t key, std::uint64_t number, std::string_view text, std::string_view what);
  bool permission(std::uint32_t decision, std::string_view reason, bool remember, std::string_view what);

  // With `strict_output` the first warning becomes the failure.
  Verdict take(const HookDefinition& hook);
  Verdict take();

 private:
  std::uint32_t event_;
  Verdict verdict_;
};

// Reads one object of an answer. A key is read in both spellings (additionalContext, additional_context); null is
// absent; a wrong type fails the verdict. blame_unknown() warns of every key that was never asked for and suggests the
// nearest one, so ask for every key that the dialect knows, whatever the event.
class AnswerKeys {
 public:
  // `where` begins the names in messages: "" for the answer itself, "hookSpecificOutput." for an inner object.
  AnswerKeys(JsonView object, std::string where, VerdictMaker& verdict)
      : object_(object), where_(std::move(where)), verdict_(verdict) {}

  JsonView get(std::string_view key);  // absent when null
  bool has(std::string_view key) { return get(key).exists(); }
  std::optional<std::string> text(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::uint64_t> count(std::string_view key);  // a non-negative integer
  JsonView object(std::string_view key);
  JsonView array(std::string_view key);
  // Accepts these keys without reading them: other versions of the tool may write them.
  void ignore(std::initializer_list<std::string_view> keys);
  // Warns if one of these keys is present: the dialect knows it and agentd cannot honour it.
  void cannot(std::initializer_list<std::string_view> keys);
  void blame_unknown();
  std::string name(std::string_view key) const { return where_ + std::string(key); }

 private:
  void wrong_type(std::string_view key, std::string_view wanted, JsonView got);

  JsonView object_;
  std::string where_;
  VerdictMaker& verdict_;
  std::vector<std::string> asked_;
};

// ---- helpers

std::string_view trimmed(std::string_view text);
// additionalContext <-> additional_context.
std::string snake_case(std::string_view camel);
std::string camel_case(std::string_view snake);
// The nearest of `names` of which `word` may be a misspelling; empty = none.
std::string nearest_of(std::string_view word, const std::vector<std::string>& names);
std::string one_of(const std::vector<std::string>& words);  // "a, b or c"
std::string in_quotes(std::string_view name);               // 'name'
// "an object", "a text"... for a JSON value.
std::string_view type_name(JsonView value);
// AGENTD_PERMISSION_ for allow, approve, deny, block, ask, defer; 0 = unknown word.
std::uint32_t permission_of(std::string_view word);
// The hook's event as its dialect names it.
std::string event_label(const HookDefinition& hook);
// The payload's tool name, or empty.
std::string_view tool_of(JsonView payload);
JsonView tool_input_of(JsonView payload);
bool is_tool_event(std::uint32_t event);
// The end of an agent or of a subagent.
bool is_stop_event(std::uint32_t event);
// For a hook that blocks without a reason.
std::string default_block_reason(const HookDefinition& hook);
// True for a call of edit_file with a list of edits and without an edit next to it, which the tool refuses.
bool has_edit_list(JsonView payload);
// AGENTD_STRATEGY_ for full, tail, users, default.
std::optional<std::uint32_t> strategy_of(std::string_view name);
// `base` with the members of `patch` replacing or adding to its own (one level deep): compact JSON.
std::string merged_object(JsonView base, JsonView patch);
// A tool's rewritten input in agentd's keys, from the dialect's: complete, or as a patch over the payload's. Compact
// JSON. kInvalid: it cannot be applied to the call as it is, and running that would ignore the hook.
Result<std::string> rewritten_input(Dialect dialect, JsonView payload, JsonView input, bool patch);

}  // namespace agentd
