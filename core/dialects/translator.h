// SPDX-License-Identifier: Apache-2.0
#pragma once
// translator.h - what each dialect brings (private to dialect.cc), and what they share.
//
// A dialect is a table of events and five functions; dialect.cc picks the table and never looks
// into it. What all of them do alike - to read an output, to blame a key, to refuse an action that
// the event does not know - is here, so that a trap is closed once and for all of them.
//
// Threading: pure functions and values.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json.h"
#include "core/dialects/dialect.h"

namespace agentd {

// One name of a dialect; the first row of an event is its name going out. event 0 = the dialect has
// this event and agentd has no counterpart.
struct EventName {
  std::string_view foreign;
  std::uint32_t event = 0;
};

struct Translator {
  Dialect dialect = Dialect::kAgentd;
  std::span<const EventName> events;  // empty = agentd's own names
  // All as the functions of dialect.h with those names; null = the dialect has none.
  std::string (*input)(const HookDefinition&, JsonView payload, const DialectContext&) = nullptr;
  std::string (*subject)(const HookDefinition&, JsonView payload) = nullptr;
  std::vector<std::string> (*environment)(const HookDefinition&, JsonView payload, const DialectContext&) = nullptr;
  Verdict (*interpret)(const HookDefinition&, JsonView payload, const RawAnswer&) = nullptr;
  Result<DefinitionSet> (*read_settings)(std::string_view text, std::string_view path,
                                         std::string_view prefix) = nullptr;
  // As default_time() of dialect.h; null = agentd's own for all events.
  std::optional<Milliseconds> (*time)(std::uint32_t event) = nullptr;
  // As may_rewrite() of dialect.h; null = at every event that has a text.
  bool (*rewrites)(const HookDefinition&) = nullptr;
};

const Translator& agentd_translator();   // canonical.cc
const Translator& claude_translator();   // claude.cc
const Translator& gemini_translator();   // gemini.cc
const Translator& docker_translator();   // docker.cc
const Translator& kodelet_translator();  // kodelet.cc
const Translator& translator_of(Dialect dialect);

// ---- what came back

// A hook's standard output (or a webhook's body); white space at both ends and a byte order mark
// are taken off.
struct ParsedOutput {
  enum class Kind {
    kEmpty,   // nothing at all: no opinion
    kObject,  // exactly one JSON object
    kText,    // valid text that does not begin with "{"
    kBroken,  // anything else; `problem` says what
  };
  Kind kind = Kind::kEmpty;
  std::optional<JsonDocument> object;
  std::string_view text;  // trimmed; borrows from the output
  // kBroken: one sentence. kText: set when an answer stands behind other text - a log line before
  // the JSON object, which must not pass for "no opinion".
  std::string problem;

  JsonView root() const { return object ? object->root() : JsonView(); }
};
ParsedOutput parse_output(std::string_view out, bool over_cap);

// How a hook ended, if that alone is a failure: a signal, the deadline, no start, a webhook's
// status other than 2xx. Exit codes are the dialect's. Empty = it ended by itself (or the webhook
// said 2xx).
std::string broken_end(const HookDefinition& hook, const RawAnswer& answer);
// The line of standard error that says what went wrong: the last one that is not indented.
std::string telling_line(std::string_view error, std::size_t most = 200);
// "it exited with code 3: " and the telling line of standard error.
std::string exit_sentence(const RawAnswer& answer);
// Standard error without white space at its ends, as valid UTF-8, at most `most` bytes.
std::string error_text(const RawAnswer& answer, std::size_t most = 16 * 1024);
std::string first_line(std::string_view text, std::size_t most = 200);

// A verdict while it is made: every action passes add(), which refuses what the event does not
// know.
class VerdictMaker {
 public:
  explicit VerdictMaker(std::uint32_t event) : event_(event) {}

  std::uint32_t event() const { return event_; }
  std::string_view event_name() const;
  bool can(std::uint32_t kind) const;
  bool failed() const { return verdict_.failed; }
  bool empty() const { return verdict_.actions.empty(); }

