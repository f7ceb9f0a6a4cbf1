// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_exchange.h - a request of a client of the daemon and its answer, as values: nothing here knows a connection.
//
// Threading: values; HttpExchange and HttpStream are thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentd::serve {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

// The other end of a connection.
struct HttpPeer {
  enum class Door : std::uint8_t { kTcp, kUnix } door = Door::kTcp;
  std::string address;    // of a TCP peer, without its port; empty on the unix socket
  std::uint32_t uid = 0;  // of a unix peer (SO_PEERCRED)
  std::int64_t pid = 0;   // of a unix peer when it connected
};

struct RequestHead {
  HttpPeer peer;
  std::string method;      // as it was sent: "GET"
  std::string target;      // as it was sent, in origin form: "/api/v1/x?y=z"
  HttpFields fields;       // names in lower case, in the order in which they came
  std::uint16_t port = 0;  // that was connected to; 0 on the unix socket

  // The first value of a field; empty when absent.
  std::string_view field(std::string_view lower_case_name) const;
  std::size_t count(std::string_view lower_case_name) const;
};

struct HttpReply {
  unsigned status = 200;
  std::string body{};
  std::string content_type = "application/json";
  HttpFields fields{};           // further ones; those that the server writes itself are left out
  std::size_t stream_bytes = 0;  // of a stream: instead of HttpLimits::stream_bytes; 0 = that
};

// The body of an answer that goes on: server-sent events, or a file.
class HttpStream {
 public:
  // Closes it.
  virtual ~HttpStream() = default;
  // Queues bytes; a queue that was empty takes any number. False: the stream was closed, the client has gone, or it was
  // dropped because it did not read (HttpLimits::stream_bytes); from then on always.
  virtual bool send(std::string bytes) = 0;
  // Calls `next` once, when the client has taken all that was queued, or takes no more: the sender of a file sends the
  // next part then. On the server's thread, so it does not block; or at once, on the calling one.
  virtual void when_taken(std::function<void()> next) { next(); }
  // The body is complete; the connection ends with it.
  virtual void close() = 0;
};

// One request, to be answered once.
class HttpExchange {
 public:
  // Answers 500 if nobody has answered.
  virtual ~HttpExchange() = default;
  virtual const RequestHead& head() const = 0;
  virtual const std::string& body() const = 0;

  // A second answer is ignored.
  virtual void reply(HttpReply reply) = 0;
  // Answers with this head, whose body is empty, and a body that follows. `on_gone` is called once when the client has
  // gone or was dropped, or the server ends the stream, before the body was sent completely; also if that was before
  // this call. On the server's thread, so it does not block; on the calling one if the server is gone.
  virtual std::shared_ptr<HttpStream> stream(HttpReply head, std::function<void()> on_gone) = 0;
};

// `text` is told as it is: {"error":{"code":"not_found","message":"..."}}.
HttpReply error_reply(unsigned status, std::string_view code, std::string_view message);
// The head of a stream of server-sent events.
HttpReply stream_head();

}  // namespace agentd::serve
