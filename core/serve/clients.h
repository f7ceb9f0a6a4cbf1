// SPDX-License-Identifier: Apache-2.0
#pragma once
// clients.h - the commands on this machine that the daemon works for, by their ids.
//
// Threading: thread-safe.

#include <map>
#include <memory>
#include <string>

#include "core/base/ids.h"
#include "core/serve/client_link.h"
#include "core/serve/sessions.h"

namespace agentd::serve {

class Clients {
 public:
  struct Client {
    std::shared_ptr<ClientLink> link;           // shared with its session
    std::shared_ptr<LiveSession> session = {};  // null: it has not opened one
  };

  // `clock` outlives them.
  explicit Clients(const Clock& clock) : clock_(clock), ids_(clock) {}

  // A new one.
  std::shared_ptr<ClientLink> add(ClientWishes wishes);
  // An empty one: there is no such client.
  Client find(std::string_view id) const;
  // It has a session; one that has died meanwhile gives it back.
  void opened(const std::shared_ptr<ClientLink>& link, std::shared_ptr<LiveSession> session);
  // True if another one has that session.
  bool is_of_another(const LiveSession& session, const ClientLink& link) const;
  // It has said that it leaves.
  void remove(std::string_view id);
  // Its stream has ended: what it does is cancelled and its session ends, unless it is detached. Does not block.
  void gone(const std::string& id);
  // Cancels every call, and returns when none works any more: the reports are in the streams, which end. The sessions
  // are gone.
  void end_all();
  // Keeps the streams alive.
  void tidy();

 private:
  const Clock& clock_;
  IdSource ids_;
  mutable Mutex mutex_;
  std::map<std::string, Client, std::less<>> clients_ GUARDED_BY(mutex_);
};

}  // namespace agentd::serve
