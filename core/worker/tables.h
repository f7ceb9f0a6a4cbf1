// SPDX-License-Identifier: Apache-2.0
#pragma once
// tables.h - the C tables for the plugin of this worker: core, services and interfaces.
//
// They fulfil the same contract as the tables of an in-process plugin (core/bridge, core/native/ext_tables.h). Memory,
// time and event ids are handled here; everything else is requested over the line, and results go into the memory of
// the calling token.
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
  // A tool or a service that the plugin added; the host knows it by a number.
  struct Function {
    agentd_fn fn = nullptr;
    std::uint64_t tag = 0;
  };

  // `args` names the granted services and interfaces; the other arguments outlive the tables.
  Tables(const BootArgs& args, HostLine& line, CallTable& calls, const TaskPool& tasks);
  ~Tables();
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const agentd_core* core() const;
  const agentd_services* services() const;
  std::optional<Function> function(std::uint64_t number) const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace agentd::worker
