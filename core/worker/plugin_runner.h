// SPDX-License-Identifier: Apache-2.0
#pragma once
// plugin_runner.h - loads and calls the plugin of this process, as the host requests.
//
// Threading: boot() on the main thread; serve() on one thread per call lane.

#include <agentd/hook_abi.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/bridge/module.h"
#include "core/bridge/tasks.h"
#include "core/isolation/lane.h"
#include "core/process/sandbox.h"
#include "core/worker/call_table.h"
#include "core/worker/host_line.h"
#include "core/worker/tables.h"

namespace agentd::worker {

class PluginRunner {
 public:
  // `region` must outlive it. `ground`: see confine_process().
  explicit PluginRunner(AnswerRegion& region, std::optional<SandboxGround> ground)
      : line_(region), ground_(std::move(ground)) {}
  PluginRunner(const PluginRunner&) = delete;
  PluginRunner& operator=(const PluginRunner&) = delete;

  // Maps the window, confines the process, loads the module, and answers the host. Returns false if it reported to the
  // host why there is nothing to call.
  bool boot(Lane lane);
  // How many of the region's lanes can carry calls of this plugin. REQUIRES: boot() returned true.
  std::uint32_t lanes(std::uint32_t of) const { return record_.plugin.concurrency == AGENTD_SERIAL ? 1 : of; }
  // Serves the calls of that lane until the process ends.
  [[noreturn]] void serve(Lane lane);

 private:
  struct Refusal {
    agentd_status status = AGENTD_OK;
    std::string sentence;
  };
  std::optional<Refusal> load(const BootArgs& args);
  std::string booted() const;
  agentd_status handle(Lane& lane, const LaneMessage& message);
  agentd_status control(const agentd_call& call);
  agentd_status create(const agentd_call& call);
  agentd_status destroy(const agentd_call& call);
  // Calls a tool or a service, whose number is in the member `tag` of the record.
  template <typename Record>
  agentd_status invoke(agentd_call call, OpenCall& memory, std::uint64_t Record::*tag);
  agentd_status run_hook(std::uint32_t row, const agentd_call& call);

  HostLine line_;
  std::optional<SandboxGround> ground_;
  CallTable calls_;
  TaskPool tasks_;
  std::optional<Tables> tables_;  // from boot() on
  PluginRecord record_;           // constant after boot()
  std::string sandbox_;           // the sandbox rules that are not in effect
  std::atomic<void*> self_{nullptr};
};

}  // namespace agentd::worker
