// SPDX-License-Identifier: Apache-2.0
#include "core/session/chat_calls.h"

#include <utility>

namespace agentd {

ChatStatus chat_status(const ClientSession& client) {
  const ModelSettings& model = client.workplace().runtime().model_settings();
  ChatStatus out{model.provider, model.model};
  for (const CommandState& each : client.commands().list())
    out.commands.push_back({each.handle, each.command, each.ended() ? std::string(name_of(each.reason)) : ""});
  return out;
}

bool has_messages(const ClientSession& client) {
  const auto id = Ulid::parse(client.session()->conversation_id());
  if (!id) return false;
  const auto info = client.workplace().runtime().store().info(*id);
  return info && info->messages != 0;
}

std::vector<ListedRecipe> listed_recipes(const ClientSession& client) {
  std::vector<ListedRecipe> out;
  for (const RecipeEntry& entry : client.workplace().recipes().list())
    out.push_back({entry.name, entry.recipe ? entry.recipe->description : entry.problem});
  return out;
}

std::optional<OfferedCheckpoint> offered_checkpoint(const ClientSession& client) {
  const auto offer = client.offer();
  if (!offer) return std::nullopt;
  return OfferedCheckpoint{offer->record.id, offer->record.name.empty() ? offer->title : offer->record.name,
                           offer->created_ms};
}

Result<RunRequest, RunError> begin_recipe(ClientSession& client, const RecipeCall& call) {
  AGENTD_TRY_VOID(client.use_recipe(call.name, call.values));
  auto request = client.recipe_run(call.words);
  const bool empty = request && request->compaction_run && !has_messages(client);
  if (request && !empty) return std::move(*request);
  client.drop_recipe();
  return RunError{RunError::Kind::kUsage,
                  empty ? "the conversation is empty: there is nothing to compact" : request.error().message};
}

RecipeRun run_recipe(ClientSession& client, const RunRequest& request, const CancelToken& cancel) {
  RecipeRun out{client.session()->run(request, cancel), request.compaction_run, {}};
  if (out.report) out.failure = client.recipe_failure();
  client.drop_recipe();
  return out;
}

}  // namespace agentd
