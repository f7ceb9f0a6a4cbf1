// SPDX-License-Identifier: Apache-2.0
// memory_calls.cc - who answers `agentd memory`: the registry of services.
#include "core/app/commands/memory.h"
#include "core/app/exit_codes.h"
#include "core/app/plugin_services.h"

namespace agentd::app {
namespace {

constexpr std::string_view kMemory = "agentd.memory/1";

}  // namespace

Result<OpenMemory, Failure> open_memory(App& app, const Arguments& arguments) {
  AGENTD_TRY(std::shared_ptr<PluginServices> services, PluginServices::open(app, arguments));
  if (!services->offers(kMemory, "search"))
    return Failure{kExitFailure,
                   "no plugin offers memories here: enable the bundled one (hooks.session_memory.enabled: true), and "
                   "'agentd --plugins' shows whether it is there"};
  OpenMemory out;
  out.project_id = services->project_id();
  out.call = [plugins = services.get()](std::string_view operation, std::string_view input_json) {
    return plugins->call(kMemory, operation, input_json);
  };
  out.keeps = std::move(services);
  return out;
}

}  // namespace agentd::app
