// SPDX-License-Identifier: Apache-2.0
// recipe.cc - `agentd recipe list` and `agentd recipe show`. No model is called and nothing is recorded.
#include <algorithm>

#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/exit_codes.h"
#include "core/app/table.h"
#include "core/app/terminal.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"
#include "core/workplace/recipe_setup.h"

namespace agentd::app {
namespace {

constexpr std::size_t kShownRecipeBytes = 200, kRecipeLineBytes = 2000;

struct RecipesHere {
  Config config;
  NullLog log;
  std::optional<RecipeBook> book;
};

Result<std::unique_ptr<RecipesHere>, Failure> recipes_here(const App& app, const Arguments& arguments) {
  const Result<std::string> home = app.home();
  if (!home) return Failure{kExitUsage, home.error().message};
  if (const auto cwd = app.directory(); !cwd) return Failure{kExitFailure, cwd.error().message};
  Result<Config> config = app.config(arguments);
  if (!config) return Failure{kExitUsage, config.error().message};
  auto out = std::make_unique<RecipesHere>(RecipesHere{std::move(*config), {}, std::nullopt});
  const Project project = find_project(app.surroundings().cwd);
  out->book.emplace(recipe_directories(out->config, *home, project, app.clock()), out->log);
  return out;
}

std::vector<std::string> handlers_of(const Recipe& recipe) {
  std::vector<std::string> out;
  for (const RecipeHook& hook : recipe.hooks) out.emplace_back(name_of(hook.handler));
  return out;
}

// "branch* style=short": a star marks a required argument.
std::string argument_text(const RecipeArgument& argument) {
  if (argument.required) return argument.name + "*";
  return argument.name + (argument.standard ? "=" + *argument.standard : "");
}

std::string arguments_text(const Recipe& recipe) {
  std::vector<std::string> out;
  for (const RecipeArgument& each : recipe.arguments) out.push_back(argument_text(each));
  return joined(out, " ");
}

void write_texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.key(key).begin_array();
  for (const std::string& text : texts) json.string(text);
  json.end_array();
}

std::string_view once_name(RecipeOnce once) {
  switch (once) {
    case RecipeOnce::kAlways:
      return "always";
    case RecipeOnce::kRun:
      return "run";
    case RecipeOnce::kConversation:
      return "conversation";
  }
  return "always";
}

void write_recipe(JsonWriter& json, const Recipe& recipe) {
  json.member("description", recipe.description);
  json.key("arguments").begin_array();
  for (const RecipeArgument& each : recipe.arguments) {
    json.begin_object().member("name", each.name).optional("description", each.description);
    json.member("required", each.required);
    if (each.standard) json.member("default", *each.standard);
    json.end_object();
  }
  json.end_array();
  if (recipe.restricts_tools) write_texts(json, "allowed_tools", recipe.allowed_tools);
  if (recipe.restricts_commands) write_texts(json, "allowed_commands", recipe.allowed_commands);
  json.key("handlers").begin_array();
  for (const RecipeHook& hook : recipe.hooks) {
    const EventTraits* const event = find_event(hook.event);
    json.begin_object().member("event", event == nullptr ? "" : event->name);
    json.member("handler", name_of(hook.handler)).member("once", once_name(hook.once)).end_object();
  }
  json.end_array();
}

void begin_entry(JsonWriter& json, const RecipeEntry& entry) {
  json.begin_object().member("name", entry.name).member("source", name_of(entry.source));
  json.optional("path", entry.path).optional("problem", entry.problem);
  if (entry.recipe) write_recipe(json, *entry.recipe);
  if (!entry.shadows.empty()) write_texts(json, "shadows", entry.shadows);
  if (!entry.ignored.empty()) write_texts(json, "ignored", entry.ignored);
}

std::string json_of(const RecipeEntry& entry) {
  JsonWriter json;
  begin_entry(json, entry);
  json.end_object();
  return std::string(json.text());
}

// Notes: the recipes that it replaces, and its errors.
std::vector<std::string> remarks_on(const RecipeEntry& entry) {
  std::vector<std::string> out;
  if (!entry.problem.empty()) out.push_back(entry.problem);
  if (!entry.shadows.empty())
    out.push_back("replaces " + joined(entry.shadows) + (entry.path.empty() ? "" : " (" + entry.path + ")"));
  for (const std::string& path : entry.ignored)
    out.push_back(path + " is not used: set recipes.project_compact to use it");
  return out;
}

std::vector<std::string> cells_of(const RecipeEntry& entry) {
  const auto cell = [](const std::string& text) { return neutral_line(text, kShownRecipeBytes); };
  if (!entry.recipe) return {cell(entry.name), std::string(name_of(entry.source)), "-", "-", "cannot be used"};
  return {cell(entry.name), std::string(name_of(entry.source)), cell(arguments_text(*entry.recipe)),
          cell(joined(handlers_of(*entry.recipe), ",")), cell(entry.recipe->description)};
}

void print_table(Output& out, const std::vector<RecipeEntry>& entries) {
  std::vector<std::vector<std::string>> rows;
  for (const RecipeEntry& entry : entries) rows.push_back(cells_of(entry));
  const std::vector<std::string> lines =
      table_lines({{"NAME"}, {"SOURCE"}, {"ARGUMENTS"}, {"HANDLERS"}, {"DESCRIPTION"}}, std::move(rows), out.columns());
  for (std::size_t at = 0; at < lines.size(); ++at) {
    out.print(lines[at] + "\n");
    if (at == 0) continue;
    for (const std::string& remark : remarks_on(entries[at - 1]))
      out.print("    " + neutral_line(remark, kRecipeLineBytes) + "\n");
  }
}

// Missing arguments stay as written: {{.name}}.
RecipeValues shown_values(const Recipe& recipe, RecipeValues given) {
  for (const RecipeArgument& each : recipe.arguments)
    if (each.required && given[each.name].empty()) given[each.name] = "{{." + each.name + "}}";
  return given;
}

void print_head(Output& out, const RecipeEntry& entry) {
  const auto line = [&](std::string_view what, const std::string& text) {
    std::string name(what);
    name.resize(18, ' ');
    out.print(name + neutral_line(text, kRecipeLineBytes) + "\n");
  };
  line("name:", entry.name);
  line("source:", std::string(name_of(entry.source)) + (entry.path.empty() ? "" : " " + entry.path));
  for (const std::string& remark : remarks_on(entry)) line("note:", remark);
  if (!entry.recipe) return;
  const Recipe& recipe = *entry.recipe;
  if (!recipe.description.empty()) line("description:", recipe.description);
  for (const RecipeArgument& each : recipe.arguments)
    line("argument:", argument_text(each) + (each.description.empty() ? "" : "  " + each.description));
  if (recipe.restricts_tools) line("allowed_tools:", joined(recipe.allowed_tools));
  if (recipe.restricts_commands) line("allowed_commands:", joined(recipe.allowed_commands));
  for (const RecipeHook& hook : recipe.hooks) {
    const EventTraits* const event = find_event(hook.event);
    line("handler:", std::string(name_of(hook.handler)) + " at " + std::string(event == nullptr ? "" : event->name) +
                         ", once: " + std::string(once_name(hook.once)));
  }
}

}  // namespace

