// SPDX-License-Identifier: Apache-2.0
// gemini_settings.cc - reads the `hooks` of Gemini CLI's settings.json. Its timeouts are milliseconds.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/dialects/gemini.h"
#include "core/dialects/settings_groups.h"

namespace agentd {
namespace {

// Gemini inserts its folders into the command text, quoted for the shell. Here the shell expands them, so a name
// outside quotes is quoted.
std::string with_quotes(std::string_view command) {
  static constexpr std::array<std::string_view, 10> kNames{
      "${GEMINI_PROJECT_DIR}", "${CLAUDE_PROJECT_DIR}", "${GEMINI_CWD}", "${GEMINI_SESSION_ID}", "${GEMINI_PLANS_DIR}",
      "$GEMINI_PROJECT_DIR",   "$CLAUDE_PROJECT_DIR",   "$GEMINI_CWD",   "$GEMINI_SESSION_ID",   "$GEMINI_PLANS_DIR"};
  std::string out;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    const auto name = std::find_if(kNames.begin(), kNames.end(),
                                   [&](std::string_view each) { return command.substr(i, each.size()) == each; });
    if (quote == 0 && name != kNames.end()) {
      ((out += '"') += *name) += '"';
      i += name->size() - 1;
      continue;
    }
    out += c;
    if (c == '\\' && quote != '\'' && i + 1 < command.size())
      out += command[++i];
    else if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == quote)
      quote = 0;
  }
  return out;
}

class GeminiSettings : public SettingsGroups {
 public:
  GeminiSettings(std::string_view json, std::string_view path, std::string_view prefix)
      : SettingsGroups(Dialect::kGemini, json, path, prefix) {}

  void read_disabled(JsonView list) {
    for (std::size_t i = 0; i < list.size(); ++i) disabled_.emplace_back(list.at(i).string_or(""));
  }

  // If one group requires sequential hooks, all hooks of the event are sequential.
  void read_order(JsonView events) {
    for (HookDefinition& hook : set().hooks) {
      const JsonView groups = events[hook.foreign_event];
      for (std::size_t i = 0; i < groups.size(); ++i)
        hook.sequential = hook.sequential || groups.at(i)["sequential"].bool_or(false);
    }
  }

  // An AfterTool hook also receives failed tool calls, which are a separate event in agentd.
  void add_failed_calls() {
    std::vector<HookDefinition> both;
    for (HookDefinition& hook : set().hooks) {
      both.push_back(std::move(hook));
      if (both.back().event != AGENTD_EVENT_AFTER_TOOL_CALL) continue;
      HookDefinition failed = both.back();
      failed.event = AGENTD_EVENT_TOOL_CALL_FAILED;
      failed.name += ".failed";
      both.push_back(std::move(failed));
    }
    set().hooks = std::move(both);
  }

 private:
  // Used by read_order().
  std::vector<std::string> group_keys() const override { return {"sequential"}; }

  bool fill(HookDefinition& hook, JsonView handler, const std::string& at) override {
    const std::string type = text(handler, "type", at).value_or("command");
    if (type != "command") {
      problem(at, "a handler of the type " + in_quotes(type) + " is not supported");
      return false;
    }
    blame_unknown(handler, {"type", "command", "name", "description", "timeout", "env", "source", "sandbox"}, at);
    const auto command = text(handler, "command", at);
    if (!command || trimmed(*command).empty()) {
      mistake(hook, at, "a handler of the type 'command' needs a command");
      return false;
    }
    const std::string name = text(handler, "name", at).value_or("");
    if (is_disabled(*command) || is_disabled(name)) return false;
    hook.runs = HookRuns::kShell;
    hook.command = with_quotes(*command);
    if (const auto time = positive(handler, "timeout", at))
      hook.timeout = Milliseconds(std::max<std::int64_t>(1, std::llround(*time)));
    hook.environment = pairs(handler, "env", at);
    hook.sandbox = wants_sandbox(handler, at);
    return true;
  }

  bool is_disabled(const std::string& name) const {
    return !name.empty() && std::find(disabled_.begin(), disabled_.end(), name) != disabled_.end();
  }

  std::vector<std::string> disabled_;
};

}  // namespace

Result<DefinitionSet> read_gemini_settings(std::string_view text, std::string_view path, std::string_view prefix) {
  const std::string plain = without_comments(text);
  const auto json = JsonDocument::parse(plain);
  if (!json) return Error{Code::kInvalid, json_mistake(path, text, json.error().message)};
  const JsonView root = json->root();
  if (!root.is_object())
    return Error{Code::kInvalid,
                 std::string(path) + ":1:1: the settings must be an object, not " + std::string(type_name(root))};
  // Older files have the switches next to the events, newer ones in hooksConfig.
  const bool on = root["hooksConfig"]["enabled"].bool_or(true) && root["hooks"]["enabled"].bool_or(true) &&
                  root["tools"]["enableHooks"].bool_or(true);
  if (!on) return DefinitionSet{};
  GeminiSettings settings(plain, path, prefix);
  settings.read_disabled(root["hooksConfig"]["disabled"]);
  settings.read_disabled(root["hooks"]["disabled"]);
  settings.read(root["hooks"], {"enabled", "disabled", "notifications"});
  settings.read_order(root["hooks"]);
  settings.add_failed_calls();
  return settings.take();
}

}  // namespace agentd
