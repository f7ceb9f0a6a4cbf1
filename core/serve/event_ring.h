// SPDX-License-Identifier: Apache-2.0
#pragma once
// event_ring.h - the newest events of one session, for clients that come back.
//
// An event's id is REVISION-EPOCH-N: how far the log is told by the events up to that one, the ring's birth, and its
// number. A client that names an event of this epoch which the ring still has gets what followed. To anybody else
// `resync` says from which revision to read the log, and up to which: records up to there are told by no event.
//
// Threading: thread-safe. Streams are written to under the ring's lock, and never block.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "core/serve/http_exchange.h"

namespace agentd::serve {

struct EventId {
  std::uint64_t revision = 0, epoch = 0, number = 0;
  // nullopt: no such text.
  static std::optional<EventId> parse(std::string_view text);
  std::string text() const;
};

// The bytes of an event for a subscriber: a server-sent event.
std::string server_sent(std::string_view type, const EventId& id, std::string_view json);

class EventRing {
 public:
  struct Limits {
    std::size_t events = 4'096, bytes = 4u << 20, subscribers = 64;
  };
  // `epoch`: another one for each ring of a conversation, also of earlier processes.
  explicit EventRing(std::uint64_t epoch) : EventRing(epoch, Limits{}) {}
  EventRing(std::uint64_t epoch, Limits limits) : epoch_(epoch), limits_(limits) {}

  // Tells an event to all who listen. `revision`: how far the log is told with it, at least that of the event before.
  // `seq`: of the record that it tells; 0 = of none, or of one that was told before.
  void add(std::uint64_t revision, std::string_view type, std::string_view json, std::uint64_t seq = 0);

  // Begins with what followed `last`, or with `resync` where that is not known; without `last` with the next event.
  // `revision`: of the log now. False: there are too many subscribers.
  bool subscribe(std::shared_ptr<HttpStream> stream, const std::optional<EventId>& last, std::uint64_t revision);
  // A comment on every stream, so that both ends notice a connection that has gone.
  void keep_alive();
  // Frees the events: whoever comes back behind one of them reads the log. Streams go on.
  void forget();
  // Ends all streams.
  void close();

  std::size_t subscribers() const;
  bool is_full() const { return subscribers() >= limits_.subscribers; }
  EventId newest() const;

 private:
  struct Told {
    EventId id;
    std::uint64_t seq = 0;
    std::string type, json;
  };
  struct Subscriber {
    std::shared_ptr<HttpStream> stream;  // shared with the server, whose thread sends
    std::uint64_t has = 0;               // the revision up to which its client reads the log, or has it
  };
  static std::size_t size_of(const Told& told);
  static std::string bytes_for(const Told& told, std::uint64_t has);
  bool knows(const EventId& last) const REQUIRES(mutex_);

  const std::uint64_t epoch_;
  const Limits limits_;
  mutable Mutex mutex_;
  std::deque<Told> told_ GUARDED_BY(mutex_);
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
  EventId newest_ GUARDED_BY(mutex_){0, epoch_, 0};
  std::vector<Subscriber> subscribers_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace agentd::serve
