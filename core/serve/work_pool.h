// SPDX-License-Identifier: Apache-2.0
#pragma once
// work_pool.h - a few threads that do short work, such as reading the store, in the order in which it came.
//
// Threading: thread-safe.

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/thread.h"

namespace agentd::serve {

class WorkPool {
 public:
  using Work = std::function<void()>;
  explicit WorkPool(std::size_t waiting_max) : waiting_max_(waiting_max) {}
  // Does what waits, and ends.
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // kUnavailable: the system allows no thread.
  Result<void> start(std::size_t threads);
  // False: too much waits.
  bool add(Work work);
  std::size_t waiting() const;

 private:
  void run();

  const std::size_t waiting_max_;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Work> waiting_ GUARDED_BY(mutex_);
  bool ends_ GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;
};

}  // namespace agentd::serve
