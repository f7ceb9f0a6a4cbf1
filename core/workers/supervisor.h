// SPDX-License-Identifier: Apache-2.0
#pragma once
// supervisor.h - one thread that starts worker processes, reaps them, and reads their output.
//
// The thread is the parent of all workers: the kernel kills a worker when the thread that started it ends. Hence no
// worker outlives its host, and a thread of a run cannot be the parent.
//
// Threading: thread-safe. `ended` is called on the supervisor's thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/result.h"
#include "core/process/spawn.h"
#include "core/workers/ring_listener.h"

namespace agentd {

struct WorkerStart {
  std::string program, name;      // name of the hook, for the log
  std::vector<int> pass;          // descriptors that it gets as 3, 4, ...
  bool may_have_children = true;  // false: its sandbox keeps it from starting any
  // The permissions that the sandbox leaves, as passed to the program's zygote. Workers with the same ground are forked
  // from one zygote, which the first of them starts. Empty = the program is executed.
  std::string ground{};
};

class WorkerSupervisor {
 public:
  using Id = std::uint64_t;
  using Ended = std::function<void(const Exit&)>;

  // `log` and `clock` outlive it.
  WorkerSupervisor(Log& log, const Clock& clock);
  // Kills the remaining workers.
  ~WorkerSupervisor();
  WorkerSupervisor(const WorkerSupervisor&) = delete;
  WorkerSupervisor& operator=(const WorkerSupervisor&) = delete;

  // Starts the program, forked from its zygote if possible, with a clean environment, a session of its own, descriptors
  // 0 to 2 and those of `start`. Its output goes to the log. `ended` is called once with its exit. All processes that
  // it starts are ended with it, but for the cases that family.h names; they are not looked for if it could not start
  // any.
  Result<Id> start(const WorkerStart& start, Ended ended);
  // Sends SIGKILL and does not wait. No effect on a worker that has ended.
  void kill(Id worker);
  // Kills the worker and waits until its `ended` has returned. REQUIRES: not on the supervisor's thread.
  void end(Id worker);
  // Ends the zygotes in the background; workers requested afterwards are executed.
  void end_zygotes();
  // -1 if it has ended.
  pid_t pid(Id worker) const;
  // Shared by all its workers.
  RingListener& listener() { return listener_; }

 private:
  RingListener listener_;
  struct State;
  std::unique_ptr<State> state_;
};

// The environment of a worker: a fixed PATH, and HOME, TMPDIR, language and time zone of the host.
std::vector<std::string> worker_environment(const std::vector<std::string>& host);

}  // namespace agentd
