// SPDX-License-Identifier: Apache-2.0
#pragma once
// external_hooks.h - hooks that are not native modules, as subscriptions of the dispatcher.
//
// Each definition becomes one subscription. Its function decides from the payload whether the hook is called at all
// (matcher, when, once), runs it, reads its answer and emits actions into the running call, as a native module would
// through the C ABI.
//
// Threading: add() and shutdown() on one thread, before and after the snapshots that use the subscriptions; the hooks
// may be called from any number of threads.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/dialects/definition.h"
#include "core/external/external_environment.h"
#include "core/hooks/dispatcher.h"

namespace agentd {

class ExternalHook;
class BackgroundRuns;
class KodeletExtension;

class ExternalHooks {
 public:
  explicit ExternalHooks(ExternalEnvironment environment);
  ~ExternalHooks();
  ExternalHooks(const ExternalHooks&) = delete;
  ExternalHooks& operator=(const ExternalHooks&) = delete;

  void add(HookDefinition definition, HookBytes bytes);
  // Adds a guard that cannot be called: it fails closed at each of its events, with `why` as the message.
  void add_missing_guard(const std::string& name, std::string identity, Precedence precedence,
                         const std::vector<std::uint32_t>& events, std::string why);

  // The guard can be called again: later subscriptions() leave it out. Returns true if it was there.
  bool drop_missing_guard(const std::string& identity);

  std::vector<Subscription> subscriptions() const;
  // In the order of add().
  std::vector<const HookDefinition*> definitions() const;

  // Waits briefly for background runs, then ends them and every long-lived process.
  void shutdown();

 private:
  struct MissingGuard;
  std::shared_ptr<KodeletExtension> extension_of(const HookDefinition& definition);
  const ExternalEnvironment environment_;
  std::unique_ptr<BackgroundRuns> background_;
  // Keyed by command line: one process for all its events. Shared with the hooks.
  std::map<std::string, std::shared_ptr<KodeletExtension>> extensions_;
  std::vector<std::unique_ptr<ExternalHook>> hooks_;
  std::vector<std::unique_ptr<MissingGuard>> missing_;
};

}  // namespace agentd
