// SPDX-License-Identifier: Apache-2.0
#pragma once
// memory.h - what `agentd memory` needs: the operations of "agentd.memory/1" by any plugin.
//
// docs/reference/memory.md describes the operations and their JSON.
//
// Threading: one thread.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/app/app.h"
#include "core/app/failure.h"
#include "core/app/options.h"
#include "core/base/result.h"

namespace agentd::app {

// Calls an operation and returns its JSON. kUnavailable: no plugin offers it.
using MemoryCalls = std::function<Result<std::string>(std::string_view operation, std::string_view input_json)>;

struct OpenMemory {
  MemoryCalls call;
  std::string project_id;
  std::shared_ptr<void> keeps;  // for the calls; not shared: the type belongs to the opener
};
// Starts what offers memories in this directory.
Result<OpenMemory, Failure> open_memory(App& app, const Arguments& arguments);

// Runs the `memory` command that the arguments name. Returns the exit code.
int run_memory(App& app, const Arguments& arguments, const OpenMemory& memory);

}  // namespace agentd::app
