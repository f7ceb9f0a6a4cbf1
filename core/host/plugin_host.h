// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin_host.h - finds, checks and loads the native hooks of a process, and keeps them by name.
//
// A module that cannot be used is a problem with one sentence; it does not affect the others.
//
// With SharedPlugins the host decides which modules are loaded, and has the instances of the project's own; those of
// others are shared with the hosts of other projects. A worker that opens files itself can open one project's, so it is
// the host's own too.
//
// Threading: load_all(), reload_changed() and shutdown() on one thread at a time; plugins(), subscriptions() and
// tools() on any. All other members change only within the first three.

#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/host/file_watch.h"
#include "core/host/grants.h"
#include "core/host/shared_plugins.h"
#include "core/native/ext_tables.h"
#include "core/native/manifest.h"
#include "core/native/native_plugin.h"
#include "core/native/plugin_tools.h"
#include "core/trust/hook_directories.h"
#include "core/trust/quarantine.h"
#include "core/workers/worker_plugin.h"

namespace agentd {

struct PluginHostOptions {
  std::vector<HookDirectory> directories;       // in order: system, project, user
  std::vector<std::string> disable;             // globs of names
  std::vector<std::string> allow;               // globs of names; empty = all; disable takes precedence
  std::string quarantine_directory;             // quarantine.h; empty = nothing is quarantined
  std::string record_directory;                 // worker_records.h; empty = each isolated module starts at load
  std::vector<std::uint32_t> expected;          // events that will certainly come; see WorkerPlacing
  std::map<std::string, PluginConfig> plugins;  // by name, as in hooks.NAME
  GrantSettings grant_settings{};               // where the user writes grants
  std::string home;                             // agentd's own directory, which no worker can reach; empty = none
  std::vector<std::string> kept;                // paths that agentd.workspace may read but not change; see workspace.h
  std::vector<std::string> hidden{};            // files that it may not read
  std::vector<std::string> roots;               // roots of the workspace; empty = hooks get no files and no commands
  FilesOfSession files{};                       // files of sessions that bring their own roots; empty = none does
  CommandsOfSession commands{};                 // of sessions; empty = all commands are the host's own
  const Secrets* secrets = nullptr;             // looked for in views of files; null = none are
  SharedPlugins* shared = nullptr;              // has the instances that are no project's; null = they are this host's
  Services* of_project = nullptr;               // for the project's own plugins; null = those of all others
  ServiceRegistry* registry = nullptr;          // of the services that plugins offer and call; null = there are none
  std::string project_id{};                     // that its own plugins serve; with `shared`, all that are this host's
  std::string private_copy_directory;           // for kernels that do not run memory files; empty = refuse
  uid_t user = ::geteuid();                     // files of this user and of root are trusted
  Isolation isolation = Isolation::kProcess;    // for hooks that are neither bundled nor configured by name
  WorkerOptions worker;
  // The settings of the section `network` that are set: one JSON object with proxy, ca_file, client_cert and
  // client_key. A plugin whose config_schema has the property `network` gets it there, unless its own config has one; a
  // project's plugin does not, since a proxy may have a password.
  std::string network_json = "{}";
  // Called with the digest of a module's bytes before they are mapped; an error keeps it out. Empty = all may load.
  std::function<Result<void>(const HookFile&, const std::string& digest)> consent;
};

// The facts about a hook that are known without running it.
struct HookDescription {
  std::string name, path;
  HookKind kind = HookKind::kNative;
  Precedence precedence = Precedence::kUser;
  std::optional<Manifest> manifest;
  Isolation isolation = Isolation::kInProcess;  // for a native one with a manifest
  std::string obstacle;                         // why it is not used and what to do, one line; empty = it can be used
  NotGranted lacks{};                           // of what it asks for; no obstacle for the module itself
  bool ok() const { return obstacle.empty(); }
};

// Where a module runs: as configured by name; bundled ones in this process; others as the options say, unless these say
// kProcess and the manifest recommends a worker per conversation.
Isolation isolation_of(const PluginHostOptions& options, const HookFile& file, const Manifest& manifest);
// "in-process", "process", "process-per-conversation": as in the config.
std::string_view name_of(Isolation isolation);
std::optional<Isolation> isolation_of(std::string_view name);

// Every hook of the directories in load order, including unsafe and unreadable ones; unsafe directories are entries
// without a name. Reads only what the manifests need.
std::vector<HookDescription> describe_hooks(const PluginHostOptions& options);

class PluginHost {
 public:
  // The arguments outlive the host, and the host outlives every snapshot with its subscriptions.
  PluginHost(PluginHostOptions options, TokenTable& tokens, Services& services, const Clock& clock, Log& log);
  ~PluginHost();
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  // Loads every enabled module. Called once.
  void load_all();

  // Changes of the files since load_all() or the last reload.
  struct Reloaded {
    bool changed = false;                         // subscriptions() and tools() have changed
    std::vector<std::shared_ptr<Plugin>> loaded;  // new, or replacing an earlier version
    std::vector<std::string> gone;                // names whose files are gone
    std::vector<HookProblem> problems;            // each reported once
    std::vector<std::string> notes;
  };
  // Loads new and changed modules, with the same consent as load_all(), and removes those whose file is gone. The
  // earlier version passes its state on, and ends when the last snapshot with its subscriptions is gone and its last
  // tool call is over. If the new version cannot be loaded, the earlier one stays. `all`: checks unchanged files as
  // well, since another change may now permit them. Costs one stat() per directory and module if nothing changed.
  Reloaded reload_changed(bool all = false);

