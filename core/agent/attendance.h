// SPDX-License-Identifier: Apache-2.0
#pragma once
// attendance.h - which sessions are attached to which conversations, so that one whose process was killed is ended by
// the next start in its project. Private to this room.
//
// A row {session, conversation, process} of the store, outside of every chain, comes with the first records of a
// session and is removed once session_end was asked. A process is named by an id of its own, whose lease it holds: a
// row whose process has no lease was left by one that was killed. That needs no process number and no boot id, and one
// descriptor however many sessions are idle.
//
// Threading: thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/store/store.h"

namespace agentd {

class Attendance {
 public:
  // All outlive it.
  Attendance(Store& store, IdSource& ids, Log& log) : store_(store), ids_(ids), log_(log) {}

  struct Session {
    std::string project_id, session, conversation;
  };
  // The row of a session, for its first append. kBusy and others: the process has no lease.
  Result<KeyPut> row_of(const Session& session);
  // Removes it; a failure is written to the log.
  void leave(const Session& session);

  // Sessions of the project whose process is gone, at most kAtOnce, each with the lease of that process: as long as it
  // is held nobody else ends them. One whose conversation waits for an answer is parked, not gone.
  struct Gone {
    Session session;
    std::shared_ptr<Lease> of_process;
  };
  static constexpr std::size_t kAtOnce = 4;
  std::vector<Gone> find_gone(const std::string& project_id);

 private:
  Result<std::string> process();

  Store& store_;
  IdSource& ids_;
  Log& log_;
  Mutex mutex_;
  std::string process_ GUARDED_BY(mutex_);  // empty: it has no lease yet
  std::unique_ptr<Lease> lease_ GUARDED_BY(mutex_);
};

// The first text of the user in that session of a conversation; empty = none.
std::string task_of_session(const Store& store, const Ulid& conversation, const std::string& session);

}  // namespace agentd
