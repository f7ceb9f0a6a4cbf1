// SPDX-License-Identifier: Apache-2.0
#pragma once
// client_session.h - what one client brings and has: where it works, who answers its questions, who hears its events,
// the recipe of its runs, and the session with its conversation.
//
// A door prepares it from an OpenRequest, before anything is opened for it, and then opens the conversation.
//
// Threading: one thread; the session inside is as agent.h says.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/agent/checkpoints.h"
#include "core/process/process_host.h"
#include "core/recipes/handlers.h"
#include "core/session/open_request.h"
#include "core/session/recipe_tools.h"
#include "core/workplace/workplace.h"

namespace agentd {

class ClientSession {
 public:
  // Reads what the model is told first, and settles how it is asked. No conversation is open yet. The workplace
  // outlives it. kUsage; kFailure: its files cannot be opened.
  static Result<std::unique_ptr<ClientSession>, RunError> prepare(Workplace& workplace, OpenRequest request);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  Workplace& workplace() const { return workplace_; }

  // Opens an existing conversation, or a new one; agent.h. With lifecycle.auto_resume_on_start a new one begins as the
  // project's newest checkpoint. `first_text`: the user's, when it is known. REQUIRES: the workplace's hooks are
  // loaded; no session.
  Result<void, RunError> open(std::optional<Ulid> conversation, const CancelToken& cancel,
                              const std::string& first_text = {});
  // The checkpoint that a new conversation could begin as; nullopt: there is none, or it cannot be read.
  std::optional<Checkpoint> offer() const;
  // A new conversation in place of the one before, whose commands end; Agent::clear(). There is a session afterwards
  // unless the error is of another kind than kBlocked and kCancelled.
  Result<void, RunError> clear(const CancelToken& cancel);
  // Null before open().
  Session* session() const { return session_.get(); }
  // True if the conversation is in the store: before anything was said in it, it ends with its session. REQUIRES: a
  // session.
  bool is_stored() const;
  // The commands that its tools have started. Never null.
  ProcessHost& commands() const { return *commands_; }
  // Ends the session with its commands, if there is one; there is none afterwards.
  void end(std::string_view reason);

  // The runs from here on are that recipe's: its tools alone are offered, its handlers and its allowed_commands act.
  // kNotFound, kUsage: nothing has changed. REQUIRES: no run is going on; the workplace's hooks are loaded.
  Result<void, RunError> use_recipe(const std::string& name, const RecipeValues& values);
  // The same for one that Workplace::find_recipe() has given.
  Result<void, RunError> use_recipe(Recipe recipe, const RecipeValues& values);
  // The recipe of a run that waits, if it has one: "the recipe x has changed", or empty when it is what it was.
  // kNotFound, kUsage: it cannot be used any more.
  Result<std::string, RunError> use_recipe_of(const WaitRecord& wait);
  // Takes it off again; fine when there is none.
  void drop_recipe();
  // The recipe in use; null = none.
  const Recipe* recipe() const { return recipe_ ? &*recipe_ : nullptr; }
  // The request that starts a run of the recipe; `words` are the user's own and follow its text. kInvalid: the text
  // cannot be rendered. REQUIRES: a recipe is in use; a session.
  Result<RunRequest> recipe_run(const std::string& words) const;
  // Why the recipe says that its newest run failed although it came to its end.
  std::optional<std::string> recipe_failure() const;

 private:
  ClientSession(Workplace& workplace, OpenRequest request);
  AgentParts parts();
  Result<void, RunError> open_files();
  Checkpoints checkpoints() const;
  // The newest checkpoint as a new conversation; nullopt: there is none, or why not was told.
  std::optional<Ulid> resume_newest(const CancelToken& cancel) const;
  std::string recipe_state() const;
  Result<std::unique_ptr<RecipeHandlers>, RunError> make_handlers(const Recipe& recipe);
  // The workplace's hooks, and the handlers of the recipe in use.
  void publish();
  // Before a turn.
  void refresh();
  // Starts the MCP servers of the workplace and of the session, as far as they are not.
  void start_servers();
  void tell_of_servers();
  // Ends what the session has left running, and tells it.
  void end_commands();

  Workplace& workplace_;
  Runtime& runtime_;
  const OpenRequest request_;
  std::vector<std::string> roots_;  // of its files
  RecipeTools tools_;
  std::set<std::string> slow_servers_;     // of which was told that they still start
  std::uint64_t servers_seen_ = 0;         // McpServers::refresh(), when its own were started
  std::optional<Deadline> servers_until_;  // its own were started, and are waited for until then
  Dispatcher dispatcher_;
  std::shared_ptr<const Snapshot> seen_;  // of the workplace's hooks, when they were published last
  // The workplace's, or its own. Shared with calls of plugins that are under way. Null = the workplace's cannot be
  // opened, and no recipe writes.
  std::shared_ptr<Workspace> files_;
  const std::shared_ptr<ProcessHost> commands_;  // the client's, or agentd's own; shared in the same way
  std::optional<Recipe> recipe_;                 // in use
  RecipeValues recipe_values_;
  // The hooks of every used recipe, since a turn may still hold a snapshot that names them.
  std::vector<std::unique_ptr<RecipeHandlers>> handlers_;
  RecipeHandlers* active_ = nullptr;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<Session> session_;
};

}  // namespace agentd
