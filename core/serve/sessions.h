// SPDX-License-Identifier: Apache-2.0
#pragma once
// sessions.h - the conversations that the daemon has at hand, by their ids.
//
// A conversation is taken up when somebody asks for it. When nobody has used it for a while it is parked, and later
// dropped; the store has it all the same.
//
// Threading: thread-safe.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/serve/live_session.h"
#include "core/serve/metrics.h"
#include "core/serve/workplaces.h"

namespace agentd::serve {

struct SessionsOptions {
  Milliseconds park_after{10 * 60'000};  // without use
  Milliseconds drop_after{60 * 60'000};  // parked, and without readers of its events
  std::size_t at_hand_max = 100'000;
  // Commands have a sandbox, or need none: otherwise a conversation with the mode 'allow' has the settings' again.
  bool may_allow = true;
  std::size_t threads_max = 2'048;  // of conversations that work, or wait for their turn to
};

class Sessions {
 public:
  using Options = SessionsOptions;
  using Shared = std::shared_ptr<LiveSession>;  // shared with the requests that use it

  // All outlive them.
  Sessions(Runtime& runtime, Workplaces& workplaces, Metrics& metrics, Options options);
  // Ends all.
  ~Sessions();

  // A new conversation; `done` is called on the session's thread.
  void create(const SessionWishes& wishes, const std::string& first_text, LiveSession::Done<Shared> done);
  // An existing one. Nothing is opened. kNotFound; kBusy: too many are at hand.
  Result<Shared, RunError> at(const Ulid& conversation);
  // A new conversation in place of the one that is lent to that client, whose session goes on in it: the one before is
  // as if it was parked. `done` is called on a session's thread. kBlocked, kCancelled: it goes on as it was; another
  // error has ended it.
  void clear(LiveSession& session, const std::shared_ptr<ClientLink>& client, LiveSession::Done<Shared> done);
  // Null: it is not at hand.
  Shared find(const std::string& conversation) const;
  std::vector<Shared> all() const;

  // Ends it and takes it out, as far as it is at hand: its conversation is being deleted. False: it works.
  bool forget(const std::string& conversation);
  // The same once its conversation was deleted; one that works then is taken out by tidy(), when it has ended.
  void forget_deleted(const std::string& conversation);

  // By LiveSession::State.
  using Counts = std::array<std::uint64_t, 5>;
  Counts counts() const;
  // That work now.
  std::size_t threads() const { return threads_.working(); }
  // How much they have done since the start, being dropped included: grows whenever memory may have become free.
  std::uint64_t done() const { return threads_.begun() + dropped_; }

  // To be called every few seconds: parks and drops, and keeps the streams of events alive.
  void tidy();
  // Ends all of them with that reason: cancels what they do once the deadline has passed. None can be taken up after
  // it.
  void end_all(std::string_view reason, Deadline deadline);

 private:
  void drop(const Shared& session);

  Runtime& runtime_;
  Workplaces& workplaces_;
  Metrics& metrics_;
  const Options options_;
  JobThreads threads_;
  std::atomic<std::uint64_t> dropped_{0};
  mutable Mutex mutex_;
  std::map<std::string, Shared, std::less<>> at_hand_ GUARDED_BY(mutex_);
  // New ones before they have an id, and those that were ended: destroyed by tidy(), never on their own thread.
  std::vector<Shared> opening_ GUARDED_BY(mutex_), ended_ GUARDED_BY(mutex_);
  std::set<std::string> deleted_ GUARDED_BY(mutex_);  // of which a session still works
  bool ends_ GUARDED_BY(mutex_) = false;
};

}  // namespace agentd::serve
