// SPDX-License-Identifier: Apache-2.0
#pragma once
// hooks.h - the hooks that act in a project: loaded once, checked against the settings that name them, published as
// the snapshot that its sessions share, and reloaded when their files change.
//
// Names, order and guards are decided here for hooks of every origin. The plugins
// of the system and the user among them are the runtime's, and shared with its other projects
// (core/host/shared_plugins.h).
//
// Threading: load() and the destructor on one thread; the rest on any, after load().

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/host/hook_host.h"
#include "core/runtime/runtime.h"
#include "core/workplace/hook_setup.h"
#include "core/workplace/plugin_states.h"

namespace agentd {

struct HookWishes {
  bool hooks = true;       // false: hooks are not asked, but tools may be there
  bool tools = true;       // false: the tools of hooks are not checked, and without hooks nothing is loaded
  bool safe_mode = false;  // no module, program or file of a hook is read, nor a recipe of the project
  bool will_run = false;   // a message is sure to be sent: hooks of every run's events are started at once
};

class Hooks {
 public:
  // All of them outlive the hooks.
  Hooks(Runtime& runtime, const Project& project, HookWishes wishes, const Warn& warn);
  // REQUIRES: no session is left.
  ~Hooks();
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;

  // Finds, loads and publishes them; `roots` are those of the workspace. Once. kUsage: one that the user configured
  // cannot act as the settings say.
  Result<void, RunError> load(const std::vector<std::string>& roots);
  // Records those that load() has seen for the first time; once is enough.
  void record_new();
  // trust_state() as it was when they were loaded, or after record_new() has written it.
  std::string trust_seen() const;
  // Publishes hooks whose files changed: one caller at a time, and the others find the new snapshot.
  void refresh();

  // In no order; empty where hooks are switched off.
  std::vector<Subscription> subscriptions() const;
  std::shared_ptr<const Snapshot> snapshot() const { return dispatcher_.pin(); }
  // Null where none are loaded.
  ToolSource* tools() const { return host_ ? &host_->tools() : nullptr; }
  // "native", "yaml" ...; empty for a name that is not loaded.
  std::string kind_of(std::string_view hook) const;
  // Its modules, and the bundled ones, also those that are not loaded. Reads their files.
  std::vector<PluginState> plugins() const;
  // For a hook that is asked outside of a run.
  ExternalEnvironment environment() const;

 private:
  Result<void, RunError> start(const std::vector<std::string>& roots);
  Result<void, RunError> check(const HookSetup& setup);
  Result<void, RunError> check_names(const HookSetup& setup) const;
  Result<void, RunError> check_tools();
  Result<void, RunError> check_definitions(const std::vector<Tool>& tools);
  void tell_guards_off() const;
  void publish() REQUIRES(mutex_);

  Runtime& runtime_;
  const Config& config_;
  const Project& project_;
  const HookWishes wishes_;
  const Warn& warn_;
  Dispatcher dispatcher_;
  std::unique_ptr<Services> own_services_;  // of the project's plugins
  MakeHookCage cages_;                      // empty before they are loaded
  std::unique_ptr<HookHost> host_;          // null = none are loaded
  mutable Mutex mutex_;                     // held while the host's hooks change, and while they are listed
  std::size_t notes_told_ GUARDED_BY(mutex_) = 0;
  std::string trust_seen_ GUARDED_BY(mutex_);
};

}  // namespace agentd
