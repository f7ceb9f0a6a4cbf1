// SPDX-License-Identifier: Apache-2.0
#pragma once
// foreign_sessions.h - sessions of other agents: Claude Code, or any client that has its messages elsewhere.
//
// Such a session has a conversation here that holds its checkpoints alone. A row of the store leads from the client's
// name for the session to it, so that the same name finds it again, in any process.
//
// Threading: thread-safe, as its store is.

#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/base/ids.h"
#include "core/store/store.h"

namespace agentd {

struct ForeignSession {
  std::string surface;     // the client: "claude-code"; may be empty
  std::string session_id;  // the client's own name for the session, 1 to kSessionIdBytesMax bytes
  std::string project_id;
  std::string cwd{};  // for lists; may be empty

  static constexpr std::size_t kSessionIdBytesMax = 512;
};

class ForeignSessions {
 public:
  // All outlive it.
  ForeignSessions(Store& store, IdSource& ids, const Clock& clock) : store_(store), ids_(ids), clock_(clock) {}

  // Its conversation, which is made if it has none, or if that was deleted. kInvalid: the session has no id, or one
  // that is too long; kBusy: another process has been opening it for a second; kUnavailable.
  Result<Ulid> open(const ForeignSession& session);

 private:
  Result<std::optional<Ulid>> try_open(const ForeignSession& session);
  Result<void> make(const Ulid& id, const ForeignSession& session);

  Store& store_;
  IdSource& ids_;
  const Clock& clock_;
};

}  // namespace agentd
