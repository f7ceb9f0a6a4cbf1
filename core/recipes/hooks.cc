// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/hooks.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/nearest.h"
#include "core/codec/schema.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

constexpr std::uint32_t kRetriesMax = 7;  // the eighth continuation of a run is the last one
constexpr std::string_view kExternal = "external";

struct HandlerTraits {
  RecipeHandler handler;
  std::string_view name;
  std::string_view events;  // where it can act, for messages
  std::string_view params;  // its parameters
  std::string_view needed;  // its required parameters
};

constexpr std::array<HandlerTraits, 6> kHandlers{{
    {RecipeHandler::kSwapContext, "swap_context", "turn_end and agent_stop", "", ""},
    {RecipeHandler::kAppendContext, "append_context", "", "text", "text"},
    {RecipeHandler::kExportMarkdown, "export_markdown", "turn_end and agent_stop", "path", "path"},
    {RecipeHandler::kValidateOutput, "validate_output", "turn_end and agent_stop", "schema, retries", "schema"},
    {RecipeHandler::kLogToolUsage, "log_tool_usage", "before_tool_call, after_tool_call and tool_call_failed", "tools",
     ""},
    {RecipeHandler::kValidateToolOutput, "validate_tool_output", "after_tool_call", "schema, tools", "schema"},
}};

const HandlerTraits& traits_of(RecipeHandler handler) { return kHandlers[static_cast<std::size_t>(handler)]; }

bool acts_at(RecipeHandler handler, std::uint32_t event) {
  switch (handler) {
    case RecipeHandler::kSwapContext:
    case RecipeHandler::kExportMarkdown:
    case RecipeHandler::kValidateOutput:
      return event == AGENTD_EVENT_TURN_END || event == AGENTD_EVENT_AGENT_STOP;
    case RecipeHandler::kAppendContext:
      return is_legal(event, AGENTD_ACT_INJECT_CONTEXT);
    case RecipeHandler::kLogToolUsage:
      return event == AGENTD_EVENT_BEFORE_TOOL_CALL || event == AGENTD_EVENT_AFTER_TOOL_CALL ||
             event == AGENTD_EVENT_TOOL_CALL_FAILED;
    case RecipeHandler::kValidateToolOutput:
      return event == AGENTD_EVENT_AFTER_TOOL_CALL;
  }
  return false;
}

class RecipeHooksReader {
 public:
  explicit RecipeHooksReader(std::string_view path) : path_(path) {}

