// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/bundled_tools.h"

#include <algorithm>

#include "core/hooks/dry_services.h"
#include "core/host/plugin_host.h"

namespace agentd::app {
namespace {

constexpr const char* kName = "workspace_tools";

bool is_bundled(const HooksHere& here, const HookSource& source) {
  return source.path.starts_with(here.setup.bundled + "/");
}

}  // namespace

std::vector<Tool> bundled_tools(const App& app, const HooksHere& here, const Inventory& inventory) {
  const bool is_on = std::any_of(inventory.sources.begin(), inventory.sources.end(), [&](const HookSource& source) {
    return source.name == kName && source.state == HookState::kOn && is_bundled(here, source);
  });
  if (!is_on) return {};
  PluginHostOptions options = here.setup.options.native;
  std::erase_if(options.directories, [](const HookDirectory& each) { return !each.bundled; });
  options.allow = {kName};
  options.quarantine_directory.clear();
  options.roots = {here.project.cwd};
  PluginConfig& config = options.plugins[kName];
  config.isolation = Isolation::kInProcess;  // what it offers is the same anywhere
  TokenTable tokens;
  DryServices services;
  NullLog log;
  PluginHost host(options, tokens, services, app.clock(), log);
  host.load_all();
  return host.tools().tools();
}

bool may_have_other_tools(const HooksHere& here, const Inventory& inventory) {
  return std::any_of(inventory.sources.begin(), inventory.sources.end(), [&](const HookSource& source) {
    return source.kind == SourceKind::kNative && source.state == HookState::kOn && !is_bundled(here, source);
  });
}

}  // namespace agentd::app
