// SPDX-License-Identifier: Apache-2.0
#pragma once
// table_state.h - the state behind the worker's tables, and one request. Private to this room.

#include <agentd/ext/draft/process.h>
#include <agentd/ext/draft/provide.h>
#include <agentd/ext/draft/services.h>
#include <agentd/ext/draft/workspace.h>
#include <agentd/ext/field.h>
#include <agentd/ext/json.h>
#include <agentd/ext/tools.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/worker/tables.h"

namespace agentd::worker {

// The table is the first member, so the plugin's pointer leads to the state.
template <typename T>
struct Behind {
  T table;
  Tables::State* state;
};

template <typename T>
Tables::State& state_of(const T* table) {
  return *reinterpret_cast<const Behind<T>*>(table)->state;
}

struct Tables::State {
  State(HostLine& host_line, CallTable& open_calls);

  HostLine& line;
  CallTable& calls;
  const SystemClock clock;
  // Constant after construction.
  Behind<agentd_core> core;
  Behind<agentd_tools> tools_table;
  Behind<agentd_json> json;
  Behind<agentd_field> field;
  Behind<agentd_compactor> compactor;
  Behind<agentd_thread_factory> threads;
  Behind<agentd_store> store;
  Behind<agentd_workspace> workspace;
  Behind<agentd_process> process;
  Behind<agentd_provide> provide;
  Behind<agentd_registry> registry;
  agentd_services services{sizeof(agentd_services), 0, nullptr, nullptr, nullptr};
  std::map<std::string, const void*, std::less<>> interfaces;

  Mutex mutex;
  // Tools and services by number, including removed ones.
  std::map<std::uint64_t, Function> functions GUARDED_BY(mutex);
  std::uint64_t last_function GUARDED_BY(mutex) = 0;
  std::vector<std::string> fields GUARDED_BY(mutex);
  std::map<std::string, std::uint32_t> field_keys GUARDED_BY(mutex);  // index in fields, plus 1
};

agentd_core core_table();
agentd_tools tools_table();
agentd_json json_table();
agentd_field field_table();
agentd_provide provide_table();
// compactor_table(), store_table(), ...
#define AGENTD_TABLE(table, LIST) agentd_##table table##_table();
AGENTD_SERVICE_TABLES(AGENTD_TABLE)
#undef AGENTD_TABLE

ServiceArgs args_for(ServiceOp op);
// A text without memory is empty, whatever its length.
std::string_view text_of(const agentd_str& text);
agentd_str to_abi_text(std::string_view text);

// A plugin's request with one of its tokens.
class Request {
 public:
  Request(Tables::State& state, agentd_token token) : state_(state), token_(token), call_(state.calls.find(token)) {}

  Tables::State& state() const { return state_; }
  bool stale() const { return call_ == nullptr; }
  OpenCall& call() const { return *call_; }

  // Sends a request to the host; with AGENTD_OK the answer is in reply(), whose pointers live as long as the token.
  agentd_status run(const ServiceArgs& args);
  const ServiceReply& reply() const { return reply_; }
  // As core->fail(); returns the status.
  agentd_status fail(agentd_status status, std::string_view text) const;

 private:
  agentd_status keep(const ServiceArgs& args, const std::string& body);

  Tables::State& state_;
  const agentd_token token_;
  const OpenCallPtr call_;  // shared, see call_table.h
  ServiceReply reply_;
};

}  // namespace agentd::worker
