// SPDX-License-Identifier: Apache-2.0
#include "core/host/shared_plugins.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "core/host/file_watch.h"
#include "core/workers/aside.h"

namespace agentd {
namespace {

// False once another file has taken its place: the watch of its host finds that one at the next turn.
bool is_in_place(const HookFile& file) {
  struct stat now = {};
  return ::stat(file.path.c_str(), &now) == 0 && same_file(now, file.info);
}

}  // namespace

SharedPlugins::SharedPlugins(TokenTable& tokens, const Clock& clock, Log& log, FilesOfSession files,
                             const Secrets* secrets, ServiceRegistry* registry, CommandsOfSession commands)
    : clock_(clock),
      log_(log),
      files_(std::move(files)),
      registry_(registry),
      tables_(
          tokens, clock, [this](agentd_conv conversation) { return files_of(conversation); }, secrets,
          std::move(commands)) {}

SharedPlugins::~SharedPlugins() { shutdown(); }

Result<std::shared_ptr<Plugin>> SharedPlugins::get(const HookFile& file, const std::string& digest, const Make& make) {
  std::shared_ptr<Plugin> earlier;  // may end here, outside of the mutexes
  const MutexLock one(loading_);
  {
    const MutexLock lock(mutex_);
    const auto found =
        std::find_if(plugins_.begin(), plugins_.end(), [&](const auto& each) { return each->path() == file.path; });
    if (found != plugins_.end()) earlier = *found;
  }
  if (earlier && (earlier->identity().bytes_digest == digest || !is_in_place(file))) return earlier;
  AGENTD_TRY(std::shared_ptr<Plugin> made, make(earlier.get()));
  if (registry_ != nullptr) registry_->add(made, service_place(*made, {}), earlier.get());
  const MutexLock lock(mutex_);
  std::erase(plugins_, earlier);
  plugins_.push_back(made);
  return made;
}

bool SharedPlugins::is_current(const Plugin& plugin) const {
  const MutexLock lock(mutex_);
  return std::any_of(plugins_.begin(), plugins_.end(), [&](const auto& each) { return each.get() == &plugin; });
}

void SharedPlugins::forget(const Plugin& plugin) {
  if (registry_ != nullptr && is_current(plugin)) registry_->remove(plugin);
  std::shared_ptr<Plugin> gone;  // outlives the lock
  const MutexLock lock(mutex_);
  const auto found =
      std::find_if(plugins_.begin(), plugins_.end(), [&](const auto& each) { return each.get() == &plugin; });
  if (found == plugins_.end()) return;
  gone = std::move(*found);
  plugins_.erase(found);
}

// ---- files

std::vector<std::pair<std::string, const void*>> SharedPlugins::interfaces() const {
  return {{AGENTD_WORKSPACE_ID, tables_.workspace()}, {AGENTD_PROCESS_ID, tables_.process()}};
}

void SharedPlugins::enter(const void* host, std::shared_ptr<Workspace> files) {
  const MutexLock lock(mutex_);
  std::erase_if(places_, [](const Place& each) { return each.left; });
  places_.push_back({host, std::move(files)});
}

// A plugin may still write its last file when the only project is closed.
void SharedPlugins::leave(const void* host) {
  const MutexLock lock(mutex_);
  for (Place& each : places_) each.left = each.left || each.host == host;
  if (places_.size() > 1) std::erase_if(places_, [](const Place& each) { return each.left; });
}

std::shared_ptr<Workspace> SharedPlugins::files_of(agentd_conv conversation) const {
  if (auto own = files_ ? files_(conversation) : nullptr) return own;
  const MutexLock lock(mutex_);
  return places_.size() == 1 ? places_.front().files : nullptr;
}

// ---- workers, and the end

std::shared_ptr<WorkerSupervisor> SharedPlugins::supervisor() {
  const MutexLock lock(mutex_);
  if (!supervisor_) supervisor_ = std::make_shared<WorkerSupervisor>(log_, clock_);
  return supervisor_;
}

void SharedPlugins::shutdown() {
  std::vector<std::shared_ptr<Plugin>> all;
  std::shared_ptr<WorkerSupervisor> supervisor;
  {
    const MutexLock lock(mutex_);
    all.swap(plugins_);
    supervisor = supervisor_;
  }
  // Calls that still run in one end before it does.
  for (const auto& each : all)
    if (registry_ != nullptr) registry_->remove(*each);
  end_plugins(all, supervisor.get(), log_);
}

ServicePlace service_place(const Plugin& plugin, const std::string& project_id) {
  ServicePlace out;
  out.id = plugin.identity().id;
  out.name = plugin.identity().name;
  out.rank = static_cast<std::uint32_t>(plugin.precedence());
  out.project_id = project_id;
  out.must_be_named = plugin.precedence() == Precedence::kProject;
  return out;
}

// The workers end in parallel: they share nothing.
void end_plugins(const std::vector<std::shared_ptr<Plugin>>& plugins, WorkerSupervisor* supervisor, Log& log) {
  for (const auto& plugin : plugins) plugin->end_soon();
  if (supervisor != nullptr) supervisor->end_zygotes();
  const auto end = [&log](const std::shared_ptr<Plugin>& plugin) {
    auto destroyed = plugin->destroy();
    if (!destroyed)
      log.write(LogLevel::kWarning, "host", plugin->path() + " failed to end: " + destroyed.error().message);
  };
  Aside apart(plugins.size());
  for (auto plugin = plugins.rbegin(); plugin != plugins.rend(); ++plugin)
    if (!(*plugin)->waits_to_end() || !apart.run([&end, each = *plugin] { end(each); })) end(*plugin);
}

}  // namespace agentd
