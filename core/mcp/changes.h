// SPDX-License-Identifier: Apache-2.0
#pragma once
// changes.h - what clients are told of changes: of lists that they have, and of resources that they have subscribed to.
//
// About once a second the lists and the revisions are compared with those that a client knows; where nobody listens,
// nothing is looked at. A client of the legacy era is told through its connection, and what has changed while it had
// none is told when it has one again: a list is watched from its first request on. A request `subscriptions/listen` of
// the modern era stays open, and is told with its own id. Several changes in one second are told once.
//
// A conversation is told of when its log has grown, or it was removed; a checkpoint when it was renamed, its texts have
// been made or erased, or it was removed. A look reads the feed of the store and what was appended for a subscribed
// checkpoint: its cost does not depend on the length of a conversation.
//
// Source: modelcontextprotocol.io, specification 2025-11-25 ("Resources", "Tools", "Prompts") and 2026-07-28
// ("Subscriptions", SEP-2575).
//
// Threading: thread-safe. Hearers are called on a thread of its own and on those of its callers.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/mcp/client.h"
#include "core/mcp/known_conversations.h"
#include "core/mcp/resources.h"

namespace agentd::mcp {

enum class List : std::uint8_t { kTools, kPrompts, kResources };

class Changes {
 public:
  static constexpr std::size_t kAddressesMax = 256;  // that one client, or one request, subscribes to
  static constexpr std::size_t kListensMax = 256;    // requests that stay open, of all clients

  // The means outlive it.
  explicit Changes(const Means& means);
  // As end().
  ~Changes();
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  using From = std::shared_ptr<Client>;  // shared with the transport and its requests

  // ---- the legacy era

  // Through it the client is told from now on. False: it is told through another one, which has not left.
  bool hear(const From& client, std::shared_ptr<Hearer> hearer);
  // True if it is told.
  bool is_heard(const Client& client) const;
  // The client gets that list now.
  void watch(const From& client, List list);
  // kRpcBadParams and that of a resource that is not there: nothing has changed.
  std::optional<Fault> subscribe(const From& client, JsonView params);
  // From its return on nothing is told of that address.
  std::optional<Fault> unsubscribe(const From& client, JsonView params);
  // The client has ended: its hearer goes.
  void forget(const Client& client);

  // ---- the modern era

  // A request that stays open.
  struct Listen {
    RpcId id;
    std::shared_ptr<Answerer> to;  // shared with the transport
    CancelToken cancel;
    std::uint64_t number = 0;  // of Client::begin(), for its end
  };
  // Acknowledges it, and tells from then on; a request that wants nothing is answered. An error: why it was not begun.
  std::optional<Fault> listen(const From& client, JsonView params, Listen listen);

  // To be called every few seconds: tells those on a stream that it is still there.
  void keep_alive();
  // Answers the requests that stay open, and tells nothing more. Nothing is begun from then on.
  void end();

 private:
  using Sum = std::optional<std::uint64_t>;  // nullopt: it cannot be told now
  struct ListMark {
    bool wanted = false;
    Sum seen{};
  };
  struct Address {
    ResourcePlace place;
    std::uint64_t revision = 0;  // of the conversation
  };
  struct Watch;
  using Shared = std::shared_ptr<Watch>;  // shared with the thread that looks
  struct Look;

  Shared watch_of(const Client& client) const REQUIRES(mutex_);
  Shared make_watch(const From& client);
  Sum sum_of(const From& client, List list, Look& look);
  Result<Address, Fault> address_of(Era era, std::string_view uri);
  bool has_changed(Address& address) REQUIRES(known_mutex_);
  std::optional<Fault> read_wish(Watch& watch, const From& client, JsonView wish);
  bool is_needed() const REQUIRES(mutex_);
  void wake();
  void work();
  void look();
  void look_at(Watch& watch, Look& look);
  void end_listen(Watch& watch, bool answered);

  const Means& means_;
  mutable Mutex known_mutex_;
  KnownConversations known_ GUARDED_BY(known_mutex_);
  mutable Mutex mutex_;
  Condition changed_;
  std::vector<Shared> watches_ GUARDED_BY(mutex_);
  bool ends_ GUARDED_BY(mutex_) = false;
  Thread thread_ GUARDED_BY(mutex_);  // none before it is needed
};

}  // namespace agentd::mcp
