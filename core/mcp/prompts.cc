// SPDX-License-Identifier: Apache-2.0
#include "core/mcp/prompts.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/mcp/pages.h"

namespace agentd::mcp {
namespace {

constexpr std::size_t kPromptsPage = 50, kShownPromptBytes = 80;
constexpr std::uint32_t kValuesMax = 100;  // of a completion; the protocol's limit

bool is_prompt(const RecipeEntry& entry) { return entry.recipe && !entry.recipe->swaps_context(); }

void write_prompt(JsonWriter& out, const Recipe& recipe) {
  out.begin_object().member("name", recipe.name).optional("description", recipe.description);
  out.key("arguments").begin_array();
  for (const RecipeArgument& each : recipe.arguments) {
    if (each.name == "conversation_id") continue;
    out.begin_object().member("name", each.name).optional("description", each.description);
    out.member("required", each.required).end_object();
  }
  out.end_array().end_object();
}

Result<Recipe, Fault> find_prompt(const Workplace& workplace, std::string_view name) {
  const auto entry = workplace.recipes().look(name);
  if (!entry || !is_prompt(*entry))
    return bad_params("there is no prompt '" + one_line(name, kShownPromptBytes) + "'" +
                      (entry && !entry->problem.empty() ? ": " + entry->problem : std::string()));
  return *entry->recipe;
}

std::string completion(const std::vector<std::string>& values) {
  JsonWriter out;
  out.begin_object().key("completion").begin_object().key("values").begin_array();
  const std::size_t count = std::min<std::size_t>(values.size(), kValuesMax);
  for (std::size_t i = 0; i < count; ++i) out.string(values[i]);
  out.end_array().member("total", static_cast<std::uint64_t>(values.size()));
  out.member("hasMore", count < values.size()).end_object().end_object();
  return std::string(out.text());
}

}  // namespace

Result<std::string, Fault> list_prompts(const Workplace& workplace, JsonView params) {
  std::string after;
  if (const JsonView cursor = params["cursor"]; cursor.exists()) {
    const auto read = read_cursor("prompts", cursor.string_or(""));
    if (!read) return bad_params("'cursor' is not one that prompts/list has given");
    after = *read;
  }
  JsonWriter out;
  out.begin_object().key("prompts").begin_array();
  std::size_t count = 0;
  std::string last, next;
  for (const RecipeEntry& entry : workplace.recipes().list()) {
    if (!is_prompt(entry) || entry.name <= after) continue;
    if (count == kPromptsPage) {
      next = last;
      break;
    }
    write_prompt(out, *entry.recipe);
    last = entry.name;
    ++count;
  }
  out.end_array();
  if (!next.empty()) out.member("nextCursor", write_cursor("prompts", next));
  out.end_object();
  return std::string(out.text());
}

std::uint64_t sum_of_prompts(const Workplace& workplace) {
  JsonWriter out;
  out.begin_array();
  for (const RecipeEntry& entry : workplace.recipes().list())
    if (is_prompt(entry)) write_prompt(out, *entry.recipe);
  out.end_array();
  return std::hash<std::string_view>{}(out.text());
}

Result<std::string, Fault> get_prompt(const Workplace& workplace, JsonView params) {
  const std::string_view name = params["name"].string_or("");
  AGENTD_TRY(const Recipe recipe, find_prompt(workplace, name));
  RecipeValues values;
  const JsonView arguments = params["arguments"];
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments.at(i).is_string()) return bad_params("the arguments of a prompt are texts");
    values.emplace(arguments.key_at(i), arguments.at(i).string_or(""));
  }
  auto text = render_recipe(recipe, values, {});
  if (!text) return bad_params(text.error().message);
  while (text->ends_with('\n')) text->pop_back();
  JsonWriter out;
  out.begin_object().optional("description", recipe.description).key("messages").begin_array();
  out.begin_object().member("role", "user").key("content").begin_object().member("type", "text");
  out.member("text", *text).end_object().end_object().end_array().end_object();
  return std::string(out.text());
}

Result<std::string, Fault> complete(const Workplace& workplace, JsonView params) {
  const JsonView ref = params["ref"], argument = params["argument"];
  const std::string_view type = ref["type"].string_or(""), so_far = argument["value"].string_or("");
  const std::string_view wanted = argument["name"].string_or("");
  if (wanted.empty()) return bad_params("'argument' has a name and a value");
  if (type == "ref/prompt") {
    AGENTD_TRY(const Recipe recipe, find_prompt(workplace, ref["name"].string_or("")));
    std::vector<std::string> values;
    for (const RecipeArgument& each : recipe.arguments)
      if (each.name == wanted && each.standard && each.standard->starts_with(so_far)) values.push_back(*each.standard);
    return completion(values);
  }
  if (type != "ref/resource") return bad_params("'ref' is of the type ref/prompt or ref/resource");
  std::vector<std::string> values;
  const std::string_view uri = ref["uri"].string_or("");
  if (uri.starts_with("agentd://conversation/") && wanted == "id") {
    const auto found = workplace.runtime().store().find_ids(so_far, kValuesMax);
    if (found)
      for (const Ulid& id : *found) values.push_back(id.text());
  }
  return completion(values);
}

}  // namespace agentd::mcp
