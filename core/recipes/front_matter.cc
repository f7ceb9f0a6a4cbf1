// SPDX-License-Identifier: Apache-2.0
// front_matter.cc - parses a recipe's file: its front matter, and whether its text can be rendered.
#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/nearest.h"
#include "core/codec/yaml.h"
#include "core/recipes/recipes.h"

namespace agentd {
namespace {

constexpr std::string_view kConversationId = "conversation_id";

bool is_argument_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

class FrontMatterReader {
 public:
  FrontMatterReader(std::string_view text, std::string_view path) : text_(text), path_(path) {}

  Result<Recipe> read() {
    AGENTD_TRY(FrontMatter parts, parse_front_matter(text_, path_));
    out_.path = std::string(path_);
    const std::string_view head = text_.substr(0, text_.size() - parts.body.size());
    out_.body_line = 1 + static_cast<int>(std::count(head.begin(), head.end(), '\n'));
    out_.body = std::move(parts.body);
    if (parts.head.kind != YamlNode::Kind::kNull && parts.head.kind != YamlNode::Kind::kMap)
      return at(parts.head, "the front matter must be a map");
    for (const auto& [key, value] : parts.head.members) AGENTD_TRY_VOID(member(key, value));
    if (out_.body.find_first_not_of(" \t\r\n") == std::string::npos)
      return Error{Code::kInvalid, std::string(path_) + ":" + std::to_string(out_.body_line) +
                                       ":1: the recipe has no text after its front matter"};
    AGENTD_TRY_VOID(check_templates());
    return std::move(out_);
  }

 private:
  Error at(const YamlNode& node, const std::string& what) const {
    return {Code::kInvalid,
            std::string(path_) + ":" + std::to_string(node.line) + ":" + std::to_string(node.column) + ": " + what};
  }

  static bool is_plain(const YamlNode& node) {
    return node.kind == YamlNode::Kind::kScalar || node.kind == YamlNode::Kind::kNull;
  }

  Result<void> member(const std::string& key, const YamlNode& value) {
    if (key == "name" || key == "description") {
      if (!is_plain(value)) return at(value, key + " must be text");
      (key == "name" ? out_.name : out_.description) = value.scalar;
    } else if (key == "allowed_tools") {
      AGENTD_TRY(out_.allowed_tools, words(value, key, "a tool's name must be text", true));
      out_.restricts_tools = true;
    } else if (key == "allowed_commands") {
      AGENTD_TRY(out_.allowed_commands, words(value, key, "a command's pattern must be text", false));
      out_.restricts_commands = true;
    } else if (key == "arguments") {
      return arguments(value);
    } else if (key == "defaults") {
      return defaults(value);
    } else if (key == "hooks") {
      AGENTD_TRY(out_.hooks, read_recipe_hooks(value, path_));
    } else {
      return at(value, "unknown key '" + key +
                           "': a recipe has name, description, allowed_tools, allowed_commands, "
                           "arguments, defaults and hooks" +
                           did_you_mean(key, {"name", "description", "allowed_tools", "allowed_commands", "arguments",
                                              "defaults", "hooks"}));
    }
    return {};
  }

  // A list, or a single text; with `by_comma` a text may have several.
  Result<std::vector<std::string>> words(const YamlNode& node, const std::string& key, const std::string& mistake,
                                         bool by_comma) const {
    std::vector<std::string> out;
    if (node.kind == YamlNode::Kind::kScalar) {
      std::string_view rest = node.scalar;
      while (!rest.empty()) {
        const std::size_t comma = by_comma ? rest.find(',') : std::string_view::npos;
        std::string word(rest.substr(0, comma));
        if (by_comma) std::erase(word, ' ');
        if (!word.empty()) out.push_back(std::move(word));
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
      }
      return out;
    }
    if (node.kind != YamlNode::Kind::kList && node.kind != YamlNode::Kind::kNull)
      return at(node, key + " must be a list");
    for (const YamlNode& item : node.items) {
      if (item.kind != YamlNode::Kind::kScalar || item.scalar.empty()) return at(item, mistake);
      out.push_back(item.scalar);
    }
    return out;
  }

  RecipeArgument* find(std::string_view name) {
    for (RecipeArgument& each : out_.arguments)
      if (each.name == name) return &each;
    return nullptr;
  }

  Result<void> check_name(const std::string& name, const YamlNode& node) const {
    if (name == kConversationId)
      return at(node, "conversation_id is filled in automatically and cannot be an argument");
    if (is_argument_name(name)) return {};
    return at(node, "'" + name + "' is not a valid argument name: use letters, digits and _");
  }

  // "defaults" may come before "arguments".
  RecipeArgument& declare(const std::string& name) {
    if (RecipeArgument* const known = find(name)) return *known;
    out_.arguments.push_back({name, {}, false, std::nullopt});
    return out_.arguments.back();
  }

