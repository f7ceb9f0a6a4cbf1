// SPDX-License-Identifier: Apache-2.0
#pragma once
// settings_groups.h - {"EVENT": [{matcher, hooks: [handler]}]}: the shape that Claude Code and
// Gemini CLI share, read with a sentence and a line for everything that is wrong with it.
//
// What cannot be read is left out and reported; what stands beside it is read all the same.
//
// Threading: thread-compatible.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dialects/dialect.h"
#include "core/dialects/json_places.h"

namespace agentd {

class SettingsGroups {
 public:
  SettingsGroups(Dialect dialect, std::string_view json, std::string_view path, std::string_view prefix)
      : dialect_(dialect), places_(json), path_(path), prefix_(prefix) {}
  virtual ~SettingsGroups() = default;

  // `no_events` are keys that stand beside the events.
  void read(JsonView hooks, std::initializer_list<std::string_view> no_events);
  DefinitionSet take() { return std::move(set_); }

 protected:
  // Fills a definition that has name, path, line, dialect, event and matcher; false = left out
  // (said by problem() or mistake()). `at` is the handler's path for these.
  virtual bool fill(HookDefinition& hook, JsonView handler, const std::string& at) = 0;
  virtual MatcherRules rules(std::uint32_t event) const = 0;
  // Keys of a group beside matcher and hooks.
  virtual std::vector<std::string> group_keys() const { return {}; }

  // What agentd does not have, or reads past.
  void problem(const std::string& at, const std::string& sentence);
  // What keeps the hook from deciding what its author means.
  void mistake(const HookDefinition& hook, const std::string& at, const std::string& sentence);
  // Of the file beside its hooks.
  void file_problem(const std::string& sentence);
  // A member of the right type; nothing (and a problem) for a wrong one.
  std::optional<std::string> text(JsonView object, std::string_view key, const std::string& at);
  std::optional<bool> boolean(JsonView object, std::string_view key, const std::string& at);
  std::optional<double> positive(JsonView object, std::string_view key, const std::string& at);
  // Pairs of an object of texts.
  std::vector<std::pair<std::string, std::string>> pairs(JsonView object, std::string_view key, const std::string& at);
  std::vector<std::string> texts(JsonView object, std::string_view key, const std::string& at);
  // A problem for each key that is not in `known`; the handler is used all the same. One that was to say what
  // becomes of the hook's failures is a mistake.
  void blame_unknown(JsonView object, const std::vector<std::string>& known, const std::string& at,
                     const HookDefinition* hook = nullptr);

  DefinitionSet& set() { return set_; }

 private:
  void read_event(std::string_view event, JsonView groups);
  void read_group(const HookDefinition& event, JsonView group, const std::string& at);
  // The dialect's event before a tool's call.
  std::string_view nearest_to_a_gate() const;
  // What every hook of the event has; its name is the event's.
  HookDefinition base_of(std::string_view event, std::uint32_t id) const;

  Dialect dialect_;
  JsonPlaces places_;
  std::string path_, prefix_;
  int number_ = 0;  // of the handler within its event
  DefinitionSet set_;
};

}  // namespace agentd
