// SPDX-License-Identifier: Apache-2.0
#pragma once
// tasks.h - agentd.tasks/1: the threads of one plugin instance, which end before it is destroyed.
//
// The same class serves an instance in this process and one in a worker.
//
// Threading: the table may be called from any thread; stop_all() once.

#include <agentd/ext/tasks.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"

namespace agentd {

class TaskPool {
 public:
  TaskPool();
  // Threads left behind by stop_all() continue; the last of them frees what they use of the pool.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  const agentd_tasks* table() const;
  // Sets every cancel word (AGENTD_CANCEL_SHUTDOWN), waits, and refuses new tasks from now on. Returns the names of
  // tasks that did not end within `grace`.
  std::vector<std::string> stop_all(const Clock& clock, Milliseconds grace);
  // Detaches the remaining threads: nothing joins them.
  void let_go();

  struct State;

 private:
  // Shared with threads that outlive the pool.
  std::shared_ptr<State> state_;
};

}  // namespace agentd
