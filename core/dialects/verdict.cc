// SPDX-License-Identifier: Apache-2.0
// verdict.cc - VerdictMaker and AnswerKeys.
#include <algorithm>

#include "core/base/bytes.h"
#include "core/dialects/dialect.h"
#include "core/dialects/translator.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

Action text_action(std::uint32_t kind, std::string_view text) {
  Action action;
  action.kind = kind;
  action.text = std::string(text);
  return action;
}

}  // namespace

std::string_view VerdictMaker::event_name() const {
  const EventTraits* const traits = find_event(event_);
  return traits == nullptr ? std::string_view("this event") : traits->name;
}

bool VerdictMaker::can(std::uint32_t kind) const { return is_legal(event_, kind); }

void VerdictMaker::warn(std::string sentence) { verdict_.warnings.push_back(std::move(sentence)); }

void VerdictMaker::fail(FailureText why) {
  if (verdict_.failed) return;
  verdict_.failed = true;
  verdict_.failure = std::move(why);
}

void VerdictMaker::fail_by_deadline(FailureText why) {
  if (!verdict_.failed) verdict_.timed_out = true;
  fail(std::move(why));
}

bool VerdictMaker::fails_by_end(const HookDefinition& hook, const RawAnswer& answer) {
  FailureText why = broken_end(hook, answer);
  if (why.empty()) return false;
  if (answer.end == RawAnswer::End::kTimedOut)
    fail_by_deadline(std::move(why));
  else
    fail(std::move(why));
  return true;
}

bool VerdictMaker::add(Action action, std::string_view what) {
  const bool legal = can(action.kind) && (action.kind != AGENTD_ACT_SET || is_legal_key(event_, action.target));
  if (legal)
    verdict_.actions.push_back(std::move(action));
  else
    warn(std::string(what) + " has no effect at " + std::string(event_name()) + " and was ignored");
  return legal;
}

bool VerdictMaker::block(std::string_view reason, std::string_view what) {
  return add(text_action(AGENTD_ACT_BLOCK, reason), what);
}

bool VerdictMaker::stop_run(std::string_view reason, std::string_view what) {
  return add(text_action(AGENTD_ACT_STOP_RUN, reason), what);
}

bool VerdictMaker::go_on(std::string_view message, std::string_view what) {
  return add(text_action(AGENTD_ACT_CONTINUE, message), what);
}

bool VerdictMaker::context(std::string_view text, std::string_view what) {
  return text.empty() || add(text_action(AGENTD_ACT_INJECT_CONTEXT, text), what);
}

bool VerdictMaker::notice(std::string_view text, std::string_view what) {
  return text.empty() || add(text_action(AGENTD_ACT_SYSTEM_MESSAGE, text), what);
}

bool VerdictMaker::rewrite(std::string_view text, std::string_view what) {
  Action action = text_action(AGENTD_ACT_REPLACE_TEXT, text);
  const EventTraits* const traits = find_event(event_);
  action.target = traits == nullptr ? AGENTD_TEXT_DEFAULT : traits->text_target;
  return add(std::move(action), what);
}

bool VerdictMaker::rewrite_input(const Result<std::string>& input, std::string_view what) {
  return input ? rewrite(*input, what)
               : block(std::string(what) + " cannot be applied: " + input.error().message, what);
}

bool VerdictMaker::set(std::uint32_t key, std::uint64_t number, std::string_view text, std::string_view what) {
  Action action = text_action(AGENTD_ACT_SET, text);
  action.target = key;
  action.number = number;
  return add(std::move(action), what);
}

bool VerdictMaker::permission(std::uint32_t decision, std::string_view reason, bool remember, std::string_view what) {
  Action action = text_action(AGENTD_ACT_PERMISSION, reason);
  action.code = decision;
  action.remember = remember ? 1 : 0;
  return add(std::move(action), what);
}

