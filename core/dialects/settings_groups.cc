// SPDX-License-Identifier: Apache-2.0
#include "core/dialects/settings_groups.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/dialects/dialect.h"
#include "core/dialects/translator.h"
#include "core/hooks/contract.h"

namespace agentd {
namespace {

constexpr std::string_view kRoot = "/hooks";

std::string step(const std::string& at, std::string_view key) { return at + "/" + std::string(key); }

std::vector<std::string> event_names(const Translator& translator) {
  std::vector<std::string> names;
  for (const EventName& each : translator.events) names.emplace_back(each.foreign);
  return names;
}

// True for an event of agentd or of another tool that can be blocked.
bool is_anothers(std::string_view event) {
  const EventTraits* const ours = find_event(event);
  return is_a_gate_elsewhere(event) || (ours != nullptr && fails_closed(*ours));
}

}  // namespace

std::string_view SettingsGroups::nearest_to_a_gate() const {
  return foreign_event(dialect_, AGENTD_EVENT_BEFORE_TOOL_CALL);
}

void SettingsGroups::problem(const std::string& at, const std::string& sentence) {
  set_.problems.push_back(path_ + ":" + std::to_string(places_.line(at)) + ": " + sentence);
}

void SettingsGroups::file_problem(const std::string& sentence) { set_.problems.push_back(path_ + ": " + sentence); }

void SettingsGroups::read(JsonView hooks, std::initializer_list<std::string_view> no_events) {
  if (!hooks.exists() || hooks.is_null()) return;
  // Where the event is unknown, assume the worst: something was to be blocked.
  const HookDefinition any = base_of(nearest_to_a_gate(), AGENTD_EVENT_BEFORE_TOOL_CALL);
  if (!hooks.is_object())
    return mistake(any, std::string(kRoot),
                   "'hooks' must be an object of events, not " + std::string(type_name(hooks)));
  if (const std::string& twice = places_.twice(); twice.starts_with(kRoot))
    mistake(any, twice,
            "the key " + in_quotes(std::string_view(twice).substr(twice.rfind('/') + 1)) +
                " is repeated in one object, and programs differ in which of the two they use: remove one");
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const std::string_view event = hooks.key_at(i);
    if (std::find(no_events.begin(), no_events.end(), event) == no_events.end()) read_event(event, hooks.at(i));
  }
}

void SettingsGroups::mistake(const HookDefinition& hook, const std::string& at, const std::string& sentence) {
  blame(set_, hook.name, hook.event, path_ + ":" + std::to_string(places_.line(at)) + ": " + sentence);
}

HookDefinition SettingsGroups::base_of(std::string_view event, std::uint32_t id) const {
  HookDefinition hook;
  hook.name = prefix_ + "/" + std::string(event);
  hook.path = path_;
  hook.dialect = dialect_;
  hook.event = id;
  hook.foreign_event = std::string(event);
  return hook;
}

void SettingsGroups::read_event(std::string_view event, JsonView groups) {
  const Translator& translator = translator_of(dialect_);
  const std::string at = step(std::string(kRoot), event);
  const auto find = [&](std::string_view name) {
    return std::find_if(translator.events.begin(), translator.events.end(),
                        [&](const EventName& each) { return each.foreign == name; });
  };
  const auto known = find(event);
  if (known == translator.events.end()) {
    const std::string near = nearest_of(event, event_names(translator));
    if (near.empty() && is_anothers(event))
      return mistake(
          base_of(event, AGENTD_EVENT_BEFORE_TOOL_CALL), at,
          "unknown event " + in_quotes(event) + ": it is another tool's: name the dialect of these settings");
    if (near.empty()) return problem(at, "unknown event " + in_quotes(event));
    return mistake(base_of(event, find(near)->event), at,
                   "unknown event " + in_quotes(event) + ": did you mean '" + near + "'?");
  }
  if (groups.is_array() && groups.size() == 0) return;
  if (known->event == 0)
    return problem(at, "agentd has no event like " + in_quotes(event) + "; its hooks are left out");
  const HookDefinition base = base_of(event, known->event);
  if (!groups.is_array())
    return mistake(base, at, in_quotes(event) + " must be a list of groups, not " + std::string(type_name(groups)));
  number_ = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) read_group(base, groups.at(i), step(at, std::to_string(i)));
}

