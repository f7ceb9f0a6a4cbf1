// SPDX-License-Identifier: Apache-2.0
#pragma once
// chat_calls.h - what a chat asks of a session beside its messages: how it stands, the recipes of the project, and a
// run of one of them.
//
// Threading: as ClientSession.

#include <string>
#include <vector>

#include "core/session/client_session.h"

namespace agentd {

// How a session stands.
struct ChatStatus {
  struct Command {
    std::uint64_t handle = 0;
    std::string command;
    std::string ended{};  // why; empty = it runs
  };
  std::string provider, model;
  std::vector<Command> commands{};  // in the background
};
ChatStatus chat_status(const ClientSession& client);

// True if the conversation has a message. REQUIRES: a session.
bool has_messages(const ClientSession& client);

// A recipe for people who look for one.
struct ListedRecipe {
  std::string name;
  std::string about;  // its description, or why it is unusable
};
std::vector<ListedRecipe> listed_recipes(const ClientSession& client);

// A checkpoint that a chat begins with an offer of.
struct OfferedCheckpoint {
  std::string id, title;  // title: its name, or that of its conversation
  std::int64_t created_ms = 0;
};
std::optional<OfferedCheckpoint> offered_checkpoint(const ClientSession& client);

// "/NAME k=v text".
struct RecipeCall {
  std::string name;
  RecipeValues values;
  std::string words{};  // behind the recipe's text
};
// Uses the recipe, and returns the request of its run. kNotFound: there is no such recipe; kUsage: it cannot be used
// so, or there is nothing that it could replace. After an error none is in use. REQUIRES: as use_recipe(), and a
// session.
Result<RunRequest, RunError> begin_recipe(ClientSession& client, const RecipeCall& call);

struct RecipeRun {
  Result<RunReport, RunError> report;
  bool compacts = false;                 // it was to replace the conversation
  std::optional<std::string> failure{};  // ClientSession::recipe_failure()
};
// The run of begin_recipe(), after which the recipe is no longer in use.
RecipeRun run_recipe(ClientSession& client, const RunRequest& request, const CancelToken& cancel);

}  // namespace agentd
