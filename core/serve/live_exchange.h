// SPDX-License-Identifier: Apache-2.0
#pragma once
// live_exchange.h - an exchange of a connection that is open: what a handler does on any thread becomes a task of the
// server's thread.
//
// Threading: as each member says.

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/base/mutex.h"
#include "core/base/thread_annotations.h"
#include "core/serve/http_exchange.h"

namespace agentd::serve {

// The bytes of a stream on their way to the server's thread.
class StreamQueue {
 public:
  struct Limits {
    std::size_t bytes = 0;      // of this stream; but an empty queue takes any number
    std::size_t all_bytes = 0;  // of all together: beyond it somebody is asked to make room
  };
  // `all`: the bytes of all queues.
  StreamQueue(Limits limits, std::shared_ptr<std::atomic<std::uint64_t>> all, std::function<void()> on_gone)
      : limits_(limits), all_(std::move(all)), on_gone_(std::move(on_gone)) {}
  ~StreamQueue();
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  // From any thread. Asks: the part of the server's thread; kMakeRoom: and then to look.
  enum class Asks : std::uint8_t { kNothing, kLook, kDrop, kMakeRoom };
  struct Put {
    bool queued = false;
    Asks asks = Asks::kNothing;
  };
  Put put(std::string bytes);
  Asks close();
  // As HttpStream::when_taken.
  void when_taken(std::function<void()> next);
  // The bytes that the client has not taken.
  std::size_t waiting() const;

  // The server's thread alone, from here on. All that is queued, which counts until the client has taken it.
  struct Taken {
    std::string bytes{};
    bool last = false;  // nothing follows
  };
  Taken take();
  // The client has taken all but `left` of it.
  void count_taken(std::size_t left);
  // Takes no more bytes; they are still to be taken from it. Tells the handler, once.
  void end_soon();
  // Takes no more bytes, and forgets what it has. Tells the handler, once, unless the body is complete.
  void end(bool complete);

 private:
  void tell();
  // Takes the function that waits for the client, if it need not wait any longer.
  std::function<void()> take_next() REQUIRES(mutex_);
  void forget() REQUIRES(mutex_);

  const Limits limits_;
  const std::shared_ptr<std::atomic<std::uint64_t>> all_;  // shared with all queues and the server
  mutable Mutex mutex_;
  std::string pending_ GUARDED_BY(mutex_);
  std::size_t taken_ GUARDED_BY(mutex_) = 0;  // bytes that the client has not taken yet
  bool asked_ GUARDED_BY(mutex_) = false;     // the server's thread is about to look
  bool closed_ GUARDED_BY(mutex_) = false;
  bool gone_ GUARDED_BY(mutex_) = false;
  std::function<void()> next_ GUARDED_BY(mutex_);  // of when_taken(); empty = nobody waits
  std::function<void()> on_gone_;                  // of the server's thread
};

// The connection as an exchange sees it.
class Wire {
 public:
  virtual ~Wire() = default;
  // From any thread: does it on the server's, after what was posted before. False: the server has ended.
  virtual bool post(std::function<void()> task) = 0;
  // From any thread: the bytes of a body are not held any more.
  virtual void release_body(std::size_t bytes) = 0;
  // From any thread.
  // `bytes`: HttpReply::stream_bytes.
  virtual std::shared_ptr<StreamQueue> make_queue(std::size_t bytes, std::function<void()> on_gone) = 0;

  // The server's thread alone.
  virtual void answer(const HttpReply& reply) = 0;
  virtual void begin_stream(const HttpReply& head, std::shared_ptr<StreamQueue> queue) = 0;
  virtual void look_at_stream() = 0;
  virtual void drop_stream() = 0;
  // Drops the slowest streams, of any connection, until all have their bound.
  virtual void make_room() = 0;
};

// Shared with the handler, which may keep it when the connection has ended.
std::shared_ptr<HttpExchange> live_exchange(std::shared_ptr<Wire> wire, RequestHead head, std::string body);

}  // namespace agentd::serve
