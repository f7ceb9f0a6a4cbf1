// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/dialect.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>

#include "core/dialects/translator.h"
#include "core/hooks/contract.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

constexpr std::array kDialects{
#define AGENTD_DIALECT_VALUE(value, name) Dialect::value,
    AGENTD_DIALECTS(AGENTD_DIALECT_VALUE)
#undef AGENTD_DIALECT_VALUE
};

}  // namespace

std::span<const Dialect> all_dialects() { return kDialects; }

std::string_view name_of(Dialect dialect) {
  switch (dialect) {
#define AGENTD_DIALECT_NAME(value, name) \
  case Dialect::value:                   \
    return #name;
    AGENTD_DIALECTS(AGENTD_DIALECT_NAME)
#undef AGENTD_DIALECT_NAME
  }
  return "agentd";
}

const Translator& translator_of(Dialect dialect) {
  switch (dialect) {
#define AGENTD_DIALECT_TRANSLATOR(value, name) \
  case Dialect::value:                         \
    return name##_translator();
    AGENTD_DIALECTS(AGENTD_DIALECT_TRANSLATOR)
#undef AGENTD_DIALECT_TRANSLATOR
  }
  return agentd_translator();
}

std::optional<Dialect> find_dialect(std::string_view name) {
  for (const Dialect each : kDialects)
    if (name_of(each) == name) return each;
  return std::nullopt;
}

std::string dialect_names() {
  std::string names;
  for (const Dialect each : kDialects) (names += names.empty() ? "" : ", ") += name_of(each);
  return names;
}

std::vector<std::string> settings_dialects() {
  std::vector<std::string> names;
  for (const Dialect each : kDialects)
    if (translator_of(each).read_settings != nullptr) names.emplace_back(name_of(each));
  return names;
}

bool is_a_gate_elsewhere(std::string_view event) {
  return std::any_of(kDialects.begin(), kDialects.end(), [&](Dialect each) {
    const EventTraits* const traits = find_event(canonical_event(each, event));
    return translator_of(each).read_settings != nullptr && traits != nullptr && fails_closed(*traits);
  });
}

const DialectTraits& traits_of(Dialect dialect) { return translator_of(dialect).traits; }

MatcherRules matcher_rules(Dialect dialect, std::uint32_t event) {
  const auto rules = translator_of(dialect).matcher;
  return rules == nullptr ? MatcherRules::kAgentd : rules(event);
}

std::string shell_of(Dialect dialect) {
  if (!traits_of(dialect).bash) return "/bin/sh";
  for (const char* const bash : {"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"})
    if (::access(bash, X_OK) == 0) return bash;
  return "/bin/sh";
}

std::uint32_t canonical_event(Dialect dialect, std::string_view foreign) {
  const Translator& translator = translator_of(dialect);
  for (const EventName& each : translator.events)
    if (each.foreign == foreign) return each.event;
  if (!translator.events.empty()) return 0;
  const EventTraits* const traits = find_event(foreign);
  return traits == nullptr ? 0 : traits->id;
}

std::string_view foreign_event(Dialect dialect, std::uint32_t event) {
  const Translator& translator = translator_of(dialect);
  for (const EventName& each : translator.events)
    if (each.event == event && event != 0) return each.foreign;
  const EventTraits* const traits = find_event(event);
  return !translator.events.empty() || traits == nullptr ? std::string_view() : traits->name;
}

std::optional<Milliseconds> default_time(Dialect dialect, std::uint32_t event) {
  const auto time = translator_of(dialect).time;
  if (time == nullptr || event == AGENTD_EVENT_SESSION_END) return std::nullopt;
  return time(event);
}

std::string dialect_input(const HookDefinition& hook, JsonView payload, const DialectContext& context) {
  return translator_of(hook.dialect).input(hook, payload, context);
}

std::vector<std::string> matcher_subjects(const HookDefinition& hook, JsonView payload) {
  const auto subject_of = translator_of(hook.dialect).subject;
  const std::string subject = subject_of == nullptr ? std::string() : subject_of(hook, payload);
  if (subject.empty()) return {};
  if (!is_tool_event(hook.event)) return {subject};
  std::vector<std::string> out{subject};
  for (std::string& each : foreign_tools(hook.dialect, tool_of(payload)))
    if (each != subject) out.push_back(std::move(each));
  if (has_edit_list(payload))
    for (std::string& each : foreign_tools(hook.dialect, "multi_edit"))
      if (each != subject) out.push_back(std::move(each));
  return out;
}

