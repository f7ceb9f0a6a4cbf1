// SPDX-License-Identifier: Apache-2.0
// claude_settings.cc - reads the `hooks` of Claude Code's settings.json or of a plugin's hooks.json.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "core/dialects/claude.h"
#include "core/dialects/settings_groups.h"

namespace agentd {
namespace {

// True for variables that agentd sets itself, and for those from which a loader or interpreter takes code before the
// program's first line.
bool is_taken(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kCode{"BASH_ENV",     "ENV",           "GLIBC_TUNABLES",
                                                         "NODE_OPTIONS", "PERL5OPT",      "RUBYOPT",
                                                         "PYTHONHOME",   "PYTHONSTARTUP", "SHELLOPTS"};
  static constexpr std::array<std::string_view, 5> kOurs{"CLAUDE_PROJECT_DIR", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT",
                                                         "CLAUDE_CODE_SESSION_ID", "CLAUDE_ENV_FILE"};
  return name.starts_with("LD_") || name.starts_with("DYLD_") || name.starts_with("AGENTD_") ||
         std::find(kCode.begin(), kCode.end(), name) != kCode.end() ||
         std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end();
}

bool is_name_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The argument as a shell word whose ${NAME} the shell expands. Claude Code itself runs such arguments without a shell
// and expands its own variables first.
std::string shell_word(std::string_view argument) {
  std::string out = "'";
  for (std::size_t i = 0; i < argument.size(); ++i) {
    const std::size_t end = argument.substr(i, 9) == "${CLAUDE_" ? argument.find('}', i) : std::string_view::npos;
    if (end != std::string_view::npos) {
      out += "'\"";
      out += argument.substr(i, end + 1 - i);
      out += "\"'";
      i = end;
    } else if (argument[i] == '\'') {
      out += "'\\''";
    } else {
      out += argument[i];
    }
  }
  return out + "'";
}

bool is_variable(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_name_byte) &&
         std::isdigit(static_cast<unsigned char>(name[0])) == 0;
}

// "$NAME" of a header as "${NAME}", the only form that a definition has.
std::string with_braces(std::string_view value) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    out += value[i];
    if (value[i] != '$' || i + 1 == value.size() || !is_name_byte(value[i + 1])) continue;
    out += '{';
    while (i + 1 < value.size() && is_name_byte(value[i + 1])) out += value[++i];
    out += '}';
  }
  return out;
}

// The folder of the plugin whose hooks/hooks.json this is; empty for other settings.
std::string plugin_root(std::string_view path) {
  std::error_code failed;
  const auto file = std::filesystem::absolute(std::filesystem::path(path), failed);
  if (failed) return {};
  const std::filesystem::path folder = file.lexically_normal().parent_path();
  if (file.filename() != "hooks.json" || folder.filename() != "hooks") return {};
  return folder.parent_path().string();
}

class ClaudeSettings : public SettingsGroups {
 public:
  ClaudeSettings(std::string_view json, std::string_view path, std::string_view prefix)
      : SettingsGroups(Dialect::kClaude, json, path, prefix), plugin_(plugin_root(path)) {}

  // Reads the settings' `env`, which applies to every hook of the file.
  void read_environment(JsonView root) {
    JsonView variables = root["env"];
    for (std::size_t i = 0; i < variables.size() && variables.is_object(); ++i) {
      const std::string name(variables.key_at(i));
      const JsonView value = variables.at(i);
      if (is_taken(name) || !is_variable(name))
        file_problem("the variable " + in_quotes(name) + " of 'env' is not given to the hooks: " +
                     (is_taken(name) ? "agentd sets it, or it controls which code a program loads"
                                     : "a name may only have letters, digits and _"));
      else if (!value.is_string() && !value.is_number() && !value.is_bool())
        file_problem("the variable " + in_quotes(name) + " of 'env' is not given to the hooks: it is " +
                     std::string(type_name(value)) + ", not a text");
      else
        environment_.emplace_back(name, value.is_string() ? std::string(value.string_or("")) : value.text());
    }
  }

 private:
  bool fill(HookDefinition& hook, JsonView handler, const std::string& at) override {
    const std::string type = text(handler, "type", at).value_or(handler["url"].exists() ? "http" : "command");
    if (type != "command" && type != "http") return refuse_type(hook, type, at);
    const bool good = type == "http" ? fill_http(hook, handler, at) : fill_command(hook, handler, at);
    if (!good) return false;
    fill_rule(hook, handler, at);
    if (const auto seconds = positive(handler, "timeout", at))
      hook.timeout = Milliseconds(static_cast<std::int64_t>(std::llround(*seconds * 1000)));
    if (boolean(handler, "once", at).value_or(false)) hook.once = HookOnce::kConversation;
    fill_failure(hook, handler, at);
    return true;
  }

  bool refuse_type(const HookDefinition& hook, const std::string& type, const std::string& at) {
    static constexpr std::array<std::string_view, 3> kTypes{"prompt", "agent", "mcp_tool"};
    if (std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end())
      problem(at, "a handler of the type " + in_quotes(type) + " is not supported");
    else
      mistake(hook, at, "a handler of the unknown type " + in_quotes(type) + " is not supported");
    return false;
  }

