// SPDX-License-Identifier: Apache-2.0
#pragma once
// shared_plugins.h - the native hooks of the system and the user, of which all projects of a process share one instance
// each, and the parent of all workers.
//
// The host of a project decides which of its files may be loaded, under which name and in which order. Where it would
// load a module that is no project's, it asks here: the first one that has the bytes makes the instance, and the others
// get it. A changed file is therefore loaded once, and takes over the state once.
//
// Threading: thread-safe; shutdown() once, after the last host.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/native/ext_tables.h"
#include "core/native/plugin.h"
#include "core/services/registry.h"
#include "core/trust/hook_directories.h"
#include "core/workers/supervisor.h"

namespace agentd {

class SharedPlugins {
 public:
  // The first three outlive it, and so does `secrets` (null = none are looked for). `files` gives the files of an open
  // session, and `commands` its commands. `registry` gets what the plugins offer, and outlives it; null = they offer
  // nothing.
  SharedPlugins(TokenTable& tokens, const Clock& clock, Log& log, FilesOfSession files,
                const Secrets* secrets = nullptr, ServiceRegistry* registry = nullptr, CommandsOfSession commands = {});
  ~SharedPlugins();
  SharedPlugins(const SharedPlugins&) = delete;
  SharedPlugins& operator=(const SharedPlugins&) = delete;

  // Makes an instance; `earlier` is the one that it replaces, or null.
  using Make = std::function<Result<std::shared_ptr<Plugin>>(Plugin* earlier)>;
  // The instance of a module's bytes, which `file` was read for: the one that is there, or what `make` gives. After an
  // error of `make` the earlier one stays, and also where the file was replaced since it was read, so that no host
  // brings back a version that another one has left behind. One module is made at a time; `make` may call services, and
  // not this function.
  Result<std::shared_ptr<Plugin>> get(const HookFile& file, const std::string& digest, const Make& make);
  // True unless a newer version has taken its place.
  bool is_current(const Plugin& plugin) const;
  // The file is gone: the instance ends when no host uses it any more.
  void forget(const Plugin& plugin);

  // agentd.workspace/1 and agentd.process/1 of shared instances, by id: the files are those of the calling session. A
  // call outside of sessions has files only while there is one project.
  std::vector<std::pair<std::string, const void*>> interfaces() const;
  // A host with the files of its project, null = none could be opened; `host` is only compared.
  void enter(const void* host, std::shared_ptr<Workspace> files);
  void leave(const void* host);

  // Never null.
  std::shared_ptr<WorkerSupervisor> supervisor();

  // Ends every instance in reverse load order. REQUIRES: no call is running.
  void shutdown();

 private:
  // Instances stay here until a newer version replaces them; hosts and snapshots hold them too.
  std::shared_ptr<Workspace> files_of(agentd_conv conversation) const;

  const Clock& clock_;
  Log& log_;
  const FilesOfSession files_;
  ServiceRegistry* const registry_;
  const ExtTables tables_;

  Mutex loading_;  // held while an instance is made
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Plugin>> plugins_ GUARDED_BY(mutex_);  // the current ones, in order of their loading
  struct Place {
    const void* host = nullptr;
    std::shared_ptr<Workspace> files;  // shared with the host
    bool left = false;                 // its files serve until another project is opened
  };
  std::vector<Place> places_ GUARDED_BY(mutex_);
  std::shared_ptr<WorkerSupervisor> supervisor_
      GUARDED_BY(mutex_);  // from the first worker on; shared with the plugins
};

// Where the plugin's offers stand; `project_id` is the only project that it serves, empty = all. A project's own plugin
// offers only what the user's settings name it for.
ServicePlace service_place(const Plugin& plugin, const std::string& project_id);

// Ends the instances in reverse order, those in workers at the same time, and the supervisor's zygotes; null = it has
// none. REQUIRES: no call is running.
void end_plugins(const std::vector<std::shared_ptr<Plugin>>& plugins, WorkerSupervisor* supervisor, Log& log);

}  // namespace agentd
