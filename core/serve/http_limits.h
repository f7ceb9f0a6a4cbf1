// SPDX-License-Identifier: Apache-2.0
#pragma once
// http_limits.h - the limits of an HTTP server, and the functions that answer its requests.
//
// Threading: values.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/clock.h"
#include "core/serve/http_exchange.h"

namespace agentd::serve {

struct HttpLimits {
  std::size_t connections = 1'024;
  std::size_t connections_per_peer = 512;  // of all TCP clients (an address of loopback tells nothing), or of one user
  std::size_t head_bytes = 32u << 10;      // of request line and fields together
  std::size_t fields = 100;
  std::size_t body_bytes = 8u << 20;
  std::size_t bodies_bytes = 256u << 20;  // of all requests together
  std::size_t stream_bytes = 1u << 20;    // that wait for a client that does not read
  std::size_t streams_bytes = 32u << 20;  // that wait in all streams: then the one in which most wait is dropped
  Milliseconds head_time{10'000};         // from the first byte of a request, or the connection's begin
  Milliseconds body_time{60'000};         // of the whole body
  Milliseconds idle_time{75'000};         // between two requests
  Milliseconds write_time{30'000};        // without a byte taken by the client
};

// Decides from the head, before the body is read. A reply: that is the answer, and the connection is closed.
using HttpGate = std::function<std::optional<HttpReply>(const RequestHead& head)>;
using HttpHandler = std::function<void(std::shared_ptr<HttpExchange> exchange)>;

}  // namespace agentd::serve
