// SPDX-License-Identifier: Apache-2.0
// write_declarative.cc - writes definitions as agentd's YAML.
#include <algorithm>
#include <set>

#include "core/base/bytes.h"
#include "core/codec/yaml.h"
#include "core/declarative/declarative.h"
#include "core/dialects/dialect.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

std::string yaml_quoted(std::string_view text) {
  JsonWriter out;
  out.string(text);
  return std::string(out.text());
}

// Scripts of several lines stay readable as a block; text that a block would change is quoted.
bool fits_block(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text.size() < 2) return false;
  if (text[0] == ' ' || text[0] == '\n' || text[0] == '\t' || text.back() != '\n') return false;
  if (text[text.size() - 2] == '\n') return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && text[i] != '\n' && text[i] != '\t') || byte >= 0x7f) return false;
    if (text[i] == '\n' && i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\t')) return false;
  }
  return true;
}

// JSON in YAML's flow form: a space after each colon and comma.
std::string yaml_flow(JsonView value) {
  if (!value.is_object() && !value.is_array()) return value.text();
  std::string out = value.is_object() ? "{" : "[";
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (i != 0) out += ", ";
    if (value.is_object()) out += yaml_quoted(value.key_at(i)) + ": ";
    out += yaml_flow(value.at(i));
  }
  return out + (value.is_object() ? "}" : "]");
}

std::string yaml_time(Milliseconds time) {
  constexpr std::int64_t kMax = 24 * 3600 * 1000;
  const std::int64_t ms = std::clamp<std::int64_t>(time.count(), 1, kMax);
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + "s" : std::to_string(ms) + "ms";
}

// Writes the lines of one entry below its name and events.
class Entry {
 public:
  std::string write(const HookDefinition& hook) {
    if (hook.runs != HookRuns::kExtension && hook.dialect != Dialect::kAgentd)
      line("dialect", std::string(name_of(hook.dialect)));
    if (!hook.matcher.matches_all()) text("matcher", hook.matcher.text());
    if (!hook.if_rule.empty()) text("if", hook.if_rule);
    if (!hook.when.empty()) text("when", hook.when.text());
    write_runs(hook);
    if (hook.timeout && hook.runs != HookRuns::kAction) line("timeout", yaml_time(*hook.timeout));
    if (hook.on_failure) line("on_failure", *hook.on_failure == FailurePolicy::kClosed ? "closed" : "open");
    if (hook.priority != 0) line("priority", std::to_string(hook.priority));
    if (hook.once != HookOnce::kAlways) line("once", hook.once == HookOnce::kRun ? "run" : "conversation");
    flag("guard", hook.guard);
    flag("async", hook.async);
    flag("observe", hook.observes);
    flag("shadow", hook.shadow);
    flag("strict_output", hook.strict_output);
    return std::move(out_);
  }

 private:
  void line(std::string_view key, const std::string& value) { out_ += "    " + std::string(key) + ": " + value + "\n"; }
  void flag(std::string_view key, bool on) {
    if (on) line(key, "true");
  }
  void text(std::string_view key, std::string_view value) {
    if (!fits_block(value)) return line(key, yaml_quoted(value));
    line(key, "|");
    while (!value.empty()) {
      const std::size_t end = value.find('\n');
      if (end != 0) out_ += "      " + std::string(value.substr(0, end));
      out_ += "\n";
      value.remove_prefix(end + 1);
    }
  }
  void list(std::string_view key, const std::vector<std::string>& values) {
    std::string out = "[";
    for (const std::string& value : values) out += (out.size() == 1 ? "" : ", ") + yaml_quoted(value);
    line(key, out + "]");
  }
  void pairs(std::string_view key, const std::vector<std::pair<std::string, std::string>>& values) {
    if (values.empty()) return;
    out_ += "    " + std::string(key) + ":\n";
    for (const auto& [name, value] : values) out_ += "      " + yaml_quoted(name) + ": " + yaml_quoted(value) + "\n";
  }

  void write_program(const HookDefinition& hook) {
    pairs("environment", hook.environment);
    if (!hook.working_directory.empty()) text("working_directory", hook.working_directory);
    flag("sandbox", hook.sandbox);
  }

