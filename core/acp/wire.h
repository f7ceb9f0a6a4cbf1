// SPDX-License-Identifier: Apache-2.0
#pragma once
// wire.h - the editor's end of the Agent Client Protocol: JSON-RPC on two descriptors, a message on each line.
//
// Bytes are read on one thread, which never waits for the editor; sessions send and ask on theirs, and a thread of the
// wire's own writes. An editor that does not read holds back the sessions that send to it, and nothing else.
// Source: agentclientprotocol.com, "Transports" and "Overview".
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

namespace agentd::acp {

class Wire {
 public:
  // The descriptors stay the caller's. `clock` outlives it.
  Wire(int in, int out, const Clock& clock);
  // Writes what is queued for up to a second.
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Reads until the end of the input or `cancel`: calls `take` with each request and notification of the editor. What
  // is no message is answered with its fault.
  using Take = std::function<void(RpcMessage)>;
  void read_all(const Take& take, const CancelToken& cancel);

  void notify(std::string_view method, std::string_view params);
  // Answers a request of the editor.
  void answer(const RpcId& id, std::string_view result);
  void refuse(const RpcId& id, const RpcFault& fault);

  // Asks the editor, and waits: its result, or why there is none. kRpcCancelled: `cancel` was set, or the editor has
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

}  // namespace agentd::acp
