// SPDX-License-Identifier: Apache-2.0
#include "core/serve/job_line.h"

#include <system_error>
#include <utility>

#include "core/base/signals_blocked.h"

namespace agentd::serve {

JobLine::~JobLine() { end(); }

JobLine::Added JobLine::add(Job job) {
  Thread before;  // is joined without the lock
  const MutexLock lock(mutex_);
  if (ends_) return Added::kEnds;
  if (works_ && waiting_.size() >= waiting_max_) return Added::kTooMany;
  waiting_.push_back(std::move(job));
  if (works_) return Added::kYes;
  const SignalsBlocked blocked;
  try {
    Thread next([this] { work(); });
    before = std::exchange(thread_, std::move(next));
  } catch (const std::system_error&) {
    waiting_.pop_back();
    return Added::kNoThread;
  }
  works_ = true;
  return Added::kYes;
}

void JobLine::work() {
  MutexLock lock(mutex_);
  while (!waiting_.empty()) {
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it holds goes without the lock
    lock.lock();
  }
  works_ = false;
  done_.notify_all();
}

void JobLine::end() {
  Thread last;
  MutexLock lock(mutex_);
  ends_ = true;
  while (works_) done_.wait(mutex_);
  last = std::move(thread_);
  lock.unlock();
}

bool JobLine::end_if_idle() {
  const MutexLock lock(mutex_);
  if (works_ || !waiting_.empty()) return false;
  ends_ = true;
  return true;
}

bool JobLine::is_idle() const {
  const MutexLock lock(mutex_);
  return !works_ && waiting_.empty();
}

}  // namespace agentd::serve
