// SPDX-License-Identifier: Apache-2.0
#pragma once
// worker_instance.h - one instance of a worker plugin: its current process, and its tools there. Private to this room.
//
// Threading: thread-safe by its mutexes.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/workers/service_desk.h"
#include "core/workers/token_ledger.h"
#include "core/workers/worker_process.h"

namespace agentd {

// Cancelled by the user or the end of the program, not by the deadline.
inline bool is_cancelled(const agentd_live& live) {
  const std::uint32_t reason = cancel_of(live);
  return reason != 0 && reason != AGENTD_CANCEL_DEADLINE;
}

// A new process being made, on a thread of its own, so that it continues when the calling hook call gives up.
struct PendingStart {
  Mutex mutex;  // never taken while an instance's mutex is held
  Condition changed;
  std::uint64_t begins_ns GUARDED_BY(mutex) = 0;  // earliest start time
  bool done GUARDED_BY(mutex) = false;
  std::shared_ptr<WorkerProcess> process GUARDED_BY(mutex);  // shared by the instance and by the calls that run in it
  std::optional<Error> error GUARDED_BY(mutex);              // why there is no process
};

class WorkerInstance;

// The owner of the tools and services of all instances: the plugin.
class InstanceTools {
 public:
  virtual agentd_status add_tool(WorkerInstance& instance, agentd_token token, agentd_tool tool) = 0;
  virtual agentd_status remove_tool(WorkerInstance& instance, agentd_token token, std::string_view name) = 0;
  virtual agentd_status add_service(WorkerInstance& instance, agentd_token token, agentd_service_row row) = 0;
  virtual agentd_status remove_service(WorkerInstance& instance, agentd_token token, std::string_view interface_id,
                                       std::string_view operation) = 0;

 protected:
  ~InstanceTools() = default;
};

class WorkerInstance final : public WorkerToolBook {
 public:
  WorkerInstance(InstanceTools& plugin, bool primary) : plugin_(plugin), primary_(primary) {}

  agentd_status add(agentd_token token, agentd_tool tool) override { return plugin_.add_tool(*this, token, tool); }
  agentd_status remove(agentd_token token, std::string_view name) override {
    return plugin_.remove_tool(*this, token, name);
  }
  agentd_status add_service(agentd_token token, agentd_service_row row) override {
    return plugin_.add_service(*this, token, row);
  }
  agentd_status remove_service(agentd_token token, std::string_view interface_id, std::string_view operation) override {
    return plugin_.remove_service(*this, token, interface_id, operation);
  }

  // True for the instance whose tools are the plugin's.
  bool primary() const { return primary_; }

  Mutex mutex;
  std::shared_ptr<PendingStart> start GUARDED_BY(mutex);     // shared by the job and its waiters; null = none
  std::shared_ptr<WorkerProcess> process GUARDED_BY(mutex);  // null = never made, or ended
  bool counted GUARDED_BY(mutex) = false;                    // its end is recorded in the crash book
  std::uint64_t last_use = 0;                                // guarded by the plugin's mutex
  std::map<std::string, std::uint64_t> tools;  // the worker's numbers; guarded by the plugin's tools_mutex_
  // Tools of the ended process that its successor has not yet registered again; guarded as above.
  std::set<std::string> old_tools;
  // The same for services, by interface and operation.
  using ServiceName = std::pair<std::string, std::string>;
  std::map<ServiceName, std::uint64_t> services;
  std::set<ServiceName> old_services;

 private:
  InstanceTools& plugin_;
  const bool primary_;
};

}  // namespace agentd
