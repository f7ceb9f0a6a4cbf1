// SPDX-License-Identifier: Apache-2.0
#pragma once
// native_plugin.h - one instance of a native module: created, subscribed, destroyed.
//
// Threading: made on one thread and immutable after load(), except for destroy(), which the last owner calls unless it
// was called before.

#include <agentd/hook_abi.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/bridge/module.h"
#include "core/bridge/plugin_context.h"
#include "core/native/manifest.h"
#include "core/native/plugin.h"
#include "core/trust/hook_directories.h"
#include "core/trust/sealed_file.h"

namespace agentd {

class NativePlugin final : public Plugin {
 public:
  // Loads the module in `sealed`, the bytes of `file`, and makes an instance. Errors are complete sentences that name
  // the file; after an error nothing of the plugin is subscribed.
  static Result<std::shared_ptr<NativePlugin>> load(const HookFile& file, SealedFile sealed, Manifest manifest,
                                                    Grants grants, const PluginConfig& config,
                                                    const PluginEnvironment& environment);
  ~NativePlugin() override;
  NativePlugin(const NativePlugin&) = delete;
  NativePlugin& operator=(const NativePlugin&) = delete;

  const std::string& path() const override { return path_; }
  Precedence precedence() const override { return precedence_; }
  Isolation isolation() const override { return Isolation::kInProcess; }
  const PluginIdentity& identity() const override { return context_->identity(); }
  const Manifest& manifest() const override { return manifest_; }
  const Grants& grants() const override { return context_->grants(); }
  const std::vector<std::string>& notes() const override { return record_.notes; }
  std::vector<Subscription> subscriptions() const override;
  std::vector<PluginTool> tools() const override { return context_->tools(); }
  bool concurrent() const override { return turn_ == nullptr; }
  Result<ToolOutcome> call_tool(const PluginTool& tool, const ToolCall& call, const SessionContext& session,
                                const CancelToken& cancel, Deadline deadline) override;
  const void* service_instance() const override { return context_->core(); }
  std::vector<OfferedService> services() const override { return context_->provided(); }
  ServiceAnswer call_service(const OfferedService& service, const ServiceRequest& request) override;
  Result<std::optional<std::string>> save_state() override;
  Result<void> load_state(std::string_view state, std::string_view previous_version) override;
  Result<void> destroy() override;

 private:
  NativePlugin(const HookFile& file, Manifest manifest, const PluginConfig& config,
               const PluginEnvironment& environment);
  Result<void> create(const PluginConfig& config);
  Result<std::optional<std::string>> ask_for_state();
  // The error names the tasks that did not end; the instance is then leaked.
  Result<void> end_tasks(const std::string& stage);
  void keep_instance();

  const std::string path_;
  const Precedence precedence_;
  const Manifest manifest_;
  const std::string name_;
  const std::string config_json_;
  const std::optional<FailurePolicy> on_failure_;
  const Clock& clock_;
  Log& log_;
  PluginRecord record_;
  std::unique_ptr<PluginContext> context_;
  void* self_ = nullptr;
  ServiceGate gate_;
  bool created_ = false;
  bool leaks_ = false;  // a task still runs: nothing that it may use is freed
  // Shared with the subscriptions of published snapshots; null for a concurrent plugin.
  std::shared_ptr<Mutex> turn_;
};

}  // namespace agentd