void SettingsGroups::read_group(const HookDefinition& event, JsonView group, const std::string& at) {
  const std::string name = in_quotes(event.foreign_event);
  if (!group.is_object())
    return mistake(event, at, "a group of " + name + " must be an object, not " + std::string(type_name(group)));
  const JsonView handlers = group["hooks"];
  if (!handlers.is_array())
    return mistake(event, at,
                   group["command"].exists() ? "a handler must be in the list 'hooks' of a group"
                                             : "a group of " + name + " needs a list 'hooks'");
  std::vector<std::string> known = group_keys();
  known.insert(known.end(), {"matcher", "hooks"});
  blame_unknown(group, known, at);
  const JsonView wanted = group["matcher"];
  if (wanted.exists() && !wanted.is_null() && !wanted.is_string())
    return mistake(event, step(at, "matcher"), "'matcher' must be a text, not " + std::string(type_name(wanted)));
  auto matcher = Matcher::parse(wanted.string_or(""), matcher_rules(dialect_, event.event));
  if (!matcher)
    return mistake(event, step(at, "matcher"),
                   "the matcher cannot be read, its hooks are left out: " + matcher.error().message);
  for (std::size_t i = 0; i < handlers.size(); ++i) {
    const std::string place = step(step(at, "hooks"), std::to_string(i));
    HookDefinition hook = event;
    hook.name += "." + std::to_string(++number_);
    hook.line = places_.line(place);
    hook.matcher = *matcher;
    if (!handlers.at(i).is_object())
      mistake(hook, place, "a handler must be an object, not " + std::string(type_name(handlers.at(i))));
    else if (fill(hook, handlers.at(i), place))
      set_.hooks.push_back(std::move(hook));
  }
}

// ---- members

std::optional<std::string> SettingsGroups::text(JsonView object, std::string_view key, const std::string& at) {
  const JsonView value = object[key];
  if (!value.exists() || value.is_null()) return std::nullopt;
  if (value.is_string()) return std::string(value.string_or(""));
  problem(step(at, key), in_quotes(key) + " must be a text, not " + std::string(type_name(value)));
  return std::nullopt;
}

std::optional<bool> SettingsGroups::boolean(JsonView object, std::string_view key, const std::string& at) {
  const JsonView value = object[key];
  if (!value.exists() || value.is_null()) return std::nullopt;
  if (value.is_bool()) return value.bool_or(false);
  problem(step(at, key), in_quotes(key) + " must be true or false, not " + std::string(type_name(value)));
  return std::nullopt;
}

bool SettingsGroups::wants_sandbox(JsonView handler, const std::string& at) {
  const JsonView said = handler["sandbox"];
  return said.exists() && !said.is_null() && boolean(handler, "sandbox", at).value_or(true);
}

std::optional<double> SettingsGroups::positive(JsonView object, std::string_view key, const std::string& at) {
  constexpr double kMost = 1e9;
  const JsonView value = object[key];
  if (!value.exists() || value.is_null()) return std::nullopt;
  const double number = value.number_or(0);
  if (value.is_number() && number > 0 && number < kMost) return number;
  problem(step(at, key), in_quotes(key) + " must be a number above 0; it is ignored");
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> SettingsGroups::pairs(JsonView object, std::string_view key,
                                                                       const std::string& at) {
  std::vector<std::pair<std::string, std::string>> out;
  const JsonView value = object[key];
  if (!value.exists() || value.is_null()) return out;
  bool good = value.is_object();
  for (std::size_t i = 0; good && i < value.size(); ++i) {
    good = value.at(i).is_string();
    out.emplace_back(value.key_at(i), value.at(i).string_or(""));
  }
  if (good) return out;
  problem(step(at, key), in_quotes(key) + " must be an object of texts; it is ignored");
  return {};
}

std::vector<std::string> SettingsGroups::texts(JsonView object, std::string_view key, const std::string& at) {
  std::vector<std::string> out;
  const JsonView value = object[key];
  if (!value.exists() || value.is_null()) return out;
  bool good = value.is_array();
  for (std::size_t i = 0; good && i < value.size(); ++i) {
    good = value.at(i).is_string();
    out.emplace_back(value.at(i).string_or(""));
  }
  if (good) return out;
  problem(step(at, key), in_quotes(key) + " must be a list of texts; it is ignored");
  return {};
}

void SettingsGroups::blame_unknown(JsonView object, const std::vector<std::string>& known, const std::string& at,
                                   const HookDefinition* hook) {
  for (std::size_t i = 0; i < object.size(); ++i) {
    const std::string_view key = object.key_at(i);
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string near = nearest_of(key, known);
    const std::string sentence =
        "unknown key " + in_quotes(key) + " is ignored" + (near.empty() ? "" : ": did you mean '" + near + "'?");
    if (hook != nullptr && near == "onFailure")
      mistake(*hook, step(at, key), sentence);
    else
      problem(step(at, key), sentence);
    if (near.empty()) set_.unknown_keys.push_back({std::string(key), set_.problems.back()});
  }
}

}  // namespace agentd