  void warn(std::string sentence);
  // The first failure stands; actions made so far or later are dropped by take().
  void fail(std::string sentence);
  void fail_by_deadline(std::string sentence);
  // broken_end() as a failure; false = it ended by itself.
  bool fails_by_end(const HookDefinition& hook, const RawAnswer& answer);

  // After the output of a hook was read whose exit code says that it failed: what it refuses, asks or hides stands, as
  // in its own tool, what it allows or changes does not, and without any of the former it is the failure. A guard has
  // failed in any case, which says no, too.
  void keep_refusals(const HookDefinition& hook, std::string failure);

  // False and a warning that `what` cannot be used here when the event does not know the action.
  bool add(Action action, std::string_view what);
  bool block(std::string_view reason, std::string_view what);
  bool stop_run(std::string_view reason, std::string_view what);
  bool go_on(std::string_view message, std::string_view what);  // CONTINUE
  bool context(std::string_view text, std::string_view what);   // "" adds nothing
  bool notice(std::string_view text, std::string_view what);    // SYSTEM_MESSAGE; "": nothing
  bool rewrite(std::string_view text, std::string_view what);   // the event's own text
  bool set(std::uint32_t key, std::uint64_t number, std::string_view text, std::string_view what);
  bool permission(std::uint32_t decision, std::string_view reason, bool remember, std::string_view what);

  // With `strict_output` the first warning is the failure.
  Verdict take(const HookDefinition& hook);
  Verdict take();

 private:
  std::uint32_t event_;
  Verdict verdict_;
};

// One object of an answer. A key is read in both spellings (additionalContext, additional_context);
// null is absent; a wrong type is a failure of the verdict. What was never asked for is blamed at
// the end, with the nearest key that was - so ask for every key that the dialect knows, whatever
// the event.
class AnswerKeys {
 public:
  // `where` begins sentences: "" for the answer itself, "hookSpecificOutput." for an inner object.
  AnswerKeys(JsonView object, std::string where, VerdictMaker& verdict)
      : object_(object), where_(std::move(where)), verdict_(verdict) {}

  JsonView get(std::string_view key);  // absent when null
  bool has(std::string_view key) { return get(key).exists(); }
  std::optional<std::string> text(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::uint64_t> count(std::string_view key);  // an integer that is not negative
  JsonView object(std::string_view key);
  JsonView array(std::string_view key);
  // Counts as known and is not read: what other versions of the tool may write.
  void ignore(std::initializer_list<std::string_view> keys);
  // Known to the dialect, and agentd cannot honour it: a warning when it is there.
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

// ---- small things

std::string_view trimmed(std::string_view text);
// additionalContext <-> additional_context.
std::string snake_case(std::string_view camel);
std::string camel_case(std::string_view snake);
// The nearest of `names` that `word` may be a slip of; empty = none.
std::string nearest_of(std::string_view word, const std::vector<std::string>& names);
std::string in_quotes(std::string_view name);  // 'name'
// "an object", "a string"... of a JSON value.
std::string_view type_name(JsonView value);
// AGENTD_PERMISSION_ of allow, approve, deny, block, ask; 0 = no such word.
std::uint32_t permission_of(std::string_view word);
// The hook's event as its dialect calls it.
std::string event_label(const HookDefinition& hook);
// The payload's tool, or empty.
std::string_view tool_of(JsonView payload);
JsonView tool_input_of(JsonView payload);
bool is_tool_event(std::uint32_t event);
// AGENTD_STRATEGY_ of full, tail, users, default.
std::optional<std::uint32_t> strategy_of(std::string_view name);
// The object with the members of `patch` put over those of `base` (one level deep): compact JSON.
std::string merged_object(JsonView base, JsonView patch);
// The rewritten input of a tool as the dialect wrote it, in agentd's keys: whole, or as a patch
// over the payload's (in the dialect's keys). Compact JSON.
std::string rewritten_input(Dialect dialect, JsonView payload, JsonView input, bool patch);

}  // namespace agentd
