// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <set>

#include "core/app/commands/commands.h"
#include "core/app/commands/hooks_shared.h"
#include "core/app/conversations.h"
#include "core/app/exit_codes.h"
#include "core/app/terminal.h"
#include "core/recipes/recipes.h"
#include "core/runtime/model_setup.h"
#include "core/workplace/recipe_setup.h"

namespace agentd::app {
namespace {

constexpr std::uint32_t kConversationsMax = 100;
constexpr std::size_t kOfferedTitleBytes = 60;

// Shells expand what they are offered.
bool is_plain(const std::string& name) {
  return !name.empty() && name[0] != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("._/:@+-").find(c) != std::string_view::npos;
  });
}

// Names, each with its description.
using Names = std::vector<std::pair<std::string, std::string>>;

Names conversations(const App& app) {
  const auto store = existing_store(app);
  if (!store || *store == nullptr || !app.directory()) return {};
  ConversationQuery query;
  query.project_id = find_project(app.surroundings().cwd).id;
  query.limit = kConversationsMax;
  Names out;
  if (const auto list = (*store)->list(query))
    for (const ConversationInfo& info : *list) out.emplace_back(info.id, neutral_line(info.title, kOfferedTitleBytes));
  return out;
}

Names recipes(const App& app, const Config& config, const std::string& home) {
  NullLog log;
  const Project project = find_project(app.surroundings().cwd);
  const RecipeBook book(recipe_directories(config, home, project, app.clock()), log);
  Names out;
  for (const RecipeEntry& entry : book.list()) out.emplace_back(entry.name, "");
  return out;
}

Names models(const Config& config, const std::string& home) {
  Names out;
  for (const std::string& alias : config.model_aliases()) out.emplace_back(alias, "");
  if (const auto table = load_model_table(home, config))
    for (const ModelInfo& info : table->models()) out.emplace_back(info.pattern, "");
  return out;
}

Names hooks(const App& app, const Config& config, const std::string& home) {
  const HooksHere here = hooks_here(app, config, home);
  const Inventory inventory = inventory_of(app, here);
  Names out;
  for (const HookSource& source : inventory.sources)
    for (const HookRow& row : rows_of(source, here.setup.options)) out.emplace_back(row.name, "");
  return out;
}

}  // namespace

int completion_command(App& app, const Arguments& arguments) {
  const std::string& what = arguments.words()[0];
  if (what == "bash" || what == "zsh" || what == "fish") {
    app.out().print(completion_script(what));
    return kExitOk;
  }
  const Result<std::string> home = app.home();
  if (!home) return app.fail(kExitUsage, home.error().message);
  const Result<Config> config = app.config(arguments);
  if (!config) return app.fail(kExitUsage, config.error().message);
  std::set<std::string> told;
  for (const auto& [name, said] : what == "conversations" ? conversations(app)
                                  : what == "recipes"     ? recipes(app, *config, *home)
                                  : what == "models"      ? models(*config, *home)
                                                          : hooks(app, *config, *home))
    if (is_plain(name) && told.insert(name).second) app.out().print(name + (said.empty() ? "" : "\t" + said) + "\n");
  return kExitOk;
}

}  // namespace agentd::app
