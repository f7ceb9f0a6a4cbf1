// SPDX-License-Identifier: Apache-2.0
#pragma once
// supervisor.h - the one thread that starts worker processes, sees them end, and hears what they
// write.
//
// It is the parent of them all, since the kernel ends a worker with the thread that started it: a
// worker never outlives its host, and no thread of a run may be that parent.
//
// Threading: thread-safe. `ended` is called on the supervisor's thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/result.h"
#include "core/process/spawn.h"
#include "core/workers/ring_listener.h"

namespace agentd {

struct WorkerStart {
  std::string program, name;      // name: of the hook, for the log
  std::vector<int> pass;          // descriptors that it gets as 3, 4, ...
  bool may_have_children = true;  // false: its sandbox is to keep it from starting any
  // What the program's zygote is told that its sandbox leaves open; workers for which that is the same come
  // from one zygote, which is started for the first of them. Empty = the program is executed.
  std::string ground{};
};

class WorkerSupervisor {
 public:
  using Id = std::uint64_t;
  using Ended = std::function<void(const Exit&)>;

  // `log` and `clock` outlive it.
  WorkerSupervisor(Log& log, const Clock& clock);
  // Kills those that are left.
  ~WorkerSupervisor();
  WorkerSupervisor(const WorkerSupervisor&) = delete;
  WorkerSupervisor& operator=(const WorkerSupervisor&) = delete;

  // Starts the program, by its zygote where there can be one, with a clean environment, a session of its
  // own and the descriptors 0 to 2 beside those of `start`. What it writes goes to the log. `ended` hears
  // once how it ended. All that it starts ends with it, but for what family.h names; nobody is looked for
  // when it could not have started any.
  Result<Id> start(const WorkerStart& start, Ended ended);
  // SIGKILL; does not wait. Nothing happens when it has ended.
  void kill(Id worker);
  // Kills it and returns when its `ended` has returned. REQUIRES: not on the supervisor's thread.
  void end(Id worker);
  // The zygotes end beside whatever ends now; a worker that is wanted nevertheless is executed.
  void end_zygotes();
  // -1 when it has ended.
  pid_t pid(Id worker) const;
  // Of all its workers.
  RingListener& listener() { return listener_; }

 private:
  RingListener listener_;
  struct State;
  std::unique_ptr<State> state_;
};

// What a worker sees of the host's environment: PATH is fixed, the rest is HOME, TMPDIR, language
// and time zone.
std::vector<std::string> worker_environment(const std::vector<std::string>& host);

}  // namespace agentd