void VerdictMaker::keep_refusals(const HookDefinition& hook, FailureText failure) {
  const EventTraits* const traits = find_event(event_);
  const bool blocking = traits != nullptr && traits->blocking;
  const auto refuses = [&](const Action& action) {
    if (action.kind == AGENTD_ACT_PERMISSION) return action.code != AGENTD_PERMISSION_ALLOW;
    if (action.kind == AGENTD_ACT_REPLACE_TEXT) return !blocking;
    return action.kind == AGENTD_ACT_BLOCK || action.kind == AGENTD_ACT_STOP_RUN || action.kind == AGENTD_ACT_CONTINUE;
  };
  std::vector<Action>& actions = verdict_.actions;
  if (is_guard(hook) || verdict_.failed || std::none_of(actions.begin(), actions.end(), refuses)) {
    verdict_ = Verdict{};
    return fail(std::move(failure));
  }
  std::erase_if(actions, [&](const Action& action) {
    const bool loosens = action.kind == AGENTD_ACT_PERMISSION || action.kind == AGENTD_ACT_REPLACE_TEXT;
    return loosens && !refuses(action);
  });
  warn(std::move(failure.text));
}

Verdict VerdictMaker::take(const HookDefinition& hook) {
  if (hook.strict_output && !verdict_.warnings.empty())
    fail(quoting("its output is not strict", verdict_.warnings.front()));
  return take();
}

Verdict VerdictMaker::take() {
  if (verdict_.failed) verdict_.actions.clear();
  return std::move(verdict_);
}

// ---- AnswerKeys

JsonView AnswerKeys::get(std::string_view key) {
  asked_.emplace_back(key);
  if (!object_.is_object()) return {};
  for (const std::string& spelling : {std::string(key), snake_case(key), camel_case(key)}) {
    const JsonView value = object_[spelling];
    if (value.exists()) return value.is_null() ? JsonView() : value;
  }
  return {};
}

void AnswerKeys::wrong_type(std::string_view key, std::string_view wanted, JsonView got) {
  verdict_.fail("the key '" + name(key) + "' must be " + std::string(wanted) + ", not " + std::string(type_name(got)));
}

std::optional<std::string> AnswerKeys::text(std::string_view key) {
  const JsonView value = get(key);
  if (!value.exists()) return std::nullopt;
  if (value.is_string()) return std::string(value.string_or(""));
  wrong_type(key, "a text", value);
  return std::nullopt;
}

std::optional<bool> AnswerKeys::boolean(std::string_view key) {
  const JsonView value = get(key);
  if (!value.exists()) return std::nullopt;
  if (value.is_bool()) return value.bool_or(false);
  wrong_type(key, "true or false", value);
  return std::nullopt;
}

std::optional<std::uint64_t> AnswerKeys::count(std::string_view key) {
  const JsonView value = get(key);
  if (!value.exists()) return std::nullopt;
  // UINT64_MAX is not a real count: it means "not a count".
  const std::uint64_t number = value.uint_or(UINT64_MAX);
  if (value.is_number() && number != UINT64_MAX) return number;
  verdict_.fail("the key '" + name(key) + "' must be a whole number, 0 or more");
  return std::nullopt;
}

JsonView AnswerKeys::object(std::string_view key) {
  const JsonView value = get(key);
  if (!value.exists() || value.is_object()) return value;
  wrong_type(key, "an object", value);
  return {};
}

JsonView AnswerKeys::array(std::string_view key) {
  const JsonView value = get(key);
  if (!value.exists() || value.is_array()) return value;
  wrong_type(key, "a list", value);
  return {};
}

void AnswerKeys::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) asked_.emplace_back(key);
}

void AnswerKeys::cannot(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (get(key).exists()) verdict_.warn("agentd cannot honour '" + name(key) + "'; it was ignored");
}

void AnswerKeys::blame_unknown() {
  if (!object_.is_object()) return;
  for (std::size_t i = 0; i < object_.size(); ++i) {
    const std::string_view key = object_.key_at(i);
    const auto same = [&](const std::string& asked) {
      return asked == key || snake_case(asked) == key || camel_case(asked) == key;
    };
    if (std::any_of(asked_.begin(), asked_.end(), same)) continue;
    std::string near = nearest_of(key, asked_);
    if (near.empty()) near = nearest_of(camel_case(key), asked_);
    verdict_.warn("unknown key '" + one_line(name(key), 80) + "' was ignored" +
                  (near.empty() ? "" : ": did you mean '" + name(near) + "'?"));
  }
}

}  // namespace agentd
