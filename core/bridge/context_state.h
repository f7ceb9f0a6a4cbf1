// SPDX-License-Identifier: Apache-2.0
#pragma once
// context_state.h - the state behind the tables of one plugin instance. Private to this room.
//
// Each C table is the first member of a record that leads back to the state, so the plugin's table pointer is enough.

#include <agentd/ext/draft/provide.h>
#include <agentd/ext/draft/services.h>

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/bridge/plugin_context.h"
#include "core/bridge/tasks.h"

namespace agentd {

struct CoreTable {
  agentd_core table;
  PluginContext::State* state;
};
struct ToolsTable {
  agentd_tools table;
  PluginContext::State* state;
};
struct JsonTable {
  agentd_json table;
  PluginContext::State* state;
};
struct FieldTable {
  agentd_field table;
  PluginContext::State* state;
};
struct ProvideTable {
  agentd_provide table;
  PluginContext::State* state;
};
struct RegistryTable {
  agentd_registry table;
  PluginContext::State* state;
};
struct CompactorTable {
  agentd_compactor table;
  PluginContext::State* state;
};
struct ThreadsTable {
  agentd_thread_factory table;
  PluginContext::State* state;
};
struct StoreTable {
  agentd_store table;
  PluginContext::State* state;
};

// A token outside of calls. Host services that wait for it end with the token.
struct OpenScope {
  explicit OpenScope(SlotSource& slots) : slot(slots), binding(*slot, cancel) {}
  CancelToken cancel;
  SlotLease slot;
  CancelBinding binding;
};

struct PluginContext::State {
  State(PluginIdentity who, Grants granted, TokenTable& token_table, Services& backend_services,
        const Clock& clock_source, Log& log_sink);

  // The slot of a token, as TokenTable::find(); none after the instance was abandoned.
  CallSlot* find(agentd_token token) const { return abandoned.load() ? nullptr : tokens.find(token); }

  // Constant after construction.
  const PluginIdentity identity;
  const Grants grants;
  TokenTable& tokens;
  Services& backend;
  const Clock& clock;
  Log& log;
  CoreTable core;
  ToolsTable tools_table;
  JsonTable json_table;
  FieldTable field_table;
  ProvideTable provide_table;
  RegistryTable registry_table;
  CompactorTable compactor{};
  ThreadsTable thread_factory{};
  StoreTable store{};
  agentd_services services{sizeof(agentd_services), 0, nullptr, nullptr, nullptr};
  // Shared with the entries of published snapshots.
  const std::shared_ptr<std::atomic<std::uint32_t>> stopped;
  TaskPool tasks;
  ServiceRegistry* registry = nullptr;  // set once, before the first call, as is the next
  std::string own_project;              // of all calls of services; empty = of that which goes on
  std::atomic<bool> gave_up{false};     // on a call of the plugin that never ends
  // A thread of the plugin never ends: objects lent by the host may be gone.
  std::atomic<bool> abandoned{false};

  mutable Mutex mutex;
  std::map<std::string, const void*> interfaces GUARDED_BY(mutex);
  std::vector<PluginTool> tools GUARDED_BY(mutex);
  std::vector<OfferedService> provided GUARDED_BY(mutex);
  std::vector<std::string> fields GUARDED_BY(mutex);
  // Index in fields, plus 1; guarded by mutex.
  std::unordered_map<std::string, std::uint32_t> field_keys;
  bool told_of_fields GUARDED_BY(mutex) = false;  // the warning of too many was logged
  std::map<agentd_token, std::unique_ptr<OpenScope>> scopes GUARDED_BY(mutex);
};

// Sets the tables of the granted services.
void fill_service_tables(PluginContext::State& state);
agentd_provide provide_table();
agentd_registry registry_table();

// Runs a function as a call of `dispatch` in a slot of its own, and waits for its end.
agentd_status run_call(PluginContext::State& state, CallSlot& slot, const Dispatch& dispatch,
                       const std::function<agentd_status(const agentd_call*)>& fn);

}  // namespace agentd
