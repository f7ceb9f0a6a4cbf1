// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_server.h - HTTP/1.1 on loopback and on a unix socket: bytes, limits and times.
//
// Asio stays in http_engine, http_door and http_connection, Beast in http_body, and nothing else includes these.
//
// It is strict: what two readers could take for two different requests (http_head.h; in a body: extensions of chunks
// and trailers) is answered 400, and the connection is closed. Requests of a connection are answered one after another,
// in their order; a stream is its last answer.
//
// When a limit of connections or descriptors is reached, one that owes no answer is closed for the new one: first those
// that were answered for the last time, then those that wait for a head, then those between two requests; of each the
// one that has waited longest. So silent clients do not keep others out.
//
// Threading: thread-safe. One thread moves the bytes of all connections and calls gate and handler, which do not block.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/result.h"
#include "core/serve/http_limits.h"

namespace agentd::serve {

struct HttpServerOptions {
  // Where it listens: loopback addresses such as "127.0.0.1" and "::1"; the port 0 is any free one.
  struct Place {
    std::string address;
    std::uint16_t port = 0;
  };
  std::vector<Place> places{};
  std::string socket{};               // the path of the unix socket; empty = none. A stale one is replaced
  std::vector<UniqueFd> inherited{};  // that listen already (socket activation)
  HttpLimits limits{};
  // The most bytes of the body of a request with that head, instead of limits.body_bytes; on the server's thread.
  std::function<std::size_t(const RequestHead& head)> body_max{};
};

struct HttpServerFigures {
  std::uint64_t connections = 0, streams = 0;      // that are open
  std::uint64_t body_bytes = 0, stream_bytes = 0;  // that are held now
  // Since the start. refused: connections that were closed for a limit or their user; requests: whose head was read;
  // timed_out: a head, a body or an answer that took too long.
  std::uint64_t accepted = 0, refused = 0, requests = 0, timed_out = 0, streams_dropped = 0;
};

class HttpServer {
 public:
  // Listens and begins to answer. Log and clock outlive it. kUnavailable: a port or the socket is taken; kDenied: an
  // address is not of this machine, or the socket's directory is open to others; kInvalid: a path that is too long, or
  // a descriptor that does not listen.
  static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options, HttpGate gate, HttpHandler handler,
                                                   const Clock& clock, Log& log);
  // Closes everything. Exchanges and streams may outlive it; they reach nobody then.
  virtual ~HttpServer() = default;

  // The port of each place, in their order.
  virtual std::vector<std::uint16_t> ports() const = 0;
  virtual HttpServerFigures figures() const = 0;
  // Accepts no connection and no further request any more, answers what is under way until the deadline, and closes the
  // streams. True if nothing had to be broken off. Not called on the server's thread.
  virtual bool drain(Deadline deadline) = 0;
  // A sign that the server's thread works: `done` is called on it.
  virtual void ping(std::function<void()> done) = 0;
};

}  // namespace agentd::serve
