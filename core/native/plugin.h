// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin.h - one instance of a native hook, wherever it runs: what the host and its tables see of it.
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

namespace agentd {

class Quarantine;

enum class Isolation : std::uint8_t {
  kInProcess,
  kProcess,                // one worker process for the plugin
  kProcessPerConversation  // one for each conversation
};

// What every plugin of a host shares; all of it outlives them.
struct PluginEnvironment {
  TokenTable& tokens;
  Services& services;
  const Clock& clock;
  Log& log;
  std::string private_copy_directory;
  // Interfaces of the host's own, by id; given to plugins that are granted them.
  std::vector<std::pair<std::string, const void*>> interfaces;
  // What crashed us before, and is not loaded again; null = nothing is kept.
  std::shared_ptr<Quarantine> quarantine = nullptr;
};

// What the user's config says of one plugin.
struct PluginConfig {
  std::string config_json = "{}";  // hooks.NAME.config, one JSON object
  std::optional<FailurePolicy> on_failure;
  std::optional<bool> enabled;
  std::optional<std::set<std::string>> grants;  // canonical ids; instead of the default
  std::optional<Isolation> isolation;           // instead of the default
  bool sandbox = true;                          // of a worker: what the manifest does not ask for is closed
  // Told why, at load and on its thread, when create() does not take config_json (AGENTD_E_ARG); empty = nobody is.
  std::function<void(const std::string& why)> refused{};
};

// Tells it; `why` is the error of create(), which begins with the hook's name.
void tell_refusal(const PluginConfig& config, const std::string& name, const Error& why);

// The row's flags, and what its module's target minor adds to them.
std::uint16_t subscription_flags(const Manifest& manifest, std::uint16_t flags);

// A gate or redactor fails closed unless the config says otherwise; `flags` are those of the row.
FailurePolicy failure_policy(const Manifest& manifest, std::uint16_t flags,
                             const std::optional<FailurePolicy>& configured);

// For create(), destroy() and their like.
constexpr Milliseconds kControlTime{5'000};

class Plugin : public std::enable_shared_from_this<Plugin> {
 public:
  virtual ~Plugin() = default;

  virtual const std::string& path() const = 0;
  virtual Precedence precedence() const = 0;
  virtual Isolation isolation() const = 0;
  virtual const PluginIdentity& identity() const = 0;
  virtual const Manifest& manifest() const = 0;
  virtual const Grants& grants() const = 0;
  // Optional rows that were skipped and the like.
  virtual const std::vector<std::string>& notes() const = 0;
  // True when core->query() answers for the id.
  virtual bool has_interface(std::string_view id) const = 0;

  // For Dispatcher::publish(); they keep the plugin alive. A gate or redactor fails closed unless the config
  // says otherwise.
  virtual std::vector<Subscription> subscriptions() const = 0;

  virtual std::vector<PluginTool> tools() const = 0;
  // One call at a time for a plugin that is not concurrent, its hooks included.
  virtual Result<ToolOutcome> call_tool(const PluginTool& tool, const ToolCall& call, agentd_conv conversation,
                                        const CancelToken& cancel, Deadline deadline) = 0;

  // For a hot reload: what the instance wants its successor to know; nullopt = it is stateless. Nobody calls it
  // meanwhile that is not concurrent.
  virtual Result<std::optional<std::string>> save_state() = 0;
  // REQUIRES: a new instance that nobody calls yet.
  virtual Result<void> load_state(std::string_view state, std::string_view previous_version) = 0;

  // Ends the instance; its subscriptions are skipped from now on. Calls after the first do nothing.
  // REQUIRES: no call of it is running.
  virtual Result<void> destroy() = 0;
  // Before destroy(): what need not be told of its end begins to end, and nobody waits for it.
  // REQUIRES: no call of it is running.
  virtual void end_soon() {}
  // False: destroy() has nobody to wait for who may take his time.
  virtual bool waits_to_end() const { return false; }
};

}  // namespace agentd
