// SPDX-License-Identifier: Apache-2.0
// plugin_reload.cc - reloads native hooks whose files changed, appeared or disappeared while agentd runs.
#include <algorithm>

#include "core/base/bytes.h"
#include "core/host/plugin_host.h"

namespace agentd {
namespace {

// Each loaded copy of a module permanently uses part of the dynamic linker's thread-local space.
constexpr std::uint32_t kReloadsBeforeNote = 8;

using Plugins = std::vector<std::shared_ptr<Plugin>>;

std::shared_ptr<Plugin> at_path(const Plugins& plugins, const std::string& path) {
  const auto found =
      std::find_if(plugins.begin(), plugins.end(), [&](const auto& each) { return each->path() == path; });
  return found == plugins.end() ? nullptr : *found;
}

}  // namespace

HookScan PluginHost::scan() {
  watch_.clear();
  // Watch before reading: a change in between is seen next time.
  for (const HookDirectory& each : options_.directories) watch_.add(each.path);
  HookScan out = scan_hook_directories(options_.directories, options_.disable, options_.user, options_.allow);
  for (const HookFile& file : out.files)
    if (file.kind == HookKind::kNative) watch_.add(file.path, file.info);
  for (const HookProblem& each : out.problems) watch_.add(each.path);
  return out;
}

PluginHost::Reloaded PluginHost::reload_changed(bool all) {
  Reloaded out;
  if (!all && !watch_.changed()) return out;
  HookScan found = scan();
  const Plugins before = plugins();
  Plugins after;
  // A refused module may be permitted now.
  const auto stays = [&](const HookFile& file) { return is_seen(file) && !(all && told_.contains(file.path)); };
  for (const HookProblem& each : found.problems) keep_unsafe(each, before, after, out);
  for (const HookFile& file : found.files)
    if (auto old = at_path(before, file.path); old && stays(file)) after.push_back(std::move(old));
  // Sorted below; so far these are the modules that a new one must not conflict with.
  for (HookFile& file : found.files) {
    if (file.kind != HookKind::kNative || !is_on(file) || stays(file)) continue;
    seen_[file.path] = file.info;
    if (auto next = load_changed(file, at_path(before, file.path), after, out)) after.push_back(std::move(next));
  }
  put_in_order(after, found);
  for (const auto& old : before)
    if (!at_path(after, old->path())) forget(*old, out);
  out.changed = after != before;
  // An earlier version may end here, which takes time: do so outside the mutex.
  const MutexLock lock(plugins_mutex_);
  plugins_.swap(after);
  return out;
}

// A file or directory that became unsafe or unreadable does not affect the running version.
void PluginHost::keep_unsafe(const HookProblem& problem, const Plugins& before, Plugins& after, Reloaded& out) {
  bool goes_on = false;
  for (const auto& old : before) {
    const std::string& path = old->path();
    if (path != problem.path && path.substr(0, path.rfind('/')) != problem.path) continue;
    if (!at_path(after, path)) after.push_back(old);
    goes_on = true;
  }
  tell(out, problem.path, problem.name, problem.message, goes_on);
}

bool PluginHost::is_seen(const HookFile& file) const {
  const auto known = seen_.find(file.path);
  return known != seen_.end() && same_file(known->second, file.info);
}

// Restores the order of load_all().
void PluginHost::put_in_order(Plugins& plugins, const HookScan& found) {
  const auto place = [&](const std::shared_ptr<Plugin>& plugin) {
    return std::find_if(found.files.begin(), found.files.end(),
                        [&](const HookFile& file) { return file.path == plugin->path(); }) -
           found.files.begin();
  };
  std::stable_sort(plugins.begin(), plugins.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

void PluginHost::forget(const Plugin& plugin, Reloaded& out) {
  if (is_shared(plugin))
    options_.shared->forget(plugin);
  else
    withdraw(plugin);
  seen_.erase(plugin.path());
  told_.erase(plugin.path());
  out.gone.push_back(plugin.identity().name);
  environment_.log.write(LogLevel::kInfo, "host", plugin.path() + " is gone: its hooks are no longer called");
}

// Returns the instance to use from now on; null if there is none.
std::shared_ptr<Plugin> PluginHost::load_changed(HookFile& file, const std::shared_ptr<Plugin>& old,
                                                 const Plugins& others, Reloaded& out) {
  const auto broken_before = broken_guards_;
  std::erase_if(broken_guards_, [&](const BrokenGuard& each) { return each.name == file.name; });
  const auto refuse = [&](const std::string& why) {
    if (old) broken_guards_ = broken_before;  // the guard still guards
    tell(out, file.path, file.name, why, old != nullptr);
    return old;
  };
  auto ready = prepare(file);
  if (!ready) return refuse(ready.error().message);
  const bool same = old && old->identity().bytes_digest == ready->sealed.digest;
  if (same && (!is_shared(*old) || options_.shared->is_current(*old))) {
    discard(ready->sealed);
    told_.erase(file.path);
    return old;
  }
  const Manifest manifest = ready->manifest;
  auto made = load_one(std::move(*ready), others, old.get());
  if (!made) {
    note_guard(file, manifest, made.error().message);
    return refuse(made.error().message);
  }
  told_.erase(file.path);
  if (made->plugin == old) return old;  // the file was replaced while it was read
  for (const std::string& note : made->plugin->notes())
    environment_.log.write(LogLevel::kInfo, file.name, file.path + ": " + note);
  if (old) tell_reload(*old, *made, out);
  tell_grants(*made->plugin, out.problems);
  out.loaded.push_back(made->plugin);
  return std::move(made->plugin);
}

void PluginHost::tell_reload(const Plugin& old, const Made& made, Reloaded& out) {
  const Plugin& next = *made.plugin;
  const std::string& name = next.identity().name;
  out.notes.push_back("the hook " + name + " was reloaded (" + old.identity().version + " to " +
                      next.identity().version + ", sha256 " + next.identity().bytes_digest.substr(0, 12) + ")");
  if (!made.without_state.empty()) tell(out, next.path(), name, made.without_state, false);
  if (++reloads_[next.path()] == kReloadsBeforeNote && next.isolation() == Isolation::kInProcess)
    out.notes.push_back("the hook " + name + " was reloaded " + std::to_string(kReloadsBeforeNote) +
                        " times, and each copy stays in memory: set hooks." + name +
                        ".isolation to process while you work on it");
}

// Reports once per file, until there is another message for it.
void PluginHost::tell(Reloaded& out, const std::string& path, const std::string& name, std::string message,
                      bool old_goes_on) {
  if (old_goes_on) message += "; the version loaded before continues";
  message = one_line(message, 2000);
  std::string& last = told_[path];
  if (last == message) return;
  last = message;
  environment_.log.write(LogLevel::kWarning, "host", message);
  out.problems.push_back({path, name, std::move(message)});
}

}  // namespace agentd
