// SPDX-License-Identifier: Apache-2.0
#include "core/app/commands/bundled_tools.h"

#include <algorithm>
#include <iterator>

#include "core/hooks/dry_services.h"
#include "core/host/plugin_host.h"

namespace agentd::app {
namespace {

// On unless the user says otherwise.
constexpr const char* kBundledNames[] = {"workspace_tools", "session_memory"};

bool is_bundled(const HooksHere& here, const HookSource& source) {
  return source.path.starts_with(here.setup.bundled + "/");
}

}  // namespace

std::vector<Tool> bundled_tools(const App& app, const HooksHere& here, const Inventory& inventory) {
  std::vector<std::string> on;
  for (const HookSource& source : inventory.sources) {
    const bool known =
        std::find(std::begin(kBundledNames), std::end(kBundledNames), source.name) != std::end(kBundledNames);
    if (known && source.state == HookState::kOn && is_bundled(here, source)) on.push_back(source.name);
  }
  if (on.empty()) return {};
  PluginHostOptions options = here.setup.options.native;
  std::erase_if(options.directories, [](const HookDirectory& each) { return !each.bundled; });
  options.allow = on;
  options.quarantine_directory.clear();
  options.roots = {here.project.cwd};
  // They offer the same anywhere.
  for (const std::string& name : on) options.plugins[name].isolation = Isolation::kInProcess;
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
