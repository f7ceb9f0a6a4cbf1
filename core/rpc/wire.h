// SPDX-License-Identifier: Apache-2.0
#pragma once
// wire.h - JSON-RPC with a client on two descriptors, a message on each line: the transport of ACP, and that of MCP
// over standard input and output.
//
// Bytes are read on one thread, which never waits for the client; others send and ask, and a thread of the wire's own
// writes. A client that does not read holds back those who send to it, and nothing else.
// Source: agentclientprotocol.com, "Transports" and "Overview"; modelcontextprotocol.io, "Transports".
//
// Threading: read_all() on one thread; the rest on any.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"
#include "core/codec/json_rpc.h"

namespace agentd {

class RpcWire {
 public:
  // The descriptors stay the caller's. `clock` outlives it. `cancelling`: how the protocol cancels what was asked.
  RpcWire(int in, int out, const Clock& clock, RpcCancelling cancelling = kAcpCancelling);
  // Writes what is queued for up to a second.
  ~RpcWire();
  RpcWire(const RpcWire&) = delete;
  RpcWire& operator=(const RpcWire&) = delete;

  // Reads until the end of the input or `cancel`: calls `take` with each request and notification of the client. What
  // is no message is answered with its fault.
  using Take = std::function<void(RpcMessage)>;
  void read_all(const Take& take, const CancelToken& cancel);

  void notify(std::string_view method, std::string_view params);
  // Answers a request of the client.
  void answer(const RpcId& id, std::string_view result);
  void refuse(const RpcId& id, const RpcFault& fault);

  // Asks the client, and waits: its result, or why there is none. kRpcCancelled: `cancel` was set, or the client has
  // gone, or it has not answered before the deadline. Not on the thread of read_all().
  using Answer = Result<std::shared_ptr<const JsonDocument>, RpcFault>;
  // `late`: called on the thread of read_all() with a result that comes after nobody waited for it any more; it may
  // order(). Empty = such a result is dropped.
  struct Patience {
    CancelToken cancel{}, also{};  // either ends it
    Deadline deadline{};
    std::function<void(JsonView result)> late{};
  };
  Answer ask(std::string_view method, std::string_view params, const Patience& patience);
  // The same until the cancel alone.
  Answer ask(std::string_view method, std::string_view params, const CancelToken& cancel) {
    return ask(method, params, Patience{cancel});
  }
  // Asks for something whose answer makes no difference; returns at once.
  void order(std::string_view method, std::string_view params);

  // True once the input has ended, or the output cannot be written: no question is answered any more.
  bool is_gone() const;

 private:
  struct Asked {
    bool answered = false, left = false;  // left: nobody waits for the answer
    Answer answer = RpcFault{};
    std::function<void(JsonView)> late;
  };
  void take_text(const std::string& text, const Take& take);
  bool is_asked(const RpcId& id) const;
  void take_answer(const RpcId& id, Answer answer);
  void send(std::string_view message);
  void write_all();
  // False: it cannot be written.
  bool write_some(std::string_view& bytes) const;
  // False: nothing more can be read.
  bool read_some(std::string& bytes, const CancelToken& cancel);
  void end();

  const int in_, out_;
  const Clock& clock_;
  const RpcCancelling cancelling_;
  std::atomic<std::thread::id> reader_{};  // of read_all()
  mutable Mutex mutex_;
  Condition changed_;
  bool gone_ GUARDED_BY(mutex_) = false;
  bool broken_ GUARDED_BY(mutex_) = false;  // the output
  bool ends_ GUARDED_BY(mutex_) = false;
  Deadline last_write_ GUARDED_BY(mutex_){};
  std::string queued_ GUARDED_BY(mutex_);
  std::size_t writing_ GUARDED_BY(mutex_) = 0;  // bytes that were taken from the queue and are not written
  std::int64_t last_id_ GUARDED_BY(mutex_) = 0;
  // Shared by the wire and whoever waits.
  std::map<std::int64_t, std::shared_ptr<Asked>> asked_ GUARDED_BY(mutex_);
  Thread writer_;
};

}  // namespace agentd