  // In order of precedence, at this moment.
  std::vector<std::shared_ptr<Plugin>> plugins() const {
    const MutexLock lock(plugins_mutex_);
    return plugins_;
  }
  // Files of the directories that are not modules, in order. Called once.
  std::vector<HookFile> take_others() { return std::move(others_); }
  // Guards, by their manifest or the config, that could not be loaded.
  struct BrokenGuard {
    std::string name, why;
    std::vector<std::string> events;  // from the manifest
  };
  const std::vector<BrokenGuard>& broken_guards() const { return broken_guards_; }
  // Names that a glob of the config disabled.
  const std::vector<std::string>& disabled() const { return disabled_; }
  // Modules that were not loaded, or without all that they ask for, and tools that are hidden.
  const std::vector<HookProblem>& problems() const { return problems_; }
  // Null if the quarantine is unused.
  Quarantine* quarantine() const { return quarantine_.get(); }
  std::vector<Subscription> subscriptions() const;
  ToolSource& tools() { return tools_; }

  // Ends every instance of its own in reverse load order. REQUIRES: no call is running.
  void shutdown();

 private:
  void open_roots();
  void open_workspace_of_roots();
  void open_quarantine();
  void tell_crashes();
  // A module that may be loaded: read, checked, hashed and sealed.
  struct Ready {
    HookFile* file = nullptr;
    Manifest manifest;
    Grants grants;
    SealedFile sealed;
    std::size_t place = 0;  // in load order
  };
  Result<Ready> prepare(HookFile& file);
  Result<Ready> prepare_module(HookFile& file, const std::string& bytes, Manifest manifest) const;
  void load_ready(Ready ready, std::vector<std::shared_ptr<Plugin>>& loaded);
  // An instance, and why it starts without the state of its earlier version; empty = it has it, or there is none.
  struct Made {
    std::shared_ptr<Plugin> plugin;
    std::string without_state;
  };
  // `others` are the loaded ones, which may contain null: an id may exist only once. `old`: the version that it
  // replaces, or null.
  Result<Made> load_one(Ready ready, const std::vector<std::shared_ptr<Plugin>>& others, Plugin* old);
  Result<Made> start(Ready ready, Plugin* old);
  PluginEnvironment environment_of(Precedence precedence, bool shared) const;
  bool is_shared(Precedence precedence, const Manifest& manifest, Isolation isolation) const;
  bool is_shared(const Plugin& plugin) const;
  // Adds the services of an instance of this host's own, instead of those of `old`, if that is not null.
  void offer(const std::shared_ptr<Plugin>& plugin, const Plugin* old) const;
  void withdraw(const Plugin& plugin) const;
  // An error if it lacks what it requires.
  Result<Grants> grants_of(const HookFile& file, const Manifest& manifest) const;
  NotGranted lacks_of(const std::string& name, Precedence precedence, const Manifest& manifest,
                      const Grants& grants) const;
  std::string why_denied(const Plugin& plugin) const;
  void tell_grants(const Plugin& plugin, std::vector<HookProblem>& to) const;
  void problem(const HookFile& file, std::string message);
  const PluginConfig& config_of(const std::string& name) const;
  PluginConfig config_for(const HookFile& file, const Manifest& manifest) const;

  const PluginHostOptions options_;
  std::shared_ptr<Quarantine> quarantine_;
  std::shared_ptr<Workspace> workspace_;  // shared with options_.shared
  std::unique_ptr<ExtTables> ext_tables_;
  PluginEnvironment environment_;
  std::shared_ptr<WorkerSupervisor> supervisor_;  // from the first worker on; shared with the plugins
  std::shared_ptr<WorkerRecords> records_;        // null = none are kept
  mutable Mutex plugins_mutex_;
  std::vector<std::shared_ptr<Plugin>> plugins_ GUARDED_BY(plugins_mutex_);

  // ---- reload (plugin_reload.cc)
  HookScan scan();
  bool is_on(const HookFile& file) const;
  bool is_seen(const HookFile& file) const;
  std::shared_ptr<Plugin> load_changed(HookFile& file, const std::shared_ptr<Plugin>& old,
                                       const std::vector<std::shared_ptr<Plugin>>& others, Reloaded& out);
  void tell_reload(const Plugin& old, const Made& made, Reloaded& out);
  void forget(const Plugin& plugin, Reloaded& out);
  void keep_unsafe(const HookProblem& problem, const std::vector<std::shared_ptr<Plugin>>& before,
                   std::vector<std::shared_ptr<Plugin>>& after, Reloaded& out);
  void tell(Reloaded& out, const std::string& path, const std::string& name, std::string message, bool old_goes_on);
  static void put_in_order(std::vector<std::shared_ptr<Plugin>>& plugins, const HookScan& found);
  FileWatch watch_;                          // directories and their modules
  std::map<std::string, struct stat> seen_;  // modules that were checked, by path
  std::map<std::string, std::string> told_;  // the last problem reported, by path
  std::map<std::string, std::uint32_t> reloads_;

  void note_guard(const HookFile& file, const Manifest& manifest, const std::string& why);
  std::vector<BrokenGuard> broken_guards_;
  std::vector<HookFile> others_;
  std::vector<std::string> disabled_;
  std::vector<HookProblem> problems_;
  PluginTools tools_;
};

}  // namespace agentd
