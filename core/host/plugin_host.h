// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin_host.h - all native hooks of a process: found, checked, loaded, and told apart by name.
//
// What cannot be used is a problem with one sentence; it never stops the others.
//
// Threading: load_all() and shutdown() on one thread; the rest is immutable between them.

#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/host/ext_tables.h"
#include "core/host/hook_directories.h"
#include "core/host/manifest.h"
#include "core/host/native_plugin.h"
#include "core/host/plugin_tools.h"

namespace agentd {

struct PluginHostOptions {
  std::vector<HookDirectory> directories;  // in order: system, project, user
  std::vector<std::string> disable;        // globs of names
  std::map<std::string, PluginConfig> plugins;  // by name, as in hooks.NAME
  std::vector<std::string> roots;          // of the workspace; empty = no files and no commands for hooks
  std::string private_copy_directory;      // for kernels that do not run memory files; empty = refuse
  uid_t user = ::geteuid();                // whose files are trusted beside root's
  // Asked with the digest of a module's bytes before they are mapped; an error keeps it out. Empty = all may.
  std::function<Result<void>(const HookFile&, const std::string& digest)> consent;
};

// What is known of a hook without running a byte of it.
struct HookDescription {
  std::string name, path;
  HookKind kind = HookKind::kNative;
  Precedence precedence = Precedence::kUser;
  std::optional<Manifest> manifest;
  std::string verdict;  // "ok", "disabled", or why it is not used and what to do; one line
  bool ok() const { return verdict == "ok"; }
};

// Every hook of the directories in the order in which they are loaded, unsafe and unreadable ones
// included; directories that are unsafe themselves are entries without a name. Reads only what the
// manifests need.
std::vector<HookDescription> describe_hooks(const PluginHostOptions& options);

class PluginHost {
 public:
  // All of them outlive the host, and the host outlives every snapshot with its subscriptions.
  PluginHost(PluginHostOptions options, TokenTable& tokens, Services& services, const Clock& clock,
             Log& log);
  ~PluginHost();
  PluginHost(const PluginHost&) = delete;
  PluginHost& operator=(const PluginHost&) = delete;

  // Loads every enabled module. Once.
  void load_all();

  const std::vector<std::shared_ptr<Plugin>>& plugins() const { return plugins_; }
  // Files of the directories that are no modules, in order; once.
  std::vector<HookFile> take_others() { return std::move(others_); }
  // Modules that guard, by what their manifest or the config says, and could not be loaded.
  struct BrokenGuard {
    std::string name, why;
    std::vector<std::string> events;  // of the manifest
  };
  const std::vector<BrokenGuard>& broken_guards() const { return broken_guards_; }
  // Names that a glob of the config switched off.
  const std::vector<std::string>& disabled() const { return disabled_; }
  // What was not loaded, and tools that are hidden.
  const std::vector<HookProblem>& problems() const { return problems_; }
  std::vector<Subscription> subscriptions() const;
  ToolSource& tools() { return tools_; }

  // Ends every instance, the last loaded first. REQUIRES: no call is running.
  void shutdown();

 private:
  void open_roots();
  // A module that may be loaded: read, judged, hashed and sealed.
  struct Ready {
    HookFile* file = nullptr;
    Manifest manifest;
    Grants grants;
    SealedFile sealed;
  };
  Result<Ready> prepare(HookFile& file);
  Result<Ready> prepare_module(HookFile& file, const std::string& bytes, Manifest manifest) const;
  Result<std::shared_ptr<Plugin>> load_one(Ready ready) const;
  Result<Grants> grants_for(const HookFile& file, const Manifest& manifest) const;
  void problem(const HookFile& file, std::string message);
  const PluginConfig& config_of(const std::string& name) const;

  const PluginHostOptions options_;
  std::unique_ptr<Workspace> workspace_;
  std::unique_ptr<ExtTables> ext_tables_;
  PluginEnvironment environment_;
  std::vector<std::shared_ptr<Plugin>> plugins_;
  void note_guard(const HookFile& file, const Manifest& manifest, const std::string& why);
  std::vector<BrokenGuard> broken_guards_;
  std::vector<HookFile> others_;
  std::vector<std::string> disabled_;
  std::vector<HookProblem> problems_;
  PluginTools tools_;
};

}  // namespace agentd
