// SPDX-License-Identifier: Apache-2.0
#include "core/serve/job_line.h"

#include <utility>

namespace agentd::serve {

JobLine::~JobLine() { end(); }

JobLine::Added JobLine::add(Job job) {
  const MutexLock lock(mutex_);
  if (ends_) return Added::kEnds;
  if (works_ && waiting_.size() >= waiting_max_) return Added::kTooMany;
  waiting_.push_back(std::move(job));
  if (works_) return Added::kYes;
  const auto started = threads_.start([this] { work(); });
  works_ = started == JobThreads::Started::kYes;
  if (works_) return Added::kYes;
  waiting_.pop_back();
  return started == JobThreads::Started::kFull ? Added::kFull : Added::kNoThread;
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
  const MutexLock lock(mutex_);
  ends_ = true;
  while (works_) done_.wait(mutex_);
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
