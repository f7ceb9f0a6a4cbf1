// SPDX-License-Identifier: Apache-2.0
// hook_plugins.cc - the modules of a project's hooks, and whether each works.
#include <algorithm>

#include "core/host/inventory.h"
#include "core/workplace/hook_setup.h"
#include "core/workplace/hooks.h"

namespace agentd {
namespace {

PluginState::State state_of(HookState state) {
  switch (state) {
    case HookState::kOn:
      return PluginState::State::kFailed;  // it may be loaded, and is not
    case HookState::kOff:
      return PluginState::State::kOff;
    case HookState::kWaits:
      return PluginState::State::kWaits;
    case HookState::kBroken:
      return PluginState::State::kFailed;
    case HookState::kMissing:
      return PluginState::State::kMissing;
    case HookState::kSetAside:
      return PluginState::State::kQuarantined;
  }
  return PluginState::State::kFailed;
}

}  // namespace

std::vector<PluginState> Hooks::plugins() const {
  const HookSetup setup = hook_setup(runtime_.surroundings(), config_, runtime_.home(), project_, wishes_.hooks);
  std::vector<PluginState> out;
  for (const HookSource& source : describe_all(setup.options, runtime_.clock()).sources) {
    const bool is_module = source.kind == SourceKind::kNative || source.state == HookState::kMissing;
    if (!is_module || is_replaced(setup, source.path, source.name)) continue;
    PluginState each{source.manifest ? source.manifest->id : source.name, source.name};
    each.path = source.path;
    each.sha256 = source.entry.digest;
    each.isolation = source.isolation;
    each.state = state_of(source.state);
    each.why = source.why_not;
    out.push_back(std::move(each));
  }
  const MutexLock lock(mutex_);
  if (!host_) return out;
  for (const auto& plugin : host_->natives().plugins()) {
    const auto same = [&](const PluginState& each) { return each.path == plugin->path(); };
    const auto found = std::find_if(out.begin(), out.end(), same);
    PluginState& each = found != out.end() ? *found : out.emplace_back();
    each.id = plugin->manifest().id;
    each.name = plugin->identity().name;
    each.version = plugin->manifest().version;
    each.path = plugin->path();
    each.isolation = name_of(plugin->isolation());
    each.state = PluginState::State::kLoaded;
  }
  for (PluginState& each : out)
    for (const HookProblem& problem : host_->problems())
      if (each.why.empty() && each.state == PluginState::State::kFailed && problem.path == each.path)
        each.why = problem.message;
  for (PluginState& each : out)
    if (each.why.empty() && each.state == PluginState::State::kFailed)
      each.why = "hooks are not loaded in this project";
  return out;
}

}  // namespace agentd
