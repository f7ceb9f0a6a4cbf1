// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/codec/yaml.h"
#include "core/dialects/dialect.h"
#include "core/dialects/translator.h"

namespace agentd {
namespace {

bool has_folder(std::string_view path, std::string_view folder) {
  const std::string middle = "/" + std::string(folder) + "/";
  return path.find(middle) != std::string_view::npos || path.substr(0, folder.size() + 1) == middle.substr(1);
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// How many of the names are events of the dialect.
std::size_t known_events(Dialect dialect, JsonView hooks) {
  const auto events = translator_of(dialect).events;
  std::size_t count = 0;
  for (std::size_t i = 0; i < hooks.size(); ++i)
    if (std::any_of(events.begin(), events.end(),
                    [&](const EventName& each) { return each.foreign == hooks.key_at(i); }))
      ++count;
  return count;
}

// The dialect with the most of the events. Several have SessionStart, SessionEnd and Notification: a dialect whose
// settings are JSON comes first then, and the one that the path names.
std::optional<Dialect> dialect_of_json(std::string_view path, JsonView root) {
  const JsonView hooks = root["hooks"];
  std::optional<Dialect> found;
  std::size_t most = 0;
  for (const Dialect each : all_dialects()) {
    const Translator& translator = translator_of(each);
    if (translator.read_settings == nullptr || !hooks.is_object()) continue;
    const std::size_t count = known_events(each, hooks);
    const bool json = translator.is_its_yaml == nullptr;
    const bool preferred =
        found && json &&
        (translator_of(*found).is_its_yaml != nullptr || path.find(name_of(each)) != std::string_view::npos);
    if (count == 0 || count < most || (count == most && !preferred)) continue;
    found = each;
    most = count;
  }
  return found;
}

}  // namespace

std::optional<Dialect> guess_dialect(std::string_view path, std::string_view text) {
  for (const Dialect each : all_dialects())
    if (const std::string_view folder = traits_of(each).settings_folder;
        !folder.empty() && ends_with(path, ".json") && has_folder(path, folder))
      return each;
  if (const auto json = JsonDocument::parse(text))
    if (const auto found = dialect_of_json(path, json->root())) return found;
  if (const auto yaml = parse_yaml(text, path))
    for (const Dialect each : all_dialects())
      if (const auto is_its_yaml = translator_of(each).is_its_yaml; is_its_yaml != nullptr && is_its_yaml(*yaml))
        return each;
  return std::nullopt;
}

}  // namespace agentd
