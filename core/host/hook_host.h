// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_host.h - finds, checks, loads and subscribes every hook of a process, of every kind.
//
// hook_directories.h classifies the files. Native modules go to the plugin host, all others to the external hooks. No
// hook is run or parsed before its bytes are trusted (trust_store.h). A known guard that is missing, unrunnable or no
// longer trusted blocks its events.
//
// Threading: load_all() and shutdown() on one thread; reload_changed() on any; kind_of() and tools() on any thread at
// any time. All other members change only within these functions.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/external/external_hooks.h"
#include "core/host/loading.h"
#include "core/host/plugin_host.h"
#include "core/trust/trust_store.h"

namespace agentd {

// The config of one hook, in addition to a native one's PluginConfig.
struct HookSettings {
  std::optional<bool> enabled;
  std::optional<FailurePolicy> on_failure;
  std::optional<bool> shadow;
  std::optional<std::int16_t> priority;
  std::optional<Milliseconds> timeout;
  std::optional<bool> sandbox;  // of its programs, whatever it asks for
};

// The hooks whose programs run in the sandbox of commands.
enum class SandboxedHooks : std::uint8_t {
  kAsked,    // those that ask for it
  kProject,  // and all of the project
  kAll,
};

struct HookHostOptions {
  PluginHostOptions native;                      // directories, globs and grants apply to all kinds
  std::map<std::string, HookSettings> settings;  // by name, as in hooks.NAME
  std::vector<AdaptedSource> adapted;            // hooks.adapt, absolute paths
  std::vector<std::string> guards;               // hooks.guards
  std::string trust_file;                        // trust.json in the home directory
  SandboxedHooks sandbox = SandboxedHooks::kAsked;
  MakeHookCage cages{};         // empty = what is to run in a sandbox does not run
  std::string project_root;     // its hooks are keyed by their repository
  std::string project_recipes;  // directory of the project's recipes; empty = none
  ConsentRules consent;
  bool records_later =
      false;  // load_all() leaves recording to record_new(), for when the configuration is known to be right
};

// True for hooks.NAME.enabled: false, or a match in hooks.disable.
bool is_off(const HookHostOptions& options, const std::string& name);
// True for a match in hooks.allow, or if it is empty.
bool is_allowed(const HookHostOptions& options, const std::string& name);

// True if the programs of that hook run in the sandbox: the user's settings for it or for its file, those for all
// hooks, or its own wish, in this order.
bool is_sandboxed(const HookHostOptions& options, const std::string& file, const std::string& name,
                  Precedence precedence, bool own_wish);

// Applies the user's config, which overrides the hook's own settings; settings for one hook override those for its
// file, named `file`.
void apply_settings(const HookHostOptions& options, const std::string& file, HookDefinition& hook);

// How an executable is asked for its events.
ProbeOptions probe_options(const HookHostOptions& options, const HookFile& file);

class HookHost {
 public:
  // The arguments outlive the host, and the host outlives every snapshot with its subscriptions.
  HookHost(HookHostOptions options, ExternalEnvironment external);
  ~HookHost();
  HookHost(const HookHost&) = delete;
  HookHost& operator=(const HookHost&) = delete;

  // Loads every enabled hook that may run. Called once.
  void load_all();
  // Blocks the events of a guard that cannot decide. `why` completes the sentence.
  void block(const HookDefinition& guard, std::string why);
  // Guards of the trust store or the configuration that nothing enables, or that the configuration disables: one
  // sentence each, with what to do.
  std::vector<std::string> guards_kept_out();
  // Records and notes the hooks that load_all() has seen for the first time.
  void record_new();

  struct Reloaded {
    bool changed = false;               // subscriptions() have changed: publish them
    std::vector<std::string> warnings;  // important, one sentence each
    std::vector<std::string> notes;
  };
  // Reloads native modules whose files changed, appeared or disappeared since the last call
  // (PluginHost::reload_changed()); a guard whose file is gone blocks its events. Changes of the trust store are
  // noticed too.
  Reloaded reload_changed();

