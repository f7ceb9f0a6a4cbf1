// SPDX-License-Identifier: Apache-2.0
#pragma once
// context_state.h - what stands behind the tables of one plugin instance. Private to this room.
//
// Each C table is the first member of a record that leads back to the state, so that the pointer which a
// plugin hands over is all that is needed.

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/bridge/plugin_context.h"

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

struct PluginContext::State {
  State(PluginIdentity who, Grants granted, TokenTable& token_table, Services& backend_services,
        const Clock& clock_source, Log& log_sink);

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
  CompactorTable compactor{};
  ThreadsTable threads{};
  StoreTable store{};
  agentd_services services{sizeof(agentd_services), 0, nullptr, nullptr, nullptr};
  // Shared with the entries of published snapshots.
  const std::shared_ptr<std::atomic<std::uint32_t>> stopped;

  mutable std::mutex mutex;
  std::map<std::string, const void*> interfaces;        // guarded by mutex
  std::vector<PluginTool> tools;                        // guarded by mutex
  std::vector<std::string> fields;                      // guarded by mutex
  std::map<agentd_token, SlotLease> scopes;     // guarded by mutex
};

// Sets the tables of the services that were granted.
void fill_service_tables(PluginContext::State& state);

}  // namespace agentd