int recipe_list_command(App& app, const Arguments& arguments) {
  const auto here = recipes_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const std::vector<RecipeEntry> entries = (*here)->book->list();
  if (arguments.has("json"))
    for (const RecipeEntry& entry : entries) app.out().print(json_of(entry) + "\n");
  else
    print_table(app.out(), entries);
  app.out().flush();
  return kExitOk;
}

int recipe_show_command(App& app, const Arguments& arguments) {
  const auto given = recipe_arguments(arguments.values("arg"));
  if (!given) return app.fail(kExitUsage, given.error().message);
  const auto here = recipes_here(app, arguments);
  if (!here) return app.fail(here.error().code, here.error().message);
  const auto entry = (*here)->book->look(arguments.words()[0]);
  if (!entry)
    return app.fail(entry.error().code == Code::kNotFound ? kExitNotFound : kExitUsage, entry.error().message);
  // For an unusable recipe the file is printed, so that the user can check or fix it.
  std::string text = entry->text;
  if (entry->recipe) {
    auto rendered = render_recipe(*entry->recipe, shown_values(*entry->recipe, *given), "{{.conversation_id}}");
    if (!rendered) return app.fail(kExitUsage, rendered.error().message);
    text = std::move(*rendered);
  }
  if (arguments.has("json")) {
    JsonWriter json;
    begin_entry(json, *entry);
    json.member("text", text).end_object();
    app.out().line(json.text());
  } else {
    print_head(app.out(), *entry);
    app.out().print("\n" + neutral(text) + (text.ends_with('\n') ? "" : "\n"));
  }
  app.out().flush();
  return entry->recipe ? kExitOk : kExitUsage;
}

}  // namespace agentd::app
