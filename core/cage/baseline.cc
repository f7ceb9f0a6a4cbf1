// SPDX-License-Identifier: Apache-2.0
#include "core/cage/baseline.h"

#include <fcntl.h>

#include <utility>

#include "core/cage/physical.h"
#include "core/cage/places.h"

namespace agentd::cage {

std::shared_ptr<Baseline> Baseline::shared() {
  static Mutex mutex;
  static std::weak_ptr<Baseline> one;
  const MutexLock lock(mutex);
  auto out = one.lock();
  if (!out) one = out = std::make_shared<Baseline>();
  return out;
}

TreePointer Baseline::State::before(const TreePointer& known, const TreePointer& elsewhere) {
  const MutexLock lock(mutex_);
  if (!before_) before_ = elsewhere ? elsewhere : look(path_, known);
  return before_;
}

void Baseline::State::renew(TreePointer tree) {
  const MutexLock lock(mutex_);
  before_ = std::move(tree);
}

std::shared_ptr<Baseline::State> Baseline::enter_locked(const std::string& path) {
  std::shared_ptr<State>& state = states_[path];
  if (!state) state = std::shared_ptr<State>(new State(path));
  if (++state->commands_ > 1) state->several_ = true;
  return state;
}

std::shared_ptr<Baseline::State> Baseline::enter(const std::string& path) {
  const MutexLock lock(mutex_);
  return enter_locked(path);
}

void Baseline::leave_locked(const std::string& path, bool checked) {
  const auto found = states_.find(path);
  if (found == states_.end()) return;
  const std::shared_ptr<State> state = found->second;
  if (--state->commands_ > 0) {
    if (checked) state->several_ = state->commands_ > 1;
    return;
  }
  states_.erase(found);
  for (const std::string& part : state->parts_) leave_locked(part, checked);
}

void Baseline::leave(const std::string& path, bool checked) {
  const MutexLock lock(mutex_);
  leave_locked(path, checked);
}

void Baseline::accept(const std::string& path, std::uint64_t inode, const std::map<std::string, TreePointer>& parts) {
  const MutexLock lock(mutex_);
  const auto found = states_.find(path);
  if (found == states_.end() || found->second->accepted_.exchange(inode) != 0) return;
  for (const auto& [part, tree] : parts) {
    found->second->parts_.push_back(part);
    (void)enter_locked(part)->before(nullptr, tree);
  }
}

void Baseline::refuse(const std::string& path) {
  const MutexLock lock(mutex_);
  const auto found = states_.find(path);
  if (found == states_.end()) return;
  found->second->accepted_ = 0;
  for (const std::string& part : std::exchange(found->second->parts_, {})) leave_locked(part, false);
}

std::vector<std::string> Baseline::held_in(const std::string& directory) const {
  std::vector<std::string> out;
  const MutexLock lock(mutex_);
  for (auto each = states_.lower_bound(directory); each != states_.end() && each->first.starts_with(directory); ++each)
    if (is_below(each->first, directory)) out.push_back(each->first);
  return out;
}

bool Baseline::is_shared(const std::string& path) const {
  const MutexLock lock(mutex_);
  const auto found = states_.find(path);
  return found != states_.end() && found->second->several_;
}

Baseline::Pin Baseline::pin(const std::string& path) {
  const MutexLock lock(mutex_);
  Pinned& pinned = pins_[path];
  ++pinned.commands;
  if (!pinned.pin || !pinned.pin->valid()) pinned.pin = std::make_shared<UniqueFd>(open_directory_at(path, O_PATH));
  return pinned.pin;
}

void Baseline::unpin(const std::string& path) {
  const MutexLock lock(mutex_);
  const auto found = pins_.find(path);
  if (found != pins_.end() && --found->second.commands == 0) pins_.erase(found);
}

}  // namespace agentd::cage
