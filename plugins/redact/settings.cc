// SPDX-License-Identifier: Apache-2.0
#include "plugins/redact/settings.h"

#include <utility>

#include "core/codec/json.h"

namespace redact {
namespace {

using agentd::JsonView;
using Wrong = std::optional<std::string>;

constexpr std::pair<std::string_view, Target> kTargets[] = {
    {"tool_output", kToolOutput}, {"user_text", kUserText}, {"response", kResponse}, {"tool_input", kToolInput}};

Wrong read_targets(JsonView value, Settings& out) {
  constexpr std::string_view kNames = "tool_output, user_text, response and tool_input";
  if (!value.is_array() || value.size() == 0)
    return "targets must be a list of " + std::string(kNames) + ", not " + value.text();
  out.targets = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    std::uint32_t one = 0;
    for (const auto& [name, target] : kTargets)
      if (value.at(i).string_or("") == name) one = target;
    if (one == 0)
      return "targets[" + std::to_string(i) + "]: " + value.at(i).text() + " must be one of " + std::string(kNames);
    out.targets |= one;
  }
  return std::nullopt;
}

Wrong read_rules(JsonView value, Settings& out) {
  if (!value.is_object()) return "rules must be an object with disable, not " + value.text();
  for (std::size_t i = 0; i < value.size(); ++i)
    if (value.key_at(i) != "disable")
      return "unknown key rules." + std::string(value.key_at(i)) + ": the only key is disable";
  const JsonView disable = value["disable"];
  if (!disable.exists()) return std::nullopt;
  if (!disable.is_array()) return "rules.disable must be a list of rule ids, not " + disable.text();
  for (std::size_t i = 0; i < disable.size(); ++i) {
    if (!disable.at(i).is_string())
      return "rules.disable[" + std::to_string(i) + "] must be a rule id, not " + disable.at(i).text();
    out.rules.disable.emplace_back(disable.at(i).string_or(""));
  }
  return std::nullopt;
}

Wrong read_extra(JsonView value, Settings& out) {
  if (!value.is_array()) return "extra must be a list of {id, pattern}, not " + value.text();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const JsonView each = value.at(i);
    const std::string where = "extra[" + std::to_string(i) + "]";
    for (std::size_t k = 0; each.is_object() && k < each.size(); ++k)
      if (each.key_at(k) != "id" && each.key_at(k) != "pattern")
        return where + ": unknown key " + std::string(each.key_at(k)) + ": the keys are id and pattern";
    const std::string_view pattern = each["pattern"].string_or("");
    if (!each["id"].is_string() || pattern.empty()) return where + " must be an object with id and pattern, both texts";
    out.rules.extra.push_back({std::string(each["id"].string_or("")), std::string(pattern)});
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> read_settings(std::string_view json, Settings& out) {
  const auto parsed = agentd::JsonDocument::parse(json.empty() ? "{}" : json);
  if (!parsed) return "the config is not valid JSON: " + parsed.error().message;
  const JsonView root = parsed->root();
  if (root.is_null()) return std::nullopt;
  if (!root.is_object()) return "the config must be an object with rules, extra, targets";
  for (std::size_t i = 0; i < root.size(); ++i) {
    const std::string_view key = root.key_at(i);
    Wrong wrong = key == "targets" ? read_targets(root[key], out)
                  : key == "rules" ? read_rules(root[key], out)
                  : key == "extra" ? read_extra(root[key], out)
                                   : Wrong("unknown key " + std::string(key) + ": the keys are rules, extra, targets");
    if (wrong) return wrong;
  }
  return std::nullopt;
}

}  // namespace redact
