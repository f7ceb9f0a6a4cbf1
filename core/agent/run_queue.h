// SPDX-License-Identifier: Apache-2.0
#pragma once
// run_queue.h - the limits of a process: how many runs are active at once, how many wait for their turn, and how many
// sessions are open.
//
// A run, a compaction or an undo takes a place while it works. Without a free place it waits: projects take turns, and
// within a project the order of arrival counts. A subagent works in the place of its parent and takes none, so that no
// run waits for a place that it holds itself.
//
// Threading: thread-safe.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/result.h"

namespace agentd {

class RunQueue {
 public:
  // The settings sessions.active_runs, sessions.queued_runs and sessions.open.
  struct Limits {
    std::uint64_t active_runs = 1'000;  // at least 1
    std::uint64_t queued_runs = 10'000;
    std::uint64_t open = 100'000;
  };
  // `clock` outlives the queue, and the queue its places.
  RunQueue(const Clock& clock, Limits limits);
  RunQueue(const RunQueue&) = delete;
  RunQueue& operator=(const RunQueue&) = delete;

  // A place, given back when it is destroyed; null = of no queue.
  struct EndRun {
    std::uint64_t began_ns = 0;
    void operator()(RunQueue* queue) const { queue->leave(began_ns); }
  };
  using RunPlace = std::unique_ptr<RunQueue, EndRun>;
  struct EndSession {
    void operator()(RunQueue* queue) const { queue->close(); }
  };
  using SessionPlace = std::unique_ptr<RunQueue, EndSession>;

  // The place of a run of that project, as soon as it is its turn. kBusy, without a wait: as many runs wait as may; the
  // message names the limit, its setting, and the time after which the runs that wait now have begun, by the durations
  // of recent runs. kCancelled: `cancel` was set first; noticed within 50 ms.
  Result<RunPlace> enter(const std::string& project_id, const CancelToken& cancel);
  // The place of a session. kBusy: as many are open as may.
  Result<SessionPlace> open();

  struct Counts {
    std::uint64_t active = 0, waiting = 0, open = 0;
  };
  Counts counts() const;

 private:
  struct Waiter;
  void leave(std::uint64_t began_ns);
  void close();
  std::uint64_t begin() REQUIRES(mutex_);
  void wait(Waiter& me, const std::string& project_id) REQUIRES(mutex_);
  void admit_next() REQUIRES(mutex_);
  void watch(Waiter* next) REQUIRES(mutex_);
  void drop_cancelled() REQUIRES(mutex_);
  Error busy() const REQUIRES(mutex_);

  const Clock& clock_;
  const Limits limits_;
  mutable Mutex mutex_;
  Counts counts_ GUARDED_BY(mutex_);
  std::uint64_t began_ns_ GUARDED_BY(mutex_) = 0;  // the sum of the active runs' beginnings, modulo 2^64
  std::uint64_t usual_ns_ GUARDED_BY(mutex_) = 0;  // the duration of a run, a moving average; 0 = none has ended
  // None of the lines is empty, and each of their projects is in `turns_` once: the next one first.
  std::map<std::string, std::deque<Waiter*>> lines_ GUARDED_BY(mutex_);
  std::deque<std::string> turns_ GUARDED_BY(mutex_);
  Waiter* watcher_ GUARDED_BY(mutex_) = nullptr;  // looks for cancelled ones, for all that wait
};

}  // namespace agentd
