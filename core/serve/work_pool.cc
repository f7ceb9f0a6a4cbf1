// SPDX-License-Identifier: Apache-2.0
#include "core/serve/work_pool.h"

#include <system_error>
#include <utility>

#include "core/base/signals_blocked.h"

namespace agentd::serve {

WorkPool::~WorkPool() {
  {
    const MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  threads_.clear();
}

Result<void> WorkPool::start(std::size_t threads) {
  const SignalsBlocked blocked;
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error& failed) {
    if (threads_.empty()) return Error{Code::kUnavailable, std::string("starting a thread: ") + failed.what()};
  }
  return {};
}

bool WorkPool::add(Work work) {
  const MutexLock lock(mutex_);
  if (ends_ || waiting_.size() >= waiting_max_) return false;
  waiting_.push_back(std::move(work));
  changed_.notify_one();
  return true;
}

std::size_t WorkPool::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

void WorkPool::run() {
  MutexLock lock(mutex_);
  for (;;) {
    while (waiting_.empty() && !ends_) changed_.wait(mutex_);
    if (waiting_.empty()) return;
    Work work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace agentd::serve
