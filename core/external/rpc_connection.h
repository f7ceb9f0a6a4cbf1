// SPDX-License-Identifier: Apache-2.0
#pragma once
// rpc_connection.h - one running program that answers JSON-RPC requests over its pipes.
//
// A thread reads; the calling threads write requests, one after another. Requests from the program are refused, since
// agentd offers it nothing. A connection that has ended stays ended.
//
// Threading: thread-safe; the destructor's caller must be the last user.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/codec/json_rpc.h"
#include "core/process/duplex.h"

namespace agentd {

class RpcConnection {
 public:
  // How often waiting calls poll their cancel token.
  static constexpr Milliseconds kPoll{10};

  struct Reply {
    enum class Kind { kResult, kError, kTimedOut, kCancelled, kEnded };
    Kind kind = Kind::kEnded;
    std::shared_ptr<const JsonDocument> message;  // kResult; shared by asker and waiter
    std::string sentence;                         // kError, kEnded

    JsonView result() const { return message ? message->root()["result"] : JsonView(); }
  };
  // A request that was written and is not answered yet.
  struct Pending {
    std::int64_t id = 0;
    bool answered = false;  // guarded by the connection's mutex, like the reply
    Reply reply;
  };

  // `clock` must outlive it. A frame of more than `frame_max` bytes ends the connection.
  RpcConnection(std::unique_ptr<DuplexProcess> process, const Clock& clock, std::size_t frame_max);
  ~RpcConnection();
  RpcConnection(const RpcConnection&) = delete;
  RpcConnection& operator=(const RpcConnection&) = delete;

  // Writes a request. Null if it could not be written completely; `why` then has the reason.
  std::shared_ptr<Pending> begin(std::string_view method, std::string_view params, const CancelToken& cancel,
                                 Deadline deadline, Reply& why);
  // Returns the answer, or kTimedOut, kCancelled or kEnded; the request then remains in progress.
  Reply wait(const std::shared_ptr<Pending>& pending, const CancelToken& cancel, Deadline deadline);
  // Gives up a request: its answer will be dropped, and the program is notified. The second `overdue` one in a row,
  // without any message in between, ends the connection.
  void abandon(const std::shared_ptr<Pending>& pending, bool overdue);
  // Ends the connection with the reason `why`, unless it has ended.
  void end(std::string why);

  bool ended() const;
  std::string why_ended() const;
  std::uint64_t ended_at_ns() const;

 private:
  void read_all();
  bool take(const std::string& body);
  void answered();
  void take_answer(RpcMessage message);
  void refuse(const RpcId& id, RpcFault fault);
  void send_refusals();
  std::string end_of_output() const;
  // Locks for writing; false if the deadline or the cancel came first.
  bool lock_writing(const CancelToken& cancel, Deadline deadline) TRY_ACQUIRE(true, writing_);

  const std::unique_ptr<DuplexProcess> process_;
  const Clock& clock_;
  const std::size_t frame_max_;
  const CancelToken stop_;  // for the reader

  Mutex writing_;
  mutable Mutex mutex_;
  Condition changed_;
  std::int64_t last_id_ GUARDED_BY(mutex_) = 0;
  // Shared by the connection and the waiting calls.
  std::map<std::int64_t, std::shared_ptr<Pending>> pending_ GUARDED_BY(mutex_);
  std::vector<std::string> refusals_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;
  std::string why_ GUARDED_BY(mutex_);
  std::uint64_t ended_at_ns_ GUARDED_BY(mutex_) = 0;
  int unanswered_ GUARDED_BY(mutex_) = 0;  // overdue requests since its last message
  Thread reader_;
};

}  // namespace agentd
