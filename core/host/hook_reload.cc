// SPDX-License-Identifier: Apache-2.0
// hook_reload.cc - reloads hooks whose files changed, appeared or disappeared while agentd runs.
#include "core/host/hook_host.h"

#include <filesystem>

namespace agentd {

HookHost::Reloaded HookHost::reload_changed() {
  const MutexLock lock(reload_mutex_);
  Reloaded out;
  const std::size_t problems = problems_.size(), notes = notes_.size();
  PluginHost::Reloaded found = natives_.reload_changed(trust_changed());
  for (const std::string& name : found.gone) owners_.erase(name);
  for (const auto& plugin : found.loaded) {
    const std::string& name = plugin->identity().name;
    std::error_code failed;
    const auto real = std::filesystem::canonical(plugin->path(), failed);
    const std::string path = failed ? plugin->path() : real.string();
    owners_[name] = path;
    for (const std::string& identity : {name, path}) {
      missed_.erase(identity);
      out.changed |= externals_.drop_missing_guard(identity);
    }
    remember_native(*plugin, path);
  }
  for (HookProblem& each : found.problems) {
    out.warnings.push_back(each.message);
    problems_.push_back(std::move(each));
  }
  const std::size_t told = problems_.size();
  // Guards whose file is gone, and new guards that cannot be used.
  if (!found.gone.empty() || told != problems) add_missing_guards();
  if (!found.loaded.empty()) check_guards(false);
  out.changed |= found.changed || problems_.size() != told;
  for (std::size_t i = told; i < problems_.size(); ++i) out.warnings.push_back(problems_[i].message);
  out.notes.assign(notes_.begin() + static_cast<std::ptrdiff_t>(notes), notes_.end());
  for (std::string& each : found.notes) out.notes.push_back(std::move(each));
  return out;
}

// Rereads a changed trust store: `agentd hooks trust` may have admitted an untrusted hook.
bool HookHost::trust_changed() {
  if (options_.trust_file.empty() || !trust_watch_.changed()) return false;
  trust_watch_.clear();
  trust_watch_.add(options_.trust_file);
  trust_.reset();
  trust_opened_ = false;
  return true;
}

}  // namespace agentd
