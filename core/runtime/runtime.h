// SPDX-License-Identifier: Apache-2.0
#pragma once
// runtime.h - what a process has once, whatever projects and clients it serves: settings, log, models, providers,
// store, ledgers, tokens, ids, the plugins of the system and the user, and the services that hooks get.
//
// It is begun in two steps, so that what is wrong with a request is found before a provider or the store is touched.
// Nothing here knows a project or a session.
//
// Threading: begin() and open() on one thread; real_model() is thread-safe; what the accessors give is as its own
// header says.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "core/agent/agent.h"
#include "core/agent/run_queue.h"
#include "core/base/mutex.h"
#include "core/bridge/token_table.h"
#include "core/host/shared_plugins.h"
#include "core/process/command_reader.h"
#include "core/recipes/recipes.h"
#include "core/runtime/provider_setup.h"
#include "core/runtime/receipt_retention.h"
#include "core/runtime/service_callers.h"
#include "core/runtime/surroundings.h"
#include "core/scrub/secrets.h"
#include "core/search/feeder.h"
#include "core/services/registry.h"

namespace agentd {

// Takes a warning for people, a sentence.
using Warn = std::function<void(const std::string&)>;

struct RuntimeOptions {
  bool save = true;         // false: conversations are kept in memory
  bool needs_model = true;  // false: nothing will be asked, so no key is needed
};

class Runtime {
 public:
  // Reads the table of models and opens the log. The references, and what `warn` refers to, outlive the runtime.
  // kUsage: there is no home, or the settings name no model that can be asked, or a file that cannot be read.
  static Result<std::unique_ptr<Runtime>, RunError> begin(const ProcessSurroundings& surroundings, const Config& config,
                                                          const Clock& clock, RuntimeOptions options, Warn warn);
  // Ends its plugins, then its threads together, while the store is closed. REQUIRES: no workplace is left.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Finds the providers' keys, then opens the store. Once; REQUIRES: nobody uses http() yet. kUsage, kProvider, kStore.
  Result<void, RunError> open();

  const ProcessSurroundings& surroundings() const { return surroundings_; }
  const Config& config() const { return config_; }
  const Clock& clock() const { return clock_; }
  const std::string& home() const { return home_; }
  // False: conversations are kept in memory.
  bool saves() const { return options_.save; }
  // The user's home, for "~"; empty = "~" is a name.
  std::string user_home() const { return surroundings_.environment("HOME").value_or(""); }
  Log& log() { return *log_; }
  // Null: secrets.scrub is off.
  const Secrets* secrets() const { return secrets_.get(); }
  // The client of providers and webhooks: one thread for all their requests, started by the first.
  HttpClient& http() { return *http_; }
  TokenTable& tokens() { return tokens_; }
  // The reader of the commands of all sessions: one thread, started by the first.
  const std::shared_ptr<CommandReader>& command_reader() const { return command_reader_; }
  // To be run when a session has ended: removes outputs of commands that are older than a week. Looks once an hour.
  void remove_old_spills();

  // REQUIRES of the following: open() has succeeded.
  Store& store() { return *store_; }
  // To be run when a session has ended.
  ReceiptRetention& receipt_retention() { return *retention_; }
  AgentServices& services() { return *services_; }
  // The services that plugins and agentd offer, by interface.
  ServiceRegistry& registry() { return *registry_; }
  // Memories of whoever offers them.
  Recollections& recollections() { return *recollections_; }
  // The commands of an open session, for the plugins that it calls.
  SessionCommands commands_of(agentd_conv conversation) const;
  // The plugins that all projects share.
  SharedPlugins& plugins() { return *plugins_; }
  RuntimeParts agent_parts();
  // The settings of the model in use, and of requests in addition to the turns of a conversation.
  const ModelSettings& model_settings() const { return settings_; }
  // `like` for another model, by its real name. kInvalid: its budget does not fit its window.
  Result<ModelSettings> settings_for(const ModelSettings& like, const std::string& model) const;
  // The name under which a model of a setting, a hook or a client is requested. A misspelt provider in it is a warning,
  // once for each model; on other threads than begin()'s, which may not call `warn`, in the diagnostic log.
  std::string real_model(std::string_view name) const;
  // budget.run_* and its like.
  Limits limits_of(const std::string& what) const;

 private:
  Runtime(const ProcessSurroundings& surroundings, const Config& config, const Clock& clock, RuntimeOptions options,
          std::string home, Warn warn);
  Result<void, RunError> load_models();
  Result<void, RunError> load_secrets();
  void warm_up();
  Result<void, RunError> make_providers();
  Result<void, RunError> make_scripted();
  Result<void, RunError> check_keys(const std::string& own) const;
  Result<void> check_key(const std::string& provider) const;
  Result<void, RunError> open_stores();
  void settle_models();
  void make_agent_services();
  std::uint64_t longest_answer(const std::string& model) const;

  // In the order in which they need each other; taken down the other way round.
  const ProcessSurroundings& surroundings_;
  const Config& config_;
  const Clock& clock_;
  const RuntimeOptions options_;
  const std::string home_;
  const Warn warn_;
  const std::thread::id own_thread_ = std::this_thread::get_id();
  std::unique_ptr<Secrets> secrets_;  // null: nothing is looked for
  std::unique_ptr<Log> log_;
  std::optional<KeyRing> keys_;
  std::unique_ptr<HttpClient> http_;
  const std::shared_ptr<CommandReader> command_reader_ = std::make_shared<CommandReader>(clock_);
  std::unique_ptr<ModelProvider> provider_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<IndexFeeder> feeder_;    // null: conversations are not saved
  std::unique_ptr<Store> spending_store_;  // null: spending is recorded in store_, if at all
  std::optional<Ledger> ledger_, conversations_;
  std::optional<ReceiptRetention> retention_;
  ModelTable models_;
  ModelRoute route_;  // the provider and its model
  std::atomic<std::uint64_t> spills_due_ns_{0};
  mutable Mutex told_mutex_;
  mutable std::set<std::string> told_ GUARDED_BY(told_mutex_);  // models whose provider was checked
  BudgetPolicy budget_;
  std::unique_ptr<TokenEstimator> estimator_;
  ModelSettings settings_;
  std::optional<RecipeBook> recipes_;  // the user's
  TokenTable tokens_;
  IdSource ids_;
  RunQueue runs_;
  AgentServicesPtr services_;
  std::optional<ServiceRegistry> registry_;
  std::optional<ServiceRecollections> recollections_;
  std::optional<SharedPlugins> plugins_;
};

// The diagnostic log of the settings. It drops everything if it is off, or cannot be written, of which `warn` is
// notified.
std::unique_ptr<Log> open_log(const Config& config, const std::string& home, const Warn& warn);
// The diagnostic log's file; empty: log.level is off.
std::string log_file(const Config& config, const std::string& home);

}  // namespace agentd
