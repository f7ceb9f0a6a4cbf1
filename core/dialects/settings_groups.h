// SPDX-License-Identifier: Apache-2.0
#pragma once
// settings_groups.h - reads {"EVENT": [{matcher, hooks: [handler]}]}, the form that Claude Code and Gemini CLI share,
// and reports each mistake as a sentence with its line.
//
// Unreadable parts are left out and reported; the rest is used.
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

  // `no_events` are keys next to the events that are not events.
  void read(JsonView hooks, std::initializer_list<std::string_view> no_events);
  DefinitionSet take() { return std::move(set_); }

 protected:
  // Fills a definition that already has name, path, line, dialect, event and matcher; false = left out, after a call of
  // problem() or mistake(). `at` is the handler's path for these.
  virtual bool fill(HookDefinition& hook, JsonView handler, const std::string& at) = 0;
  // Keys of a group other than matcher and hooks.
  virtual std::vector<std::string> group_keys() const { return {}; }

  // Reports something that agentd does not have or ignores.
  void problem(const std::string& at, const std::string& sentence);
  // Reports a mistake that keeps the hook from deciding as intended.
  void mistake(const HookDefinition& hook, const std::string& at, const std::string& sentence);
  // Reports a problem of the file outside its hooks.
  void file_problem(const std::string& sentence);
  // Returns a member of the right type; nothing, and a problem, for a wrong one.
  std::optional<std::string> text(JsonView object, std::string_view key, const std::string& at);
  std::optional<bool> boolean(JsonView object, std::string_view key, const std::string& at);
  // The key `sandbox`, which is agentd's own: the program runs in the sandbox of commands. A value of a wrong type is a
  // problem and means true.
  bool wants_sandbox(JsonView handler, const std::string& at);
  std::optional<double> positive(JsonView object, std::string_view key, const std::string& at);
  // The pairs of an object of texts.
  std::vector<std::pair<std::string, std::string>> pairs(JsonView object, std::string_view key, const std::string& at);
  std::vector<std::string> texts(JsonView object, std::string_view key, const std::string& at);
  // Reports a problem for each key that is not in `known`; the handler is used nevertheless. A key that concerns the
  // hook's failures is a mistake.
  void blame_unknown(JsonView object, const std::vector<std::string>& known, const std::string& at,
                     const HookDefinition* hook = nullptr);

  DefinitionSet& set() { return set_; }

 private:
  void read_event(std::string_view event, JsonView groups);
  void read_group(const HookDefinition& event, JsonView group, const std::string& at);
  // The dialect's event before a tool call.
  std::string_view nearest_to_a_gate() const;
  // A hook with the members that all hooks of the event share, named after the event.
  HookDefinition base_of(std::string_view event, std::uint32_t id) const;

  Dialect dialect_;
  JsonPlaces places_;
  std::string path_, prefix_;
  int number_ = 0;  // number of the handler within its event
  DefinitionSet set_;
};

}  // namespace agentd
