// SPDX-License-Identifier: Apache-2.0
#pragma once
// job_threads.h - the threads of all lines of jobs: each exists as long as it works, and they have a bound together.
//
// Threading: thread-safe.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>

#include "core/base/mutex.h"
#include "core/base/thread.h"

namespace agentd::serve {

class JobThreads {
 public:
  explicit JobThreads(std::size_t most) : most_(most) {}
  // Waits until all have ended.
  ~JobThreads();
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  // Calls `work`, which does not throw, on a thread of its own. kFull: as many work as may; kNone: the system allows no
  // more.
  enum class Started { kYes, kFull, kNone };
  Started start(std::function<void()> work);
  std::size_t working() const;
  // Since the start.
  std::uint64_t begun() const;
  std::size_t most() const { return most_; }

 private:
  using Place = std::list<Thread>::iterator;
  void run(Place place, std::function<void()> work);

  const std::size_t most_;
  mutable Mutex mutex_;
  Condition ended_;
  std::list<Thread> threads_ GUARDED_BY(mutex_);  // that work
  std::uint64_t begun_ GUARDED_BY(mutex_) = 0;
  Thread last_ GUARDED_BY(mutex_);  // has ended, or is about to: the next one that ends joins it
};

}  // namespace agentd::serve