std::vector<std::string> dialect_environment(const HookDefinition& hook, JsonView payload,
                                             const DialectContext& context) {
  const auto environment = translator_of(hook.dialect).environment;
  if (environment == nullptr) return {};
  return environment(hook, payload, context);
}

namespace {

bool has_any(JsonView object, std::initializer_list<std::string_view> keys) {
  return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
    const JsonView value = object[key];
    return value.exists() && !value.is_null() && !value.string_or("x").empty();
  });
}

// True if the answer has a reason but no decision.
bool gives_reason_alone(JsonView answer) {
  bool reason = false, decision = false;
  for (const JsonView object : {answer, answer["hookSpecificOutput"], answer["hook_specific_output"]}) {
    reason = reason || has_any(object, {"reason", "stopReason", "stop_reason", "permissionDecisionReason",
                                        "permission_decision_reason"});
    decision = decision || has_any(object, {"action", "blocked", "permission", "decision", "continue",
                                            "permissionDecision", "permission_decision"});
  }
  return reason && !decision;
}

}  // namespace

// A guard whose only answer is not understood has not agreed, even where its own tool would let the call pass.
Verdict interpret(const HookDefinition& hook, JsonView payload, const RawAnswer& answer) {
  Verdict verdict = translator_of(hook.dialect).interpret(hook, payload, answer);
  // System messages and injected context are not decisions.
  const bool decides = std::any_of(verdict.actions.begin(), verdict.actions.end(), [](const Action& action) {
    return action.kind != AGENTD_ACT_SYSTEM_MESSAGE && action.kind != AGENTD_ACT_INJECT_CONTEXT;
  });
  if (!is_guard(hook) || verdict.failed || decides) return verdict;
  std::string why;
  if (!verdict.warnings.empty()) {
    why = verdict.warnings.front();
  } else if (const ParsedOutput output = parse_output(answer.out, answer.out_over_cap);
             output.kind == ParsedOutput::Kind::kText || output.kind == ParsedOutput::Kind::kBroken) {
    why = output.problem.empty() ? "it begins with '" + first_line(output.text, 80) + "'" : output.problem;
  } else if (output.kind == ParsedOutput::Kind::kObject && gives_reason_alone(output.root())) {
    why = "it gives a reason but no decision";
  } else {
    return verdict;
  }
  verdict.failed = true;
  verdict.actions.clear();
  verdict.failure = quoting("its output was not understood", why);
  return verdict;
}

namespace {

// nullopt: the hook's answer is not known before it gives it.
template <typename Is>
std::optional<bool> always_answers(const HookDefinition& hook, const Is& is) {
  if (hook.runs != HookRuns::kAction) return std::nullopt;
  const auto answer = JsonDocument::parse(hook.action_json);
  if (!answer) return std::nullopt;
  const Verdict verdict = interpret_canonical(hook.event, {}, answer->root());
  return std::any_of(verdict.actions.begin(), verdict.actions.end(), is);
}

}  // namespace

bool may_rewrite(const HookDefinition& hook) {
  const auto is_rewrite = [](const Action& action) { return action.kind == AGENTD_ACT_REPLACE_TEXT; };
  if (const auto known = always_answers(hook, is_rewrite)) return *known;
  const auto rewrites = translator_of(hook.dialect).rewrites;
  return rewrites == nullptr || rewrites(hook);
}

bool may_refuse(const HookDefinition& hook) {
  return always_answers(hook,
                        [](const Action& action) {
                          return action.kind == AGENTD_ACT_BLOCK || action.kind == AGENTD_ACT_STOP_RUN ||
                                 (action.kind == AGENTD_ACT_PERMISSION && action.code != AGENTD_PERMISSION_ALLOW);
                        })
      .value_or(true);
}

void blame(DefinitionSet& set, std::string hook, std::uint32_t event, std::string sentence) {
  const EventTraits* const traits = find_event(event);
  if (traits != nullptr && fails_closed(*traits)) set.mistakes.push_back({std::move(hook), event, sentence});
  set.problems.push_back(std::move(sentence));
}

Result<DefinitionSet> read_settings(Dialect dialect, std::string_view text, std::string_view path,
                                    std::string_view prefix) {
  const auto read = translator_of(dialect).read_settings;
  if (read != nullptr) return read(text, path, prefix);
  return Error{Code::kInvalid, std::string(path) + ": the dialect " + std::string(name_of(dialect)) +
                                   " has no settings file with hooks; use " + one_of(settings_dialects())};
}

}  // namespace agentd
