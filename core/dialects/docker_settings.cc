// SPDX-License-Identifier: Apache-2.0
// docker_settings.cc - reads the `hooks:` blocks of a docker-agent file as definitions.
//
// Several groups may contain the same handler; docker-agent runs it once for a call that matches more than one. Hence
// equal handlers of an event become one definition, whose matcher matches any of theirs.
#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/codec/yaml.h"
#include "core/dialects/docker.h"
#include "core/hooks/contract.h"

namespace agentd {
namespace {

constexpr std::array<std::string_view, 13> kHandlerKeys{"name",   "type",        "command",  "args",          "timeout",
                                                        "env",    "working_dir", "on_error", "strict_output", "model",
                                                        "prompt", "schema",      "sandbox"};
constexpr std::array<std::string_view, 3> kGroupKeys{"matcher", "hooks", "preempt_yolo"};

std::string quoted_in_expression(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string scalar_of(const YamlNode& node, std::string_view key) {
  const YamlNode* const found = node.find(key);
  return found != nullptr && found->kind == YamlNode::Kind::kScalar ? found->scalar : std::string();
}

// Equal for handlers that agree in every field; an empty field equals an absent one.
std::string handler_identity(const YamlNode& handler) {
  std::string out;
  for (const std::string_view key : kHandlerKeys) {
    const YamlNode* const found = handler.find(key);
    const std::string json = found == nullptr ? "null" : found->json();
    out += (json == "[]" || json == "{}" || json == "\"\"" ? "null" : json) + "\n";
  }
  return out;
}

// The text as a part of a hook's name.
std::string name_part(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    if (plain)
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

// Zero-padded, so that the names' order is the file's order, which is the order of dispatch.
std::string padded(std::size_t number, std::size_t count) {
  std::string out = std::to_string(number);
  const std::size_t width = std::to_string(count).size();
  return std::string(width - std::min(width, out.size()), '0') + out;
}

struct Handler {
  const YamlNode* node = nullptr;
  std::string identity;
  std::vector<std::string> matchers;  // empty = all
  bool all = false;
};

// One `hooks:` mapping.
struct HookBlock {
  std::string agent;  // empty at the top
  const YamlNode* hooks = nullptr;
};

class DockerFile {
 public:
  DockerFile(const YamlNode& root, std::string_view path, std::string_view prefix)
      : root_(root), path_(path), prefix_(prefix) {}

  Result<DefinitionSet> read() {
    AGENTD_TRY(const std::vector<HookBlock> blocks, find_blocks());
    for (const HookBlock& block : blocks)
      for (const auto& [name, list] : block.hooks->members) read_event(block, name, list);
    if (blocks.empty()) set_.problems.push_back(path_ + ": no hooks: block at the top or below agents.NAME");
    return std::move(set_);
  }

 private:
  Error bad(const YamlNode& node, const std::string& what) const {
    return {Code::kInvalid, path_ + ":" + std::to_string(node.line) + ":" + std::to_string(node.column) + ": " + what};
  }
  void problem(const YamlNode& node, const std::string& what) {
    set_.problems.push_back(path_ + ":" + std::to_string(node.line) + ": " + what);
  }
  // Reports a mistake that keeps hooks of the event from deciding as intended.
  void mistake(const DockerEvent& event, const YamlNode& node, const std::string& what) {
    blame(set_, prefix_ + "/" + std::string(event.name), event.events[0],
          path_ + ":" + std::to_string(node.line) + ": " + what);
  }

  Result<void> add_block(const YamlNode* hooks, std::string agent, std::vector<HookBlock>& out) const {
    if (hooks == nullptr || hooks->kind == YamlNode::Kind::kNull) return {};
    if (hooks->kind != YamlNode::Kind::kMap)
      return bad(*hooks, "hooks must be a mapping from docker-agent's events to lists");
    out.push_back({std::move(agent), hooks});
    return {};
  }

  Result<std::vector<HookBlock>> find_blocks() {
    std::vector<HookBlock> out;
    if (root_.kind != YamlNode::Kind::kMap) return bad(root_, "a docker-agent file is a mapping");
    AGENTD_TRY_VOID(add_block(root_.find("hooks"), "", out));
    const YamlNode* const agents = root_.find("agents");
    if (agents == nullptr || agents->kind != YamlNode::Kind::kMap) return out;
    for (const auto& [name, agent] : agents->members) {
      agents_.push_back(name);
      AGENTD_TRY_VOID(add_block(agent.find("hooks"), name, out));
    }
    return out;
  }

  // ---- one event

  void read_event(const HookBlock& block, const std::string& name, const YamlNode& list) {
    const DockerEvent* const event = find_docker_event(name);
    if (event == nullptr) {
      std::vector<std::string> names;
      for (const DockerEvent& each : docker_events()) names.emplace_back(each.name);
      const std::string near = nearest_of(name, names);
      if (near.empty() && is_a_gate_elsewhere(name))
        return mistake(*find_docker_event("pre_tool_use"), list,
                       "docker-agent has no event " + in_quotes(name) +
                           "; it is another tool's event: name the dialect of these settings");
      if (near.empty()) return problem(list, "docker-agent has no event " + in_quotes(name));
      return mistake(*find_docker_event(near), list,
                     "docker-agent has no event " + in_quotes(name) + "; did you mean '" + near + "'?");
    }
    if (event->events[0] == 0)
      return problem(list, "the hooks of " + name + " were left out: " + std::string(event->missing));
    std::vector<Handler> handlers;
    if (list.kind == YamlNode::Kind::kList)
      for (const YamlNode& item : list.items) read_item(*event, item, handlers);
    else if (list.kind != YamlNode::Kind::kNull)
      mistake(*event, list, name + " must be a list of handlers; it was left out");
    for (std::size_t i = 0; i < handlers.size(); ++i)
      define(block, *event, handlers[i], padded(i + 1, handlers.size()));
  }

  void read_item(const DockerEvent& event, const YamlNode& item, std::vector<Handler>& out) {
    if (item.kind != YamlNode::Kind::kMap)
      return mistake(event, item, "a handler of " + std::string(event.name) + " must be a mapping");
    const YamlNode* const hooks = item.find("hooks");
    if (hooks == nullptr) return add_handler(event, item, "", out);
    blame_keys(item, kGroupKeys, "a group");
    std::string matcher = scalar_of(item, "matcher");
    if (!event.tool_matched && !matcher.empty()) {
      problem(item, std::string(event.name) + " has no subject to match; the matcher was ignored");
      matcher.clear();
    }
    if (!check_matcher(event, item, matcher)) return;
    if (hooks->kind != YamlNode::Kind::kList)
      return mistake(event, *hooks, "the hooks of a group must be a list; it was left out");
    for (const YamlNode& each : hooks->items) add_handler(event, each, matcher, out);
  }

  // Guards with an unreadable matcher are called for every tool, so that no call escapes them.
  bool check_matcher(const DockerEvent& event, const YamlNode& item, std::string& matcher) {
    const auto parsed = Matcher::parse(matcher, MatcherRules::kDocker);
    if (parsed) return true;
    const YamlNode& place = *item.find("matcher");
    mistake(event, place,
            "the matcher " + in_quotes(matcher) + " cannot be read: " + parsed.error().message +
                (event.fails_closed ? "; its guards are called for every tool" : "; its hooks were left out"));
    matcher.clear();
    return event.fails_closed;
  }

  void add_handler(const DockerEvent& event, const YamlNode& node, const std::string& matcher,
                   std::vector<Handler>& out) {
    if (node.kind != YamlNode::Kind::kMap)
      return mistake(event, node, "a handler of " + std::string(event.name) + " must be a mapping");
    if (!is_command(event, node)) return;
    const std::string same = handler_identity(node);
    auto found = std::find_if(out.begin(), out.end(), [&](const Handler& each) { return each.identity == same; });
    if (found == out.end()) found = out.insert(out.end(), {&node, same, {}, false});
    if (matcher.empty() || matcher == "*")
      found->all = true;
    else if (std::find(found->matchers.begin(), found->matchers.end(), matcher) == found->matchers.end())
      found->matchers.push_back(matcher);
  }

  bool is_command(const DockerEvent& event, const YamlNode& node) {
    blame_keys(node, kHandlerKeys, "a handler");
    const std::string type = scalar_of(node, "type"), command = scalar_of(node, "command");
    const std::string event_name(event.name);
    if (type == "builtin" || type == "model") {
      problem(node, "the hook of " + event_name + " was left out: its type " + in_quotes(type) +
                        (command.empty() ? std::string() : " (" + first_line(command, 60) + ")") +
                        " is part of docker-agent itself" + instead_of(command));
      return false;
    }
    if (!type.empty() && type != "command") {
      mistake(event, node, "the hook of " + event_name + " was left out: unknown type " + in_quotes(type));
      return false;
    }
    if (!trimmed(command).empty()) return true;
    mistake(event, node, "the hook of " + event_name + " was left out: it has no command");
    return false;
  }

  static std::string instead_of(std::string_view builtin) {
    return builtin == "redact_secrets" ? "; agentd's own plugin redact does this" : "";
  }

  template <typename Names>
  void blame_keys(const YamlNode& node, const Names& known, std::string_view what) {
    for (const auto& [key, value] : node.members) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      const std::string near = nearest_of(key, {known.begin(), known.end()});
      problem(value, std::string(what) + " has no key " + in_quotes(key) + "; it was ignored" +
                         (near.empty() ? "" : " (did you mean '" + near + "'?)"));
      if (near.empty()) set_.unknown_keys.push_back({key, set_.problems.back()});
    }
  }

  // ---- one definition

  void define(const HookBlock& block, const DockerEvent& event, const Handler& handler, const std::string& number) {
    HookDefinition hook;
    hook.path = path_;
    hook.line = handler.node->line;
    hook.dialect = Dialect::kDocker;
    hook.foreign_event = std::string(event.name);
    hook.name =
        prefix_ + "/" + (block.agent.empty() ? "" : name_part(block.agent) + ".") + hook.foreign_event + "." + number;
    if (const std::string shown = name_part(scalar_of(*handler.node, "name")); !shown.empty()) hook.name += "." + shown;
    hook.priority = event.priority;
    hook.runs = HookRuns::kShell;
    hook.command = scalar_of(*handler.node, "command");
    hook.working_directory = scalar_of(*handler.node, "working_dir");
    set_matcher(handler, hook);
    set_when(block, event, *handler.node, hook);
    set_timeout(event, *handler.node, hook);
    set_failure(event, *handler.node, hook);
    set_environment(*handler.node, hook);
    hook.strict_output = flag(*handler.node, "strict_output");
    hook.sandbox = flag(*handler.node, "sandbox");
    hook.event = event.events[0];
    set_.hooks.push_back(hook);
    if (event.events[1] == 0) return;
    hook.event = event.events[1];
    hook.name += ".failed";
    set_.hooks.push_back(std::move(hook));
  }

  void set_matcher(const Handler& handler, HookDefinition& hook) {
    if (handler.all || handler.matchers.empty()) return;
    std::string text = handler.matchers[0];
    if (handler.matchers.size() > 1) {
      text.clear();
      for (const std::string& each : handler.matchers) text += (text.empty() ? "(?:" : "|(?:") + each + ")";
    }
    auto matcher = Matcher::parse(text, MatcherRules::kDocker);
    if (matcher)
      hook.matcher = std::move(*matcher);
    else
      problem(*handler.node, "its matchers together are too long for one expression; it is called for every tool");
  }

  // The first agent (or `root`) corresponds to agentd's main agent and to all agents that the file does not name.
  std::string agent_filter(const HookBlock& block, const DockerEvent& event) const {
    if (block.agent.empty() || agents_.size() < 2) return {};
    const bool has_root = std::find(agents_.begin(), agents_.end(), "root") != agents_.end();
    if (block.agent != (has_root ? "root" : agents_[0])) return "agent.type == " + quoted_in_expression(block.agent);
    std::string out;
    if (event.name == "subagent_stop") return out;
    for (const std::string& other : agents_)
      if (other != block.agent)
        out += (out.empty() ? "agent.type != " : " and agent.type != ") + quoted_in_expression(other);
    return out;
  }

  void set_when(const HookBlock& block, const DockerEvent& event, const YamlNode& node, HookDefinition& hook) {
    std::string text(event.when);
    if (const std::string filter = agent_filter(block, event); !filter.empty())
      text = text.empty() ? filter : "(" + text + ") and " + filter;
    if (text.empty()) return;
    auto when = Expression::parse(text, path_, node.line, node.column);
    if (when)
      hook.when = std::move(*when);
    else
      problem(node, "it is called for every agent: " + when.error().message);
  }

  void set_timeout(const DockerEvent& event, const YamlNode& node, HookDefinition& hook) {
    // The end of a session does not wait that long.
    if (event.events[0] != AGENTD_EVENT_SESSION_END) hook.timeout = kDockerTime;
    const std::string text = scalar_of(node, "timeout");
    if (text.empty()) return;
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size() || seconds > 86'400)
      return problem(*node.find("timeout"),
                     "the timeout " + in_quotes(text) + " must be a number of seconds up to a day; 60 is used");
    if (seconds > 0) hook.timeout = Milliseconds(seconds * 1000);
  }

  void set_failure(const DockerEvent& event, const YamlNode& node, HookDefinition& hook) {
    const std::string policy = scalar_of(node, "on_error");
    if (!policy.empty() && policy != "warn" && policy != "ignore" && policy != "block")
      mistake(event, *node.find("on_error"), "on_error must be warn, ignore or block, not " + in_quotes(policy));
    hook.guard = event.fails_closed;
    const bool closed = event.fails_closed || (event.can_block && policy == "block");
    hook.on_failure = closed ? FailurePolicy::kClosed : FailurePolicy::kOpen;
    if (event.fails_closed && (policy == "warn" || policy == "ignore"))
      problem(*node.find("on_error"), std::string(event.name) + " fails closed whatever on_error says");
    else if (policy == "ignore")
      problem(*node.find("on_error"),
              "on_error: ignore is read as warn: a failure is let pass, and "
              "reported");
    else if (policy == "block" && !event.can_block)
      problem(*node.find("on_error"), std::string(event.name) +
                                          " cannot block; on_error: block was "
                                          "read as warn");
  }

  void set_environment(const YamlNode& node, HookDefinition& hook) {
    const YamlNode* const env = node.find("env");
    if (env == nullptr || env->kind == YamlNode::Kind::kNull) return;
    if (env->kind != YamlNode::Kind::kMap) return problem(*env, "env must be a mapping; it was ignored");
    for (const auto& [key, value] : env->members) {
      if (value.kind == YamlNode::Kind::kScalar)
        hook.environment.emplace_back(key, value.scalar);
      else
        problem(value, "the value of env." + key + " must be a text; it was ignored");
    }
  }

  bool flag(const YamlNode& node, std::string_view key) {
    const std::string text = scalar_of(node, key);
    if (!text.empty() && text != "true" && text != "false")
      problem(*node.find(key), std::string(key) + " must be true or false; true is used");
    return !text.empty() && text != "false";
  }

  const YamlNode& root_;
  const std::string path_, prefix_;
  std::vector<std::string> agents_;
  DefinitionSet set_;
};

}  // namespace

bool is_docker_file(const YamlNode& root) {
  const auto is_block = [](const YamlNode* hooks) {
    return hooks != nullptr && hooks->kind == YamlNode::Kind::kMap &&
           std::any_of(hooks->members.begin(), hooks->members.end(),
                       [](const auto& member) { return canonical_event(Dialect::kDocker, member.first) != 0; });
  };
  if (root.kind != YamlNode::Kind::kMap) return false;
  if (is_block(root.find("hooks"))) return true;
  const YamlNode* const agents = root.find("agents");
  return agents != nullptr && agents->kind == YamlNode::Kind::kMap &&
         std::any_of(agents->members.begin(), agents->members.end(),
                     [&](const auto& agent) { return is_block(agent.second.find("hooks")); });
}

Result<DefinitionSet> read_docker_settings(std::string_view text, std::string_view path, std::string_view prefix) {
  AGENTD_TRY(const YamlNode root, parse_yaml(text, path));
  return DockerFile(root, path, prefix).read();
}

}  // namespace agentd
