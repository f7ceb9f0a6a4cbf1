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
  // Threads that stop_all() left behind go on: what they use of the pool is freed by the last of
  // them.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  const agentd_tasks* table() const;
  // Sets every cancel word (AGENTD_CANCEL_SHUTDOWN), waits, and refuses new tasks from now on.
  // Returns the names of those that did not end within `grace`.
  std::vector<std::string> stop_all(Milliseconds grace);
  // Nobody will wait for those that are left: their threads go on by themselves.
  void let_go();

  struct State;

 private:
  // Shared with threads that outlive the pool.
  std::shared_ptr<State> state_;
};

}  // namespace agentd
