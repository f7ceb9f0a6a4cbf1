// SPDX-License-Identifier: Apache-2.0
#pragma once
// tables.h - the C tables that the plugin of this worker sees: core, services and interfaces.
//
// They promise what the tables of a plugin in the process promise (core/bridge,
// core/native/ext_tables.h). What needs no host is answered here: memory, time, the ids of events.
// All else is asked over the line; results are put into the memory of the token that they were
// asked with.
//
// Threading: the tables may be called from any thread.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "core/bridge/tasks.h"
#include "core/isolation/messages.h"
#include "core/worker/call_table.h"
#include "core/worker/host_line.h"

namespace agentd::worker {

class Tables {
 public:
  // A tool as the plugin added it; the host knows it by a number.
  struct Tool {
    agentd_fn fn = nullptr;
    std::uint64_t tag = 0;
  };

  // `args` names the services and interfaces that were granted; the others outlive the tables.
  Tables(const BootArgs& args, HostLine& line, CallTable& calls, const TaskPool& tasks);
  ~Tables();
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const agentd_core* core() const;
  const agentd_services* services() const;
  std::optional<Tool> tool(std::uint64_t number) const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace agentd::worker
