// SPDX-License-Identifier: Apache-2.0
#include "core/serve/job_threads.h"

#include <system_error>
#include <utility>

#include "core/base/signals_blocked.h"

namespace agentd::serve {

JobThreads::~JobThreads() {
  const MutexLock lock(mutex_);
  while (!threads_.empty()) ended_.wait(mutex_);
}

JobThreads::Started JobThreads::start(std::function<void()> work) {
  const MutexLock lock(mutex_);
  if (threads_.size() >= most_) return Started::kFull;
  const SignalsBlocked blocked;
  const Place place = threads_.emplace(threads_.end());
  try {
    *place = Thread([this, place, work = std::move(work)]() mutable { run(place, std::move(work)); });
  } catch (const std::system_error&) {
    threads_.erase(place);
    return Started::kNone;
  }
  ++begun_;
  return Started::kYes;
}

void JobThreads::run(Place place, std::function<void()> work) {
  work();
  work = nullptr;  // what it holds goes without the lock
  Thread before;   // joined without the lock
  const MutexLock lock(mutex_);
  before = std::exchange(last_, std::move(*place));
  threads_.erase(place);
  ended_.notify_all();
}

std::size_t JobThreads::working() const {
  const MutexLock lock(mutex_);
  return threads_.size();
}

std::uint64_t JobThreads::begun() const {
  const MutexLock lock(mutex_);
  return begun_;
}

}  // namespace agentd::serve