  Result<std::vector<RecipeHook>> read(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kNull) return std::move(out_);
    if (node.kind != YamlNode::Kind::kMap) return at(node, "hooks must be a map of events");
    for (const auto& [name, value] : node.members) AGENTD_TRY_VOID(event(name, value));
    return std::move(out_);
  }

 private:
  Error at(const YamlNode& node, const std::string& what) const { return {Code::kInvalid, place(node) + ": " + what}; }
  std::string place(const YamlNode& node) const {
    return std::string(path_) + ":" + std::to_string(node.line) + ":" + std::to_string(node.column);
  }

  Result<void> event(const std::string& name, const YamlNode& value) {
    const EventTraits* const traits = find_event(name);
    if (traits == nullptr) {
      std::vector<std::string> names;
      for (const EventTraits& each : all_events()) names.emplace_back(each.name);
      return at(value, "no event named '" + name + "'" + did_you_mean(name, names));
    }
    if (value.kind != YamlNode::Kind::kMap)
      return at(value, "hooks." + name + " must be a map with handler or handlers");
    const YamlNode *handler = nullptr, *handlers = nullptr, *params = nullptr;
    RecipeOnce once = RecipeOnce::kAlways;
    for (const auto& [key, each] : value.members) {
      if (key == "handler") {
        handler = &each;
      } else if (key == "handlers") {
        handlers = &each;
      } else if (key == "params") {
        params = &each;
      } else if (key == "once") {
        AGENTD_TRY(once, once_of(each));
      } else {
        return at(each, "unknown key '" + key + "': a hook of a recipe has handler, handlers, once and params");
      }
    }
    if ((handler == nullptr) == (handlers == nullptr))
      return at(value, "hooks." + name + " needs one of handler and handlers");
    AGENTD_TRY(std::vector<const YamlNode*> names, names_of(handler, handlers));
    return add(*traits, names, once, params);
  }

  Result<RecipeOnce> once_of(const YamlNode& node) const {
    if (node.kind == YamlNode::Kind::kScalar) {
      if (node.scalar == "run" || node.scalar == "true") return RecipeOnce::kRun;
      if (node.scalar == "conversation") return RecipeOnce::kConversation;
      if (node.scalar == "false") return RecipeOnce::kAlways;
    }
    return at(node, "once must be true, false, run or conversation");
  }

  Result<std::vector<const YamlNode*>> names_of(const YamlNode* one, const YamlNode* several) const {
    std::vector<const YamlNode*> out;
    if (one != nullptr) {
      out.push_back(one);
    } else if (several->kind != YamlNode::Kind::kList || several->items.empty()) {
      return at(*several, "handlers must be a list of names");
    }
    for (std::size_t i = 0; several != nullptr && i < several->items.size(); ++i) out.push_back(&several->items[i]);
    for (const YamlNode* each : out)
      if (each->kind != YamlNode::Kind::kScalar) return at(*each, "a handler's name must be text");
    return out;
  }

  Result<void> add(const EventTraits& event, const std::vector<const YamlNode*>& names, RecipeOnce once,
                   const YamlNode* params) {
    const auto is_external = [](const YamlNode* node) { return node->scalar == kExternal; };
    const auto external = std::find_if(names.begin(), names.end(), is_external);
    if (std::count_if(names.begin(), names.end(), is_external) > 1)
      return at(**external, "'external' is repeated in handlers");
    const auto built_in = names.size() - (external == names.end() ? 0 : 1);
    if (built_in == 0) return at(*names[0], "'external' alone is not a handler: " + known());
    for (auto each = names.begin(); each != names.end(); ++each) {
      if (each == external) continue;
      AGENTD_TRY(RecipeHook hook, handler(event, **each));
      if (std::any_of(out_.begin(), out_.end(), [&](const RecipeHook& other) {
            return other.event == hook.event && other.handler == hook.handler;
          }))
        return at(**each, "'" + (*each)->scalar + "' is repeated in handlers");
      hook.once = once;
      hook.before_external = external != names.end() && each < external;
      AGENTD_TRY_VOID(parameters(hook, params, built_in > 1));
      out_.push_back(std::move(hook));
    }
    return {};
  }

  static std::string known() {
    std::string out = "the handlers are ";
    for (std::size_t i = 0; i < kHandlers.size(); ++i)
      out += (i == 0 ? "" : i + 1 == kHandlers.size() ? " and " : ", ") + std::string(kHandlers[i].name);
    return out;
  }

  Result<RecipeHook> handler(const EventTraits& event, const YamlNode& name) const {
    RecipeHook out;
    const auto found = std::find_if(kHandlers.begin(), kHandlers.end(),
                                    [&](const HandlerTraits& each) { return each.name == name.scalar; });
    if (found == kHandlers.end()) return at(name, "no handler named '" + name.scalar + "': " + known());
    out.event = event.id;
    out.handler = found->handler;
    out.place = place(name);
    if (!acts_at(out.handler, event.id))
      return at(name, name.scalar + " cannot act at " + std::string(event.name) +
                          (found->events.empty() ? ", which takes no context"
                                                 : ": it belongs to " + std::string(found->events)));
    return out;
  }

  // A single handler's parameters are in `params` itself, those of several below their names.
  Result<void> parameters(RecipeHook& hook, const YamlNode* params, bool several) const {
    const HandlerTraits& traits = traits_of(hook.handler);
    if (params != nullptr && params->kind != YamlNode::Kind::kMap && params->kind != YamlNode::Kind::kNull)
      return at(*params, "params must be a map");
    if (several && params != nullptr) {
      for (const auto& [key, value] : params->members)
        if (std::none_of(kHandlers.begin(), kHandlers.end(),
                         [&, k = std::string_view(key)](const HandlerTraits& t) { return t.name == k; }))
          return at(value, "params of several handlers must be below their names; '" + key + "' is not one of them");
      params = params->find(traits.name);
    }
    bool found = traits.needed.empty();
    for (std::size_t i = 0; params != nullptr && i < params->members.size(); ++i) {
      const auto& [key, value] = params->members[i];
      AGENTD_TRY_VOID(parameter(hook, key, value));
      found = found || key == traits.needed;
    }
    if (!found)
      return Error{Code::kInvalid,
                   hook.place + ": " + std::string(traits.name) + " needs params with " + std::string(traits.needed)};
    return {};
  }

  Result<void> parameter(RecipeHook& hook, const std::string& key, const YamlNode& value) const {
    const HandlerTraits& traits = traits_of(hook.handler);
    const bool takes = (", " + std::string(traits.params) + ", ").find(", " + key + ", ") != std::string::npos;
    if (!takes)
      return at(value, std::string(traits.name) + " has no parameter '" + key + "'" +
                           (traits.params.empty() ? "" : ": it takes " + std::string(traits.params)));
    if (key == "schema") return schema(hook, value);
    if (key == "tools") return tools(hook, value);
    if (value.kind != YamlNode::Kind::kScalar || value.scalar.empty()) return at(value, key + " must be a text");
    if (key == "text") hook.text = value.scalar;
    if (key == "path") hook.path = value.scalar;
    if (key != "retries") return {};
    const char* const end = value.scalar.data() + value.scalar.size();
    const auto read = std::from_chars(value.scalar.data(), end, hook.retries);
    if (read.ec != std::errc() || read.ptr != end || hook.retries > kRetriesMax)
      return at(value, "retries must be a whole number from 0 to 7");
    return {};
  }

  Result<void> schema(RecipeHook& hook, const YamlNode& value) const {
    if (value.kind != YamlNode::Kind::kMap && value.kind != YamlNode::Kind::kScalar)
      return at(value, "schema must be a JSON schema");
    hook.schema_json = value.kind == YamlNode::Kind::kMap ? value.json() : value.scalar;
    const auto parsed = JsonDocument::parse(hook.schema_json);
    if (!parsed) return at(value, "the schema is not JSON: " + parsed.error().message);
    const auto made = JsonSchema::read(parsed->root());
    if (!made) return at(value, "the schema: " + made.error().message);
    return {};
  }

  Result<void> tools(RecipeHook& hook, const YamlNode& value) const {
    if (value.kind == YamlNode::Kind::kScalar) hook.tools.push_back(value.scalar);
    for (const YamlNode& each : value.items) {
      if (each.kind != YamlNode::Kind::kScalar) return at(each, "a tool's name must be text");
      hook.tools.push_back(each.scalar);
    }
    if (hook.tools.empty()) return at(value, "tools must be a list of names");
    return {};
  }

  const std::string_view path_;
  std::vector<RecipeHook> out_;
};

}  // namespace

std::string_view name_of(RecipeHandler handler) { return traits_of(handler).name; }

Result<std::vector<RecipeHook>> read_recipe_hooks(const YamlNode& node, std::string_view path) {
  return RecipeHooksReader(path).read(node);
}

}  // namespace agentd
