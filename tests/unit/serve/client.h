// SPDX-License-Identifier: Apache-2.0
#pragma once
// client.h - a server for a test, and clients that send any bytes to it.
//
// Threading: thread-compatible, but for Event.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/serve/http_server.h"

namespace agentd::serve::testing {

struct Answer {
  unsigned status = 0;  // 0: the connection ended before a whole answer
  std::string head, body;
  bool has(std::string_view text) const { return head.find(text) != std::string::npos; }
};

// A connection. A read that takes a minute ends the test's patience: it is as if the server had ended it.
class Client {
 public:
  static Client tcp(std::uint16_t port, const std::string& address = "127.0.0.1");
  static Client local(const std::string& path);

  bool connected() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  // False: the server has ended the connection.
  bool send(std::string_view bytes);
  // The next whole answer; a body in chunks is put together. 100 Continue counts as one.
  Answer read();
  // The body that follows a head in chunks: its next bytes, at least one; empty = it is complete or was broken off.
  std::string read_chunk();
  // The head of an answer whose body is read with read_chunk().
  Answer read_head();
  // All bytes until the connection ends, with those that were read too far.
  std::string rest();
  // True if nothing more comes.
  bool ended() { return rest().empty(); }
  // Ends its side: the server reads an end, and may still answer.
  void finish();
  void close() { fd_.reset(); }

 private:
  explicit Client(UniqueFd fd) : fd_(std::move(fd)) {}
  bool more();
  std::string take(std::size_t bytes);
  std::string take_line();

  UniqueFd fd_;
  std::string in_;
};

// Something that another thread is waited for.
class Event {
 public:
  void set() {
    const MutexLock lock(mutex_);
    ++times_;
    changed_.notify_all();
  }
  int times() const {
    const MutexLock lock(mutex_);
    return times_;
  }
  // False after a minute.
  bool wait(int times = 1);

 private:
  SystemClock clock_;
  mutable Mutex mutex_;
  Condition changed_;
  int times_ GUARDED_BY(mutex_) = 0;
};

// Asks until it holds; false after a minute.
bool becomes(const std::function<bool()>& holds);

// "GET TARGET" with the fields that it needs, and more.
std::string get(std::string_view target, std::string_view fields = "");
std::string post(std::string_view target, std::string_view body, std::string_view fields = "");

// The text of a handler that shows what it got: "POST /a 3 abc".
HttpReply echo(const HttpExchange& exchange);

// A server at 127.0.0.1 whose handler answers echo() unless the test has another.
struct Served {
  explicit Served(HttpServerOptions options = {}, HttpHandler handler = {}, HttpGate gate = {});
  Client client() const { return Client::tcp(port); }

  SystemClock clock;
  NullLog log;
  std::unique_ptr<HttpServer> server;
  std::uint16_t port = 0;
};

}  // namespace agentd::serve::testing