  Result<void> arguments(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kNull) return {};
    if (node.kind != YamlNode::Kind::kMap)
      return at(node, "arguments must be a map: NAME: {description, required, default}");
    for (const auto& [name, value] : node.members) {
      AGENTD_TRY_VOID(check_name(name, value));
      RecipeArgument& argument = declare(name);
      if (is_plain(value)) {
        argument.description = value.scalar;
        continue;
      }
      if (value.kind != YamlNode::Kind::kMap)
        return at(value, "the argument '" + name +
                             "' must be a text that describes it, or a map with description, "
                             "required and default");
      for (const auto& [key, each] : value.members) AGENTD_TRY_VOID(argument_member(argument, key, each));
      if (argument.required && argument.standard)
        return at(value, "the argument '" + name + "' is required and has a default: remove one of them");
    }
    return {};
  }

  Result<void> argument_member(RecipeArgument& argument, const std::string& key, const YamlNode& value) {
    if (!is_plain(value)) return at(value, key + " of an argument must be text");
    if (key == "description") {
      argument.description = value.scalar;
    } else if (key == "required") {
      if (value.scalar != "true" && value.scalar != "false") return at(value, "required must be true or false");
      argument.required = value.scalar == "true";
    } else if (key == "default") {
      return set_default(argument, value);
    } else {
      return at(value, "unknown key '" + key + "': an argument has description, required and default");
    }
    return {};
  }

  Result<void> set_default(RecipeArgument& argument, const YamlNode& value) {
    if (!is_plain(value)) return at(value, "the default of '" + argument.name + "' must be text");
    if (argument.standard) return at(value, "'" + argument.name + "' has two defaults");
    if (argument.required)
      return at(value, "the argument '" + argument.name + "' is required and has a default: remove one of them");
    argument.standard = value.scalar;
    return {};
  }

  Result<void> defaults(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::kNull) return {};
    if (node.kind != YamlNode::Kind::kMap) return at(node, "defaults must be a map: NAME: VALUE");
    for (const auto& [name, value] : node.members) {
      AGENTD_TRY_VOID(check_name(name, value));
      AGENTD_TRY_VOID(set_default(declare(name), value));
    }
    return {};
  }

  // Also collects undeclared arguments.
  Result<void> check_templates() {
    AGENTD_TRY(const auto names, template_names(out_.body, path_, out_.body_line));
    for (const std::string& name : names)
      if (name != kConversationId) declare(name);
    for (const RecipeHook& hook : out_.hooks)
      for (const std::string* text : {&hook.text, &hook.path}) {
        const auto used = template_names(*text, "its template");
        if (!used) return used.error().with_context(hook.place);
        for (const std::string& name : *used)
          if (name != kConversationId)
            return Error{Code::kInvalid, hook.place + ": the params of a handler know " +
                                             "{{.conversation_id}} only, not {{." + name + "}}"};
      }
    return {};
  }

  const std::string_view text_, path_;
  Recipe out_;
};

std::string listed(const std::vector<RecipeArgument>& arguments) {
  std::string out;
  for (const RecipeArgument& each : arguments) out += (out.empty() ? "" : ", ") + each.name;
  return out.empty() ? "it takes none" : "it takes " + out;
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view text, std::string_view path) {
  // Editors of other systems begin a file with a byte order mark, which is not part of the text.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return FrontMatterReader(text, path).read();
}

bool Recipe::swaps_context() const {
  return std::any_of(hooks.begin(), hooks.end(),
                     [](const RecipeHook& hook) { return hook.handler == RecipeHandler::kSwapContext; });
}

Result<RecipeValues> recipe_values(const Recipe& recipe, const RecipeValues& given) {
  const std::string which = "the recipe '" + recipe.name + "'";
  std::vector<std::string> names;
  for (const RecipeArgument& each : recipe.arguments) names.push_back(each.name);
  RecipeValues out;
  for (const auto& [name, value] : given) {
    if (name == kConversationId)
      return Error{Code::kInvalid, "conversation_id is filled in automatically and cannot be an argument"};
    if (std::find(names.begin(), names.end(), name) == names.end())
      return Error{Code::kInvalid,
                   which + " has no argument '" + name + "': " + listed(recipe.arguments) + did_you_mean(name, names)};
    out[name] = value;
  }
  std::string missing;
  for (const RecipeArgument& each : recipe.arguments) {
    if (each.required && out[each.name].empty())
      missing +=
          (missing.empty() ? "" : ", ") + each.name + (each.description.empty() ? "" : " (" + each.description + ")");
    if (each.standard && !out.contains(each.name)) out[each.name] = *each.standard;
  }
  if (!missing.empty()) return Error{Code::kInvalid, which + " needs a value for " + missing};
  return out;
}

Result<std::string> render_recipe(const Recipe& recipe, const RecipeValues& given, std::string_view conversation_id) {
  AGENTD_TRY(RecipeValues values, recipe_values(recipe, given));
  values[std::string(kConversationId)] = std::string(conversation_id);
  AGENTD_TRY(std::string text, render_template(recipe.body, values, recipe.place(), recipe.body_line));
  if (is_blank(text))
    return Error{Code::kInvalid, recipe.place() + ": the recipe's text is empty after its values were filled in"};
  return text;
}

}  // namespace agentd
