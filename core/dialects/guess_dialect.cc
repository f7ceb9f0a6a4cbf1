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

bool knows(Dialect dialect, std::string_view event) {
  const auto events = translator_of(dialect).events;
  return std::any_of(events.begin(), events.end(), [&](const EventName& each) { return each.foreign == event; });
}

std::optional<Dialect> dialect_of_json(std::string_view path, JsonView root) {
  const JsonView hooks = root["hooks"];
  if (!hooks.is_object()) return std::nullopt;
  int claude = 0, gemini = 0, docker = 0;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    claude += knows(Dialect::kClaude, hooks.key_at(i)) ? 1 : 0;
    gemini += knows(Dialect::kGemini, hooks.key_at(i)) ? 1 : 0;
    docker += knows(Dialect::kDocker, hooks.key_at(i)) ? 1 : 0;
  }
  if (docker > std::max(claude, gemini)) return Dialect::kDocker;
  if (claude == 0 && gemini == 0) return std::nullopt;
  // Both dialects have SessionStart, SessionEnd and Notification.
  if (claude == gemini) return path.find("gemini") != std::string_view::npos ? Dialect::kGemini : Dialect::kClaude;
  return claude > gemini ? Dialect::kClaude : Dialect::kGemini;
}

bool is_docker_block(const YamlNode* hooks) {
  return hooks != nullptr && hooks->kind == YamlNode::Kind::kMap &&
         std::any_of(hooks->members.begin(), hooks->members.end(),
                     [](const auto& member) { return knows(Dialect::kDocker, member.first); });
}

bool is_docker_file(const YamlNode& root) {
  if (root.kind != YamlNode::Kind::kMap) return false;
  if (is_docker_block(root.find("hooks"))) return true;
  const YamlNode* const agents = root.find("agents");
  return agents != nullptr && agents->kind == YamlNode::Kind::kMap &&
         std::any_of(agents->members.begin(), agents->members.end(),
                     [](const auto& agent) { return is_docker_block(agent.second.find("hooks")); });
}

}  // namespace

std::optional<Dialect> guess_dialect(std::string_view path, std::string_view text) {
  if (ends_with(path, ".json")) {
    if (has_folder(path, ".claude")) return Dialect::kClaude;
    if (has_folder(path, ".gemini")) return Dialect::kGemini;
  }
  if (const auto json = JsonDocument::parse(text))
    if (const auto found = dialect_of_json(path, json->root())) return found;
  const auto yaml = parse_yaml(text, path);
  if (yaml && is_docker_file(*yaml)) return Dialect::kDocker;
  return std::nullopt;
}

}  // namespace agentd