  std::vector<Subscription> subscriptions() const;
  ToolSource& tools() { return natives_.tools(); }
  // Hooks that were not loaded and why, untrusted hooks, missing guards; important, one sentence each.
  const std::vector<HookProblem>& problems() const { return problems_; }
  // Less important events, such as a digest recorded at first sight.
  const std::vector<std::string>& notes() const { return notes_; }
  // "native", "executable", "yaml", "webhook", "claude" ...; empty if no loaded hook has the name.
  std::string_view kind_of(std::string_view hook) const;
  const PluginHost& natives() const { return natives_; }
  const ExternalHooks& externals() const { return externals_; }

  // Ends everything. REQUIRES: no call is running.
  void shutdown();

 private:
  TrustStore* trust();
  Result<TrustEntry> entry_of(const HookFile& file, const std::string& digest);
  Result<void> agree(const TrustEntry& asked, Precedence precedence);
  Result<void> agree_native(const HookFile& file, const std::string& digest);
  // A hook that has loaded, and its abilities as shown to the user.
  struct Seen {
    TrustEntry entry;
    std::string may;
    std::string offers;  // "offers the tool word_count"; empty = nothing
  };
  Result<void> keep(const Seen& seen);
  void record(const Seen& seen);
  Result<void> remember(TrustEntry entry, const std::vector<HookDefinition>& hooks, std::string may,
                        std::string offers = {});
  std::string native_may(const Plugin& plugin) const;
  bool says_guard(const HookFile& file, std::string_view bytes) const;
  bool may_fail(const std::string& name) const;
  bool has_twin(const HookFile& file) const;
  void remember_native(const Plugin& plugin, const std::string& path);
  void load_external(HookFile& file);
  // Asks programs with unknown events for them, in parallel.
  void ask_programs(std::span<const HookFile> files);
  Result<LoadedHooks> load_program(const HookFile& file, const std::string& bytes, const TrustEntry& asked);
  std::vector<std::string> known_events(const TrustEntry& asked) const;
  std::string set_aside(const TrustEntry& asked) const;
  bool is_enabled(const HookFile& file) const;
  Result<void> load_file(HookFile& file);
  Result<void> load_settings(const AdaptedSource& source);
  void check_guards(bool stops);
  void tell_mistakes(const AdaptedSource& source, const std::vector<SourceMistake>& mistakes);
  void take(LoadedHooks loaded, const std::string& file);
  void add_missing_guards();
  bool trust_changed() REQUIRES(reload_mutex_);
  // `identity` is the guard's canonical path, or its name if no path is known.
  std::string no_hook_named(const std::string& name) const;
  void miss_guard(const std::string& name, const std::string& identity, const std::vector<std::string>& events,
                  std::string why);
  void miss_record();
  bool acts(const std::string& name) const;
  bool is_in_shadow(const std::string& name) const;
  bool is_switched_off(const std::string& name) const;
  std::string path_of_problem(const std::string& name) const;
  void miss_named_guard(const std::string& name, const std::vector<TrustEntry>& known);
  bool is_here(const TrustEntry& guard) const;
  bool is_loaded_from(const std::string& path) const;
  Result<void> claim(const std::string& name, const std::string& path);
  void problem(const std::string& path, const std::string& name, std::string message);
  std::string why_missing(const std::string& name, const std::string& path) const;

  const HookHostOptions options_;
  const Clock& clock_;
  Log& log_;
  std::optional<TrustStore> trust_;
  bool trust_opened_ = false;
  PluginHost natives_;
  ExternalHooks externals_;
  // Files that could not be loaded and were to guard: path to name.
  std::map<std::string, std::string> wanted_guards_;
  bool loading_ = false;
  struct Asked {
    std::string digest;
    Result<LoadedHooks> answer;
  };
  std::map<std::string, Asked> asked_;         // by path; answers of ask_programs() until they are loaded
  std::vector<Seen> unrecorded_;               // from load_all(), with records_later
  std::map<std::string, std::string> owners_;  // names of hooks and of their files, to the file's canonical path
  std::set<std::string> system_;               // names of those from the system's directories
  std::set<std::string> off_;                  // names that the user disabled
  std::set<std::string> missed_;               // missing guards, by identity
  std::vector<HookProblem> problems_;
  std::vector<std::string> notes_;
  Mutex reload_mutex_;  // one reload at a time
  FileWatch trust_watch_ GUARDED_BY(reload_mutex_);
};

}  // namespace agentd
