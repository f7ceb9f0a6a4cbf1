// SPDX-License-Identifier: Apache-2.0
#include "core/serve/workplaces.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

#include "core/base/bytes.h"
#include "core/serve/client_link.h"
#include "core/workplace/hook_setup.h"

namespace agentd::serve {

Workplaces::Workplaces(Runtime& runtime, HookWishes wishes, Warn warn, WorkplaceLimits limits)
    : runtime_(runtime),
      wishes_(wishes),
      warn_([log = std::move(warn)](const std::string& text) {
        log(text);
        if (ClientLink* const client = ClientLink::of_this_thread()) client->warn(text);
      }),
      limits_(limits) {}

Result<Workplaces::Shared, RunError> Workplaces::at(const std::string& cwd) {
  std::error_code none;
  if (!std::filesystem::is_directory(cwd, none))
    return RunError{RunError::Kind::kNotFound,
                    one_line(cwd, 200) + ", the directory of the conversation, is not there"};
  const Project project = find_project(cwd);
  const std::string& root = project.root;
  const std::string hooks = hooks_of(project);
  MutexLock lock(mutex_);  // held while hooks are loaded, so that no project is opened twice
  for (;;) {
    while (closing_.contains(root)) closed_.wait(mutex_);
    if (const auto found = open_.find(root); found != open_.end()) {
      found->second.idle_since_ns.reset();
      if (is_fresh(found->second, hooks)) return found->second.workplace;
      ByRoot old;
      old.insert(open_.extract(found));
      closing_.insert(root);
      lock.unlock();
      close(std::move(old));
      lock.lock();
      continue;
    }
    if (open_.size() < limits_.open_max) break;
    ByRoot taken = take_idle(0);
    if (taken.empty())
      return RunError{RunError::Kind::kBusy,
                      with_commas(limits_.open_max) + " projects are in use, as many as may: try again in a minute"};
    lock.unlock();
    close(std::move(taken));
    lock.lock();
  }
  const auto opens = std::make_shared<std::atomic<bool>>(true), warned = std::make_shared<std::atomic<bool>>(false);
  const Warn warn = [this, opens, warned](const std::string& text) {
    if (*opens) *warned = true;
    warn_(text);
  };
  AGENTD_TRY(Shared workplace, Workplace::find(runtime_, cwd, wishes_, warn));
  AGENTD_TRY_VOID(workplace->load(cwd));
  *opens = false;
  return open_.emplace(root, Open{std::move(workplace), {}, *warned, hooks}).first->second.workplace;
}

std::string Workplaces::hooks_of(const Project& project) const {
  return wishes_.hooks ? hook_files_state(runtime_.surroundings(), runtime_.config(), runtime_.home(), project)
                       : std::string();
}

bool Workplaces::is_current(const Workplace& workplace) {
  const std::string hooks = hooks_of(workplace.project());
  const MutexLock lock(mutex_);
  const auto found = open_.find(workplace.project().root);
  return found != open_.end() && found->second.workplace.get() == &workplace && is_fresh(found->second, hooks);
}

bool Workplaces::is_fresh(const Open& open, const std::string& hooks) const {
  return open.hooks == hooks &&
         (!wishes_.hooks || open.workplace->hooks().trust_seen() == trust_state(runtime_.home()));
}

bool Workplaces::is_closed(const std::string& directory) const {
  std::error_code unknown;
  const std::string real = std::filesystem::weakly_canonical(directory, unknown).string();
  const auto is_below = [&](const std::string& closed) {
    const std::string place = std::filesystem::weakly_canonical(closed, unknown).string();
    return !place.empty() && real.starts_with(place) && (real.size() == place.size() || real[place.size()] == '/');
  };
  return std::any_of(limits_.closed.begin(), limits_.closed.end(), is_below);
}

bool Workplaces::has_warned(const std::string& cwd) const {
  const MutexLock lock(mutex_);
  const auto found = open_.find(find_project(cwd).root);
  return found != open_.end() && found->second.warned;
}

std::vector<Workplaces::Shared> Workplaces::all() {
  const MutexLock lock(mutex_);
  std::vector<Shared> out;
  for (const auto& [root, open] : open_) out.push_back(open.workplace);
  return out;
}

Workplaces::ByRoot Workplaces::take_idle(std::size_t keeps) {
  const std::uint64_t now = runtime_.clock().monotonic_ns(),
                      most = static_cast<std::uint64_t>(limits_.idle.count()) * 1'000'000;
  std::vector<std::pair<std::uint64_t, std::string>> idle;
  for (auto& [root, open] : open_) {
    // Copies are made under the lock alone, or from another copy: what is the only one stays so.
    if (open.workplace.use_count() > 1)
      open.idle_since_ns.reset();
    else
      idle.emplace_back(open.idle_since_ns ? *open.idle_since_ns : *(open.idle_since_ns = now), root);
  }
  std::sort(idle.begin(), idle.end());
  ByRoot out;
  for (const auto& [since, root] : idle) {
    if (idle.size() - out.size() <= keeps && now - since < most) break;
    out.insert(open_.extract(root));
    closing_.insert(root);
  }
  return out;
}

void Workplaces::close(ByRoot taken) {
  for (auto& [root, open] : taken) {
    open.workplace.reset();
    const MutexLock lock(mutex_);
    closing_.erase(root);
    closed_.notify_all();
  }
}

void Workplaces::close_idle() {
  ByRoot taken;
  {
    const MutexLock lock(mutex_);
    taken = take_idle(limits_.idle_max);
  }
  close(std::move(taken));
}

}  // namespace agentd::serve
