// SPDX-License-Identifier: Apache-2.0
#include "plugins/guardrail/rules.h"

#include <algorithm>

namespace guardrail {
namespace {

using agentd::Code;
using agentd::Error;
using agentd::JsonView;
using agentd::Result;

constexpr std::size_t kRulesMax = 1'000;
constexpr const char* kControl =
    " has a line end or a control character, such as \"\\b\" between double quotes: write it in single quotes";

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7f'; });
}

Error wrong(std::string what) { return {Code::kInvalid, std::move(what)}; }

Result<void> read_action(JsonView value, const std::string& where, Rule& out) {
  const std::string_view name = value.string_or("");
  if (name == "deny") {
    out.action = Verdict::kDeny;
  } else if (name == "ask") {
    out.action = Verdict::kAsk;
  } else if (name == "defer") {
    out.action = Verdict::kDefer;
  } else if (name == "allow") {
    out.action = Verdict::kAllow;
  } else {
    return wrong(where + ".action must be deny, defer, ask or allow, not " + value.text());
  }
  return {};
}

Result<void> read_input(JsonView value, const std::string& where, Rule& out) {
  if (!value.is_object() || value.size() == 0)
    return wrong(where + ".input must be an object of keys and expressions, not " + value.text());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string key(value.key_at(i));
    if (!value.at(i).is_string())
      return wrong(where + ".input." + key + " must be an expression, not " + value.at(i).text());
    if (has_control(value.at(i).string_or(""))) return wrong(where + ".input." + key + kControl);
    auto made = agentd::Regex::compile(value.at(i).string_or(""));
    if (!made) return Error{made.error().code, where + ".input." + key + ": " + made.error().message};
    out.input.emplace_back(key, std::move(*made));
  }
  return {};
}

// Refuses globs that match no path and would therefore protect none.
Result<void> add_glob(std::string_view glob, const std::string& what, Rule& out) {
  if (has_control(glob)) return wrong(what + kControl);
  if (glob.starts_with(' ') || glob.ends_with(' ')) return wrong(what + " begins or ends with a space");
  if (glob.starts_with('!')) return wrong(what + ": a glob cannot be negated with '!': name the paths to match");
  if (glob.starts_with('^') || glob.ends_with('$') || glob.find(".*") != std::string_view::npos)
    return wrong(what + " must be a glob, such as secrets/** or *.pem, not an expression");
  if (const std::size_t brace = glob.find('{');
      brace != std::string_view::npos && glob.find(',', brace) != std::string_view::npos)
    return wrong(what + " has braces, which globs do not support here: write one glob for each");
  while (glob.starts_with("./")) glob.remove_prefix(2);
  out.path.emplace_back(std::string(glob) + (glob.ends_with('/') && glob.size() > 1 ? "**" : ""));
  return {};
}

Result<void> read_path(JsonView value, const std::string& where, Rule& out) {
  if (value.is_string()) return add_glob(value.string_or(""), where + ".path", out);
  if (!value.is_array() || value.size() == 0)
    return wrong(where + ".path must be a list of globs, not " + value.text());
  for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
    if (value.at(i).string_or("").empty())
      return wrong(where + ".path[" + std::to_string(i) + "] must be a glob, not " + value.at(i).text());
    AGENTD_TRY_VOID(add_glob(value.at(i).string_or(""), where + ".path[" + std::to_string(i) + "]", out));
  }
  return {};
}

Result<void> read_text(JsonView value, const std::string& what, std::string& out) {
  if (value.string_or("").empty()) return wrong(what + " must be a text, not " + value.text());
  out = value.string_or("");
  return {};
}

// Reads names or globs separated by "|". Text that cannot be a tool's name would never match.
Result<void> read_tool(JsonView value, const std::string& what, std::string& out) {
  AGENTD_TRY_VOID(read_text(value, what, out));
  for (std::string_view rest = out;;) {
    const std::size_t bar = rest.find('|');
    std::string_view name = rest.substr(0, bar);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name.empty() || name.find_first_of(", ;\t\r\n") != std::string_view::npos)
      return wrong(what + " must separate names of tools with |, as in bash|read_file, not " + value.text());
    if (name.find(".*") != std::string_view::npos || name.find_first_of("^$()+") != std::string_view::npos)
      return wrong(what + " must be a name or a glob, such as bash or mcp__*, not " + value.text());
    if (bar == std::string_view::npos) return {};
    rest.remove_prefix(bar + 1);
  }
}

Result<void> read_key(std::string_view key, JsonView value, const std::string& where, Rule& out) {
  if (key == "action") return read_action(value, where, out);
  if (key == "input") return read_input(value, where, out);
  if (key == "path") return read_path(value, where, out);
  if (key == "tool") return read_tool(value, where + ".tool", out.tool);
  if (key == "name") return read_text(value, where + ".name", out.name);
  if (key == "reason") return read_text(value, where + ".reason", out.reason);
  if (key == "access") {
    if (value.string_or("") != "write" && value.string_or("") != "any")
      return wrong(where + ".access must be any or write, not " + value.text());
    out.writes_only = value.string_or("") == "write";
    return {};
  }
  return wrong(where + ": unknown key " + std::string(key) +
               ": the keys are name, tool, input, path, access, action, reason");
}

}  // namespace

Result<Rule> read_rule(JsonView from, const std::string& where) {
  if (!from.is_object()) return wrong(where + " must be an object, not " + from.text());
  Rule out;
  out.name = where;
  for (std::size_t i = 0; i < from.size(); ++i) AGENTD_TRY_VOID(read_key(from.key_at(i), from.at(i), where, out));
  if (!from["action"].exists()) return wrong(where + " has no action: deny, defer, ask or allow");
  if (!from["tool"].exists() && out.input.empty() && out.path.empty())
    return wrong(where + " names neither tool, input nor path: it would apply to every call");
  if (out.writes_only && out.path.empty()) return wrong(where + ".access needs a path");
  return out;
}

Result<Rules> Rules::make(std::string_view config_json, Places places) {
  const auto parsed = agentd::JsonDocument::parse(config_json.empty() ? "{}" : config_json);
  if (!parsed) return wrong("the config is not valid JSON: " + parsed.error().message);
  const JsonView root = parsed->root();
  if (!root.is_object() && !root.is_null()) return wrong("the config must be an object with rules, defaults");
  for (std::size_t i = 0; root.is_object() && i < root.size(); ++i)
    if (root.key_at(i) != "rules" && root.key_at(i) != "defaults")
      return wrong("unknown key " + std::string(root.key_at(i)) + ": the keys are rules, defaults");
  const JsonView rules = root["rules"], defaults = root["defaults"];
  if (rules.exists() && !rules.is_array()) return wrong("rules must be a list of rules, not " + rules.text());
  if (defaults.exists() && !defaults.is_bool()) return wrong("defaults must be true or false, not " + defaults.text());
  if (rules.size() > kRulesMax) return wrong("rules has more than 1000 rules");
  Rules out(std::move(places));
  for (std::size_t i = 0; i < rules.size(); ++i) {
    AGENTD_TRY(Rule rule, read_rule(rules.at(i), "rules[" + std::to_string(i) + "]"));
    out.rules_.push_back(std::move(rule));
  }
  if (defaults.bool_or(true)) {
    AGENTD_TRY(std::vector<Rule> ours, default_rules());
    for (Rule& rule : ours) out.rules_.push_back(std::move(rule));
  } else if (rules.size() == 0) {
    return wrong("nothing is guarded: defaults is false and rules is empty");
  }
  return out;
}

}  // namespace guardrail
