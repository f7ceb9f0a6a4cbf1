// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin_context.h - the C tables of one plugin instance: core, services, tools, json, field, tasks, provide, registry.
//
// The pointer to the core table identifies the instance: there is no global table, so one process can have two hosts.
// Everything that a plugin emits is copied here; everything that it gets is in the memory of its token.
//
// Threading: the tables may be called from any thread.

#include <agentd/ext/field.h>
#include <agentd/ext/json.h>
#include <agentd/ext/tasks.h>
#include <agentd/ext/tools.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/bridge/token_table.h"
#include "core/hooks/dispatcher.h"
#include "core/hooks/services.h"
#include "core/services/registry.h"
#include "core/tools/tool.h"

namespace agentd {

// A plugin's grants: the manifest asks, the user grants.
struct Grants {
  bool compactor = false, threads = false, store = false;
  std::set<std::string> interfaces;  // ids for query(): "agentd.tools/1", ...
};

struct PluginIdentity {
  std::string id, version, name, bytes_digest;  // name: "auto_compact", as in the config's hooks.NAME
};

// A tool added by a plugin.
struct PluginTool {
  Tool tool;
  agentd_fn fn = nullptr;
  std::uint64_t tag = 0;
};

class PluginContext {
 public:
  // `tokens`, `services`, `clock` and `log` must outlive the context.
  PluginContext(PluginIdentity identity, Grants grants, TokenTable& tokens, Services& services, const Clock& clock,
                Log& log);
  ~PluginContext();
  PluginContext(const PluginContext&) = delete;
  PluginContext& operator=(const PluginContext&) = delete;

  // Offers one of the host's own interfaces under `id`, if granted. `table` begins with its size.
  void offer(std::string id, const void* table);
  // Offers agentd.services/1, if granted; null = it is not offered. The registry outlives the context. Every call is
  // for `project_id`; empty = for the project of the event, the service's call or the conversation in which it is made.
  // Called before the first call.
  void call_services_of(ServiceRegistry* registry, std::string project_id = {});

  const PluginIdentity& identity() const;
  const Grants& grants() const;
  const agentd_core* core() const;
  const agentd_services* services() const;
  std::vector<PluginTool> tools() const;
  // The operations that the plugin has added with agentd.provide/1.
  std::vector<OfferedService> provided() const;
  // Set to skip every entry of the plugin from now on.
  const std::shared_ptr<std::atomic<std::uint32_t>>& stopped() const;

  // A control call (CREATE, DESTROY, SAVE_STATE, LOAD_STATE): runs `fn` in a slot of its own. The text of fail()
  // becomes the error; the emitted actions are returned.
  Result<std::vector<Action>> control(std::uint32_t event, const void* payload, Deadline deadline,
                                      const std::function<agentd_status(const agentd_call*)>& fn);

  // Ends the plugin's tasks before destroy(); no more can be started. Returns the names of those that did not end
  // within `grace`: then the instance must be abandoned.
  std::vector<std::string> stop_tasks(Milliseconds grace);
  // True if a call was given up on which the plugin still works: then it must be abandoned too.
  bool gave_up() const;
  // Leaks the context of an instance with a running thread; its tables return that they are cancelled.
  static void abandon(std::unique_ptr<PluginContext> context);

  // Runs one of the plugin's tools and waits for its result.
  Result<ToolOutcome> call_tool(const PluginTool& tool, void* self, const ToolCall& call, const SessionContext& session,
                                const CancelToken& cancel, Deadline deadline);
  // Runs one of the plugin's services and waits for its result, which is not checked here.
  ServiceAnswer call_service(const OfferedService& service, void* self, const ServiceRequest& request);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace agentd
