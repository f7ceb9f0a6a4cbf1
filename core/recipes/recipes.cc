// SPDX-License-Identifier: Apache-2.0
#include "core/recipes/recipes.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/codec/yaml.h"
#include "embedded_compact.h"

namespace agentd {
namespace {

constexpr std::uint64_t kRecipeBytesMax = 1u << 20;

Error at(const YamlNode& node, std::string_view path, const std::string& what) {
  return {Code::kInvalid, std::string(path) + ":" + std::to_string(node.line) + ":" +
                              std::to_string(node.column) + ": " + what};
}

Result<std::vector<std::string>> words(const YamlNode& node, std::string_view path) {
  std::vector<std::string> out;
  if (node.kind == YamlNode::Kind::kScalar) {
    std::string_view rest = node.scalar;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      std::string word(rest.substr(0, comma));
      std::erase(word, ' ');
      if (!word.empty()) out.push_back(std::move(word));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    return out;
  }
  if (node.kind != YamlNode::Kind::kList && node.kind != YamlNode::Kind::kNull)
    return at(node, path, "allowed_tools must be a list");
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::kScalar) return at(item, path, "a tool's name must be text");
    out.push_back(item.scalar);
  }
  return out;
}

bool plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name.front() != '.' &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view text, std::string_view path) {
  AGENTD_TRY(const FrontMatter parts, parse_front_matter(text, path));
  Recipe out;
  out.path = std::string(path);
  out.body = parts.body;
  if (parts.head.kind != YamlNode::Kind::kNull && parts.head.kind != YamlNode::Kind::kMap)
    return at(parts.head, path, "the front matter must be a map");
  for (const auto& [key, value] : parts.head.members) {
    const bool plain = value.kind == YamlNode::Kind::kScalar || value.kind == YamlNode::Kind::kNull;
    if ((key == "name" || key == "description") && !plain) return at(value, path, key + " must be text");
    if (key == "name") {
      out.name = value.scalar;
    } else if (key == "description") {
      out.description = value.scalar;
    } else if (key == "allowed_tools") {
      AGENTD_TRY(out.allowed_tools, words(value, path));
      out.restricts_tools = true;
    } else if (key == "hooks") {
      AGENTD_TRY(out.hooks, read_recipe_hooks(value, path));
    } else if (key != "allowed_commands" && key != "arguments" && key != "defaults") {
      return at(value, path, "unknown key '" + key +
                                 "': a recipe has name, description, allowed_tools, allowed_commands, "
                                 "arguments, defaults and hooks");
    }
  }
  if (out.body.find_first_not_of(" \t\r\n") == std::string::npos)
    return Error{Code::kInvalid, std::string(path) + ": the recipe has no text after its front matter"};
  return out;
}

RecipeBook::RecipeBook(std::vector<std::string> directories, Log& log)
    : directories_(std::move(directories)), log_(log) {}

Result<Recipe> RecipeBook::find(std::string_view name) const {
  if (!plain_name(name))
    return Error{Code::kInvalid, "'" + std::string(name) + "' is no name of a recipe"};
  for (const std::string& directory : directories_) {
    const std::string path = directory + "/" + std::string(name) + ".md";
    auto text = read_file(path, kRecipeBytesMax);
    if (!text && text.error().code == Code::kNotFound) continue;
    if (!text) return text.error();
    return parse_recipe(*text, path);
  }
  if (name != "compact")
    return Error{Code::kNotFound, "there is no recipe '" + std::string(name) + "'; embedded is: compact"};
  AGENTD_TRY(Recipe embedded, parse_recipe(kCompactRecipe, "compact.md"));
  embedded.path.clear();
  return embedded;
}

Result<std::string> RecipeBook::compaction_prompt(std::string_view conversation_id,
                                                  const std::vector<std::string>& instructions) const {
  const std::map<std::string, std::string> values{{"conversation_id", std::string(conversation_id)}};
  const auto render = [&](const Recipe& recipe) {
    return render_template(recipe.body, values, recipe.path.empty() ? "compact.md" : recipe.path);
  };
  const auto recipe = find("compact");
  Result<std::string> prompt = recipe ? render(*recipe) : Result<std::string>(recipe.error());
  if (!prompt) {
    log_.write(LogLevel::kWarning, "recipes",
               prompt.error().message + "; the embedded compact recipe is used");
    AGENTD_TRY(const Recipe embedded, parse_recipe(kCompactRecipe, "compact.md"));
    prompt = render(embedded);
  }
  if (!prompt) return prompt;
  for (const std::string& more : instructions)
    if (!more.empty()) *prompt += "\n\nAdditional instructions: " + more;
  return prompt;
}

Result<std::string> RecipeBook::recipe_prompt(std::string_view name,
                                              const std::map<std::string, std::string>& values) const {
  AGENTD_TRY(const Recipe recipe, find(name));
  return render_template(recipe.body, values, recipe.path.empty() ? recipe.name : recipe.path);
}

}  // namespace agentd