  bool fill_command(HookDefinition& hook, JsonView handler, const std::string& at) {
    blame_unknown(handler,
                  {"type", "command", "args", "shell", "async", "asyncRewake", "rewakeMessage", "rewakeSummary",
                   "onFailure", "if", "timeout", "statusMessage", "once", "description", "sandbox"},
                  at, &hook);
    const auto command = text(handler, "command", at);
    if (!command || trimmed(*command).empty()) {
      mistake(hook, at, "a handler of the type 'command' needs a command");
      return false;
    }
    hook.runs = HookRuns::kShell;
    hook.command = *command;
    hook.environment = environment_;
    hook.sandbox = wants_sandbox(handler, at);
    if (handler["args"].exists()) fill_arguments(hook, handler, at);
    fill_background(hook, handler, at);
    fill_plugin(hook, at);
    return fill_shell(hook, handler, at);
  }

  void fill_arguments(HookDefinition& hook, JsonView handler, const std::string& at) {
    std::vector<std::string> words{hook.command};
    for (std::string& each : texts(handler, "args", at)) words.push_back(std::move(each));
    const bool variables = std::any_of(words.begin(), words.end(), [](const std::string& word) {
      return word.find("${CLAUDE_") != std::string::npos;
    });
    hook.command.clear();
    if (!variables) {
      hook.runs = HookRuns::kArgv;
      hook.argv = std::move(words);
      return;
    }
    hook.command = "exec";
    for (const std::string& word : words) (hook.command += ' ') += shell_word(word);
  }

  // A plugin's hooks name its folder; in other files CLAUDE_PLUGIN_ROOT has no value.
  void fill_plugin(HookDefinition& hook, const std::string& at) {
    const std::string variable = "CLAUDE_PLUGIN_ROOT";
    if (!plugin_.empty())
      hook.environment.emplace_back(variable, plugin_);
    else if (hook.command.find(variable) != std::string::npos)
      problem(at, "'" + variable + "' is set only for the hooks/hooks.json of a plugin");
  }

  void fill_background(HookDefinition& hook, JsonView handler, const std::string& at) {
    hook.async = boolean(handler, "async", at).value_or(false);
    if (!boolean(handler, "asyncRewake", at).value_or(false)) return;
    hook.async = true;
    problem(at, "'asyncRewake' cannot wake the model; the hook runs as async");
  }

  bool fill_shell(HookDefinition& hook, JsonView handler, const std::string& at) {
    const auto shell = text(handler, "shell", at);
    if (!shell || hook.runs == HookRuns::kArgv) return true;
    if (*shell == "bash") {
      hook.runs = HookRuns::kArgv;
      hook.argv = {"bash", "-c", hook.command};
      hook.command.clear();
      return true;
    }
    problem(at, "a hook for the shell " + in_quotes(*shell) + " is not supported");
    return false;
  }

  bool fill_http(HookDefinition& hook, JsonView handler, const std::string& at) {
    blame_unknown(handler,
                  {"type", "url", "headers", "allowedEnvVars", "onFailure", "if", "timeout", "statusMessage", "once",
                   "description"},
                  at, &hook);
    const auto url = text(handler, "url", at);
    if (!url || url->empty()) {
      mistake(hook, at, "a handler of the type 'http' needs a url");
      return false;
    }
    hook.runs = HookRuns::kWebhook;
    hook.url = *url;
    hook.headers = pairs(handler, "headers", at);
    for (auto& [name, value] : hook.headers) value = with_braces(value);
    hook.allowed_environment = texts(handler, "allowedEnvVars", at);
    return true;
  }

  // An unreadable rule is dropped, so the hook is always called: a guard must not miss a call.
  void fill_rule(HookDefinition& hook, JsonView handler, const std::string& at) {
    hook.if_rule = text(handler, "if", at).value_or("");
    const auto readable = if_rule_holds(hook, JsonView());
    if (readable) return;
    problem(at + "/if", readable.error().message + "; the hook is called for every use of its tools");
    hook.if_rule.clear();
  }

  void fill_failure(HookDefinition& hook, JsonView handler, const std::string& at) {
    const JsonView said = handler["onFailure"];
    if (!said.exists() || said.is_null()) return;
    const std::string_view policy = said.string_or("");
    if (policy == "block")
      hook.on_failure = FailurePolicy::kClosed;
    else if (policy == "continue")
      hook.on_failure = FailurePolicy::kOpen;
    else
      mistake(hook, at + "/onFailure",
              "'onFailure' must be continue or block, not " +
                  (said.is_string() ? in_quotes(policy) : std::string(type_name(said))));
  }

  std::string plugin_;  // its folder, when the file is a plugin's
  std::vector<std::pair<std::string, std::string>> environment_;
};

}  // namespace

Result<DefinitionSet> read_claude_settings(std::string_view text, std::string_view path, std::string_view prefix) {
  // Claude Code skips a byte order mark, which some editors write.
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const auto json = JsonDocument::parse(text);
  if (!json) return Error{Code::kInvalid, json_mistake(path, text, json.error().message)};
  const JsonView root = json->root();
  if (!root.is_object())
    return Error{Code::kInvalid,
                 std::string(path) + ":1:1: the settings must be an object, not " + std::string(type_name(root))};
  if (root["disableAllHooks"].bool_or(false)) return DefinitionSet{};
  ClaudeSettings settings(text, path, prefix);
  if (root["hooks"].size() != 0) settings.read_environment(root);
  settings.read(root["hooks"], {});
  return settings.take();
}

}  // namespace agentd
