// SPDX-License-Identifier: Apache-2.0
#pragma once
// job_line.h - jobs that are done one after the other, on a thread that it has as long as there are any.
//
// Threading: thread-safe. A job may add further ones.

#include <cstddef>
#include <deque>
#include <functional>

#include "core/base/mutex.h"
#include "core/serve/job_threads.h"

namespace agentd::serve {

class JobLine {
 public:
  using Job = std::function<void()>;
  // `waiting_max`: that may wait behind the one that is done. The threads outlive it.
  JobLine(JobThreads& threads, std::size_t waiting_max) : threads_(threads), waiting_max_(waiting_max) {}
  // Waits until all are done.
  ~JobLine();
  JobLine(const JobLine&) = delete;
  JobLine& operator=(const JobLine&) = delete;

  // kTooMany: wait here; kFull: lines work.
  enum class Added { kYes, kTooMany, kFull, kNoThread, kEnds };
  Added add(Job job);
  // Takes no further one, and returns when those before are done. REQUIRES: not called by a job.
  void end();
  // end() if nothing is done now and nothing waits; true if so.
  bool end_if_idle();
  // True if nothing is done now, and nothing waits.
  bool is_idle() const;

 private:
  void work();

  JobThreads& threads_;
  const std::size_t waiting_max_;
  mutable Mutex mutex_;
  Condition done_;
  std::deque<Job> waiting_ GUARDED_BY(mutex_);
  bool works_ GUARDED_BY(mutex_) = false, ends_ GUARDED_BY(mutex_) = false;
};

}  // namespace agentd::serve