  void write_runs(const HookDefinition& hook) {
    switch (hook.runs) {
      case HookRuns::kFile:
        list("command", {hook.path, "run"});
        return write_program(hook);
      case HookRuns::kShell:
        text("command", hook.command);
        return write_program(hook);
      case HookRuns::kArgv:
        list("command", hook.argv);
        return write_program(hook);
      case HookRuns::kExtension:
        list("extension", hook.argv);
        return write_program(hook);
      case HookRuns::kWebhook:
        text("url", hook.url);
        pairs("headers", hook.headers);
        if (!hook.allowed_environment.empty()) list("allowed_environment", hook.allowed_environment);
        return;
      case HookRuns::kAction: {
        const auto action = JsonDocument::parse(hook.action_json);
        return line("do", action ? yaml_flow(action->root()) : yaml_quoted(hook.action_json));
      }
    }
  }

  std::string out_;
};

// ---- the file

// Definitions that differ only in agentd's event become one entry: the dialect's one event name selects all of them
// again when read.
struct Group {
  const HookDefinition* first = nullptr;
  std::string on, body;
  std::vector<std::uint32_t> events;
};

std::string event_of_entry(const HookDefinition& hook) {
  const EventTraits* const traits = find_event(hook.event);
  if (hook.dialect == Dialect::kAgentd) return traits == nullptr ? "" : std::string(traits->name);
  return hook.foreign_event.empty() ? std::string(foreign_event(hook.dialect, hook.event)) : hook.foreign_event;
}

std::vector<Group> grouped(const std::vector<HookDefinition>& hooks) {
  std::vector<Group> out;
  for (const HookDefinition& hook : hooks) {
    Group mine{&hook, event_of_entry(hook), Entry().write(hook), {hook.event}};
    const auto found = std::find_if(out.begin(), out.end(), [&](const Group& each) {
      return each.on == mine.on && each.body == mine.body && each.first->dialect == hook.dialect &&
             each.first->path == hook.path && each.first->line == hook.line &&
             std::find(each.events.begin(), each.events.end(), hook.event) == each.events.end();
    });
    if (found == out.end())
      out.push_back(std::move(mine));
    else
      found->events.push_back(hook.event);
  }
  return out;
}

// "pre_tool_use.1" for "docker/pre_tool_use.1", made unique.
std::string entry_name(std::string_view qualified, std::set<std::string>& taken) {
  constexpr std::size_t kBytesMax = 48;
  std::string name;
  const std::size_t slash = qualified.find('/');
  for (const char c : slash == std::string_view::npos ? qualified : qualified.substr(slash + 1)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                       c == '-' || c == '.' || c == ':';
    if (name.size() < kBytesMax) name += plain ? c : '-';
  }
  if (name.empty()) name = "hook";
  const std::string wanted = name;
  for (int number = 2; !taken.insert(name).second; ++number) name = wanted + "." + std::to_string(number);
  return name;
}

std::string comment(std::string_view text) { return "# - " + one_line(text, 400) + "\n"; }

// Why the entry cannot be written: it is read back, so that every written file is readable.
std::string why_not(const Group& group, const std::string& entry) {
  if (group.on.empty()) return "its event has no name that could be written";
  const auto read = read_declarative("hooks:\n" + entry, "entry", "entry", Precedence::kUser);
  if (!read) {
    const std::string& message = read.error().message;
    const std::size_t colon = message.find(": ");
    return colon == std::string::npos ? message : message.substr(colon + 2);
  }
  if (read->size() != group.events.size()) return "it would be called for more events than now";
  return "";
}

}  // namespace

std::string write_declarative(const DefinitionSet& set, std::string_view origin) {
  std::string entries, left_out;
  std::set<std::string> taken;
  for (const Group& group : grouped(set.hooks)) {
    const std::string name = entry_name(group.first->name, taken);
    const std::string entry =
        "  - name: " + yaml_quoted(name) + "\n    on: " + yaml_quoted(group.on) + "\n" + group.body;
    const std::string problem = why_not(group, entry);
    if (problem.empty())
      entries += entry;
    else
      left_out += comment(group.first->name + " was left out: " + problem);
  }
  for (const std::string& problem : set.problems) left_out += comment(problem);
  std::string out = "# Imported from " + one_line(origin, 400) + " by agentd hooks import.\n";
  if (!left_out.empty()) out += "#\n# What could not be imported:\n" + left_out;
  return out + (entries.empty() ? "" : "\nhooks:\n" + entries);
}

}  // namespace agentd
