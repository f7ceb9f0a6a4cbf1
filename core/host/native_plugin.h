// SPDX-License-Identifier: Apache-2.0
#pragma once
// native_plugin.h - one instance of a native module: created, subscribed, destroyed.
//
// Threading: made and destroyed on one thread; the rest is immutable after load.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bridge/plugin_context.h"
#include "core/host/hook_directories.h"
#include "core/host/manifest.h"
#include "core/host/module.h"
#include "core/host/sealed_file.h"

namespace agentd {

// What every plugin of a host shares; all of it outlives them.
struct PluginEnvironment {
  TokenTable& tokens;
  Services& services;
  const Clock& clock;
  Log& log;
  std::string private_copy_directory;
  // Interfaces of the host's own, by id; given to plugins that are granted them.
  std::vector<std::pair<std::string, const void*>> interfaces;
};

// What the user's config says of one plugin.
struct PluginConfig {
  std::string config_json = "{}";              // hooks.NAME.config, one JSON object
  std::optional<FailurePolicy> on_failure;
  std::optional<bool> enabled;
  std::optional<std::set<std::string>> grants;  // canonical ids; instead of the default
};

class NativePlugin {
 public:
  static constexpr Milliseconds kControlTime{5'000};

  // Loads the module of `sealed`, the bytes of `file`, and makes an instance. Errors are whole sentences
  // that name the file; after one of them nothing of the plugin is subscribed.
  static Result<std::unique_ptr<NativePlugin>> load(const HookFile& file, SealedFile sealed,
                                                    Manifest manifest, Grants grants,
                                                    const PluginConfig& config,
                                                    const PluginEnvironment& environment);
  ~NativePlugin();
  NativePlugin(const NativePlugin&) = delete;
  NativePlugin& operator=(const NativePlugin&) = delete;

  const std::string& path() const { return path_; }
  Precedence precedence() const { return precedence_; }
  const PluginIdentity& identity() const { return context_->identity(); }
  const Manifest& manifest() const { return manifest_; }
  // Optional rows that were skipped and the like.
  const std::vector<std::string>& notes() const { return record_.notes; }

  // True when core->query() answers for the id.
  bool has_interface(std::string_view id) const;

  // For Dispatcher::publish(). A gate or redactor fails closed unless the config says otherwise.
  std::vector<Subscription> subscriptions() const;

  std::vector<PluginTool> tools() const { return context_->tools(); }
  // One call at a time for a plugin that is not concurrent, its hooks included.
  Result<ToolOutcome> call_tool(const PluginTool& tool, const ToolCall& call, agentd_conv conversation,
                                const CancelToken& cancel, Deadline deadline);

  // Ends the instance; its subscriptions are skipped from now on. Calls after the first do nothing.
  // REQUIRES: no call of it is running.
  Result<void> destroy();

 private:
  NativePlugin(const HookFile& file, Manifest manifest, const PluginConfig& config,
               const PluginEnvironment& environment);
  Result<void> create(const PluginConfig& config);
  FailurePolicy failure_policy(const agentd_hook& row) const;

  const std::string path_;
  const Precedence precedence_;
  const Manifest manifest_;
  const std::optional<FailurePolicy> on_failure_;
  const Clock& clock_;
  PluginRecord record_;
  std::unique_ptr<PluginContext> context_;
  void* self_ = nullptr;
  bool created_ = false;
  // Shared with the subscriptions of published snapshots; null for a concurrent plugin.
  std::shared_ptr<std::timed_mutex> turn_;
};

}  // namespace agentd
