// SPDX-License-Identifier: Apache-2.0
#pragma once
// wiring.h - builds everything from the configuration, in the order in which the parts need each
// other, and takes it down again.
//
// Threading: one thread; the agent inside is as agent.h says.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/agent/agent.h"
#include "core/app/app.h"
#include "core/config/config.h"
#include "core/recipes/recipes.h"
#include "core/store/store.h"
#include "core/workplace/hook_setup.h"
#include "core/workplace/project.h"

namespace agentd::app {

// An error and the exit code that it ends the program with.
struct Failure {
  int code = 1;
  std::string message;
};
Failure failure_of(const RunError& error);

// The store in the home directory. `create` false: kNotFound when there is none yet.
Result<std::unique_ptr<Store>> open_store(const std::string& home, bool create, const Clock& clock);

// The diagnostic log's file; empty: log.level is off.
std::string log_file(const Config& config, const std::string& home);

// A conversation by its id, or by a beginning of it that no other has (4 characters at least).
Result<Ulid, Failure> find_conversation(const Store& store, const std::string& text);
// The newest one of the project.
Result<Ulid, Failure> newest_conversation(const Store& store, const Project& project);

struct EngineOptions {
  bool save = true;
  bool hooks = true;
  std::string recipe;  // in use from the start, as by use_recipe(); empty = none
  RecipeValues recipe_arguments;
  bool safe_mode = false;  // no module, program or file of a hook is read, nor a recipe of the project
  bool tools = true;
  bool trace_hooks = false;  // every answer of a hook is an event
  bool needs_model = true;   // false: nothing will be asked, so no key is needed
  bool will_run = false;     // a message is sure to be sent: hooks of every run's events are started at once
};

// Everything that a run needs, owned in one place.
class Engine {
 public:
  // `events` and `approver` outlive the engine. Warnings about instructions and hooks go to
  // `events`.
  static Result<std::unique_ptr<Engine>, Failure> build(App& app, const Config& config, const EngineOptions& options,
                                                        EventSink& events, Approver& approver);
  virtual ~Engine() = default;
  // A session begins: the hooks that were seen for the first time are recorded. Before it, nothing is agreed to.
  virtual void record_hooks() = 0;
  virtual Store& store() = 0;
  virtual Agent& agent() = 0;
  virtual const Project& project() const = 0;
  virtual const RecipeBook& recipes() const = 0;
  // The runs from here on are that recipe's: its tools alone are offered, its handlers and its
  // allowed_commands act. kExitNotFound, kExitUsage: nothing has changed.
  // REQUIRES: no run is going on.
  virtual Result<void, Failure> use_recipe(const std::string& name, const RecipeValues& arguments) = 0;
  // Takes it off again; fine when there is none.
  virtual void drop_recipe() = 0;
  // The recipe in use; null = none.
  virtual const Recipe* recipe() const = 0;
  // What a run of it begins with; `words` are the user's own and stand behind its text. kInvalid: the
  // text cannot be rendered. REQUIRES: a recipe is in use.
  virtual Result<RunRequest> recipe_run(const std::string& conversation_id, const std::string& words) const = 0;
  // Why the recipe says that its newest run failed although it came to its end.
  virtual std::optional<std::string> recipe_failure() const = 0;
  // For a hook that is asked outside of a run.
  virtual ExternalEnvironment external_environment() = 0;
};

}  // namespace agentd::app
