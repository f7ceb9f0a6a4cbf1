// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_engine.h - the thread that moves the bytes of all connections, and what its connections share.
//
// Threading: members belong to the server's thread unless their comment or their guard says otherwise.

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/serve/http_asio.h"
#include "core/serve/http_limits.h"

namespace agentd::serve {

// A connection as the engine sees it.
class EngineConnection {
 public:
  virtual ~EngineConnection() = default;
  // Its part of HttpLimits::connections_per_peer.
  virtual std::string peer_key() const = 0;
  // The loss when it is closed to make room, the smallest first: a client that is idle may be about to ask.
  enum class Loss : std::uint8_t { kAnswered, kSilent, kIdle };
  virtual Loss loss() const = 0;
  // The bytes of its stream that its client has not taken; 0: it streams nothing.
  virtual std::size_t waiting_bytes() const = 0;
  virtual bool owes_answer() const = 0;
  virtual void start() = 0;
  // Ends unless a request is under way, and then with its answer.
  virtual void drain() = 0;
  virtual void drop_stream() = 0;
  // At once: bytes that the client has not taken are thrown away.
  virtual void close(bool at_once) = 0;
};

// A place where connections arrive.
class EngineDoor {
 public:
  virtual ~EngineDoor() = default;
  virtual void wait() = 0;
  virtual void close() = 0;
};

// Shared by the server's thread, its connections and the exchanges of its handlers.
struct HttpEngine : std::enable_shared_from_this<HttpEngine> {
  HttpEngine(HttpLimits its_limits, HttpGate its_gate, HttpHandler its_handler, const Clock& its_clock, Log& its_log)
      : limits(its_limits),
        gate(std::move(its_gate)),
        handler(std::move(its_handler)),
        clock(its_clock),
        log(its_log) {}

  // From any thread: does it on the server's, after what was posted before. False: the server has ended.
  bool post(std::function<void()> task) {
    const MutexLock lock(mutex);
    if (ended) return false;
    add(std::move(task));
    return true;
  }
  // The thread.
  void run();

  // Asio alone keeps no order between what its own thread and others post.
  void add(std::function<void()> task) REQUIRES(mutex) {
    tasks.push_back(std::move(task));
    asio::post(io, [this] { run_first(); });
  }
  void run_first();
  // Starts a new one, if there is room for it.
  void admit(const std::shared_ptr<EngineConnection>& connection);
  void remove(const std::shared_ptr<EngineConnection>& connection);
  // Closes the connection of that peer, or of any, that owes no answer and has waited longest. False: there is none.
  bool close_waiting(const std::string* peer);
  // Drops the stream in which most bytes wait, until all streams together have their bound.
  void make_room();
  void close_doors();
  void begin_drain();
  void break_off();
  void stop();

  const HttpLimits limits;  // immutable
  HttpGate gate;
  HttpHandler handler;
  std::function<std::size_t(const RequestHead&)> body_max;  // as HttpServerOptions has it
  const Clock& clock;                                       // thread-safe, as the log is
  Log& log;

  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> keeps_running{io.get_executor()};
  std::vector<std::shared_ptr<EngineDoor>> doors;
  std::unordered_set<std::shared_ptr<EngineConnection>> connections;
  std::map<std::string, std::size_t, std::less<>> peers;  // the number of their connections
  std::list<EngineConnection*> waiting;                   // in the order in which they began to wait
  bool draining = false;

  std::atomic<std::uint64_t> accepted{0}, refused{0}, requests{0}, timed_out{0}, streams{0}, streams_dropped{0};
  std::atomic<std::uint64_t> body_bytes{0};
  // Shared with the queues of streams, which handlers may keep.
  const std::shared_ptr<std::atomic<std::uint64_t>> stream_bytes = std::make_shared<std::atomic<std::uint64_t>>(0);

  Mutex mutex;
  Condition drained;
  std::deque<std::function<void()>> tasks GUARDED_BY(mutex);
  bool ended GUARDED_BY(mutex) = false;
  bool doors_closed GUARDED_BY(mutex) = false;
  bool broken_off GUARDED_BY(mutex) = false;
  std::size_t open GUARDED_BY(mutex) = 0;
};

}  // namespace agentd::serve
