// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin.h - one instance of a native hook, wherever it runs, as the host and its tables see it.
//
// Threading: made, reloaded and destroyed on one thread at a time; the rest from any thread.

#include <agentd/hook_abi.h>

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/bridge/plugin_context.h"
#include "core/native/manifest.h"
#include "core/services/registry.h"

namespace agentd {

class Quarantine;

enum class Isolation : std::uint8_t {
  kInProcess,
  kProcess,                // one worker process for the plugin
  kProcessPerConversation  // one for each conversation
};

// Shared by all plugins of a host; all of it outlives them.
struct PluginEnvironment {
  TokenTable& tokens;
  Services& services;
  const Clock& clock;
  Log& log;
  std::string private_copy_directory;
  // The host's own interfaces, by id; available to plugins that have a grant.
  std::vector<std::pair<std::string, const void*>> interfaces;
  // Modules that crashed agentd and are not loaded again; null = no quarantine.
  std::shared_ptr<Quarantine> quarantine = nullptr;
  // For agentd.services/1; null = plugins call no services.
  ServiceRegistry* registry = nullptr;
  // A project's own plugin calls services for that project alone; empty = for that of the conversation.
  std::string project_id{};
};

// The user's config of one plugin.
struct PluginConfig {
  std::string config_json = "{}";  // hooks.NAME.config, one JSON object
  std::optional<FailurePolicy> on_failure;
  std::optional<bool> enabled;
  std::optional<std::set<std::string>> grants;  // canonical ids; replace the default
  std::optional<Isolation> isolation;           // replaces the default
  bool sandbox = true;                          // for a worker: closes what the manifest does not ask for
  // Called with the reason, at load and on the loading thread, when create() rejects config_json (AGENTD_E_ARG).
  // Optional.
  std::function<void(const std::string& why)> refused{};
};

// Calls `refused`; `why` is the error of create(), which begins with the hook's name.
void tell_refusal(const PluginConfig& config, const std::string& name, const Error& why);

// The row's flags, and those that its module's target minor implies.
std::uint16_t subscription_flags(const Manifest& manifest, std::uint16_t flags);

// A gate or redactor fails closed unless the config says otherwise; `flags` are the row's.
FailurePolicy failure_policy(const Manifest& manifest, std::uint16_t flags,
                             const std::optional<FailurePolicy>& configured);

// For create(), destroy() and similar calls.
constexpr Milliseconds kControlTime{5'000};

class Plugin : public std::enable_shared_from_this<Plugin>, public ServiceProvider {
 public:
  ~Plugin() override = default;

  virtual const std::string& path() const = 0;
  virtual Precedence precedence() const = 0;
  virtual Isolation isolation() const = 0;
  virtual const PluginIdentity& identity() const = 0;
  virtual const Manifest& manifest() const = 0;
  virtual const Grants& grants() const = 0;
  // Remarks such as skipped optional rows.
  virtual const std::vector<std::string>& notes() const = 0;

  // For Dispatcher::publish(); they keep the plugin alive. A gate or redactor fails closed unless the config says
  // otherwise.
  virtual std::vector<Subscription> subscriptions() const = 0;

  virtual std::vector<PluginTool> tools() const = 0;
  // False: one call at a time.
  virtual bool concurrent() const = 0;
  // A plugin that is not concurrent gets one call at a time, hook calls included.
  virtual Result<ToolOutcome> call_tool(const PluginTool& tool, const ToolCall& call, const SessionContext& session,
                                        const CancelToken& cancel, Deadline deadline) = 0;

  // For a hot reload: the state for the successor; nullopt = stateless. A plugin that is not concurrent gets no other
  // call in the meantime.
  virtual Result<std::optional<std::string>> save_state() = 0;
  // REQUIRES: a new instance without any calls so far.
  virtual Result<void> load_state(std::string_view state, std::string_view previous_version) = 0;

  // Ends the instance; its subscriptions are then skipped. Further calls have no effect. REQUIRES: no call of it is
  // running.
  virtual Result<void> destroy() = 0;
  // Called before destroy(): begins to end what needs no notification, without waiting. REQUIRES: no call of it is
  // running.
  virtual void end_soon() {}
  // False if destroy() does not wait for anything.
  virtual bool waits_to_end() const { return false; }
};

}  // namespace agentd
