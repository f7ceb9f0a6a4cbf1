// SPDX-License-Identifier: Apache-2.0
#pragma once
// link.h - the way of messages to a server and back: the standard input and output of a program, or HTTP.
//
// A link knows frames and requests of HTTP, and no method: connection.h does. Bytes of the server are not to be
// believed: what is no message is told to the ears as such.
//
// Threading: send() and drop() on any thread, both return at once; ears are called on threads of the link, for one
// message at a time where the link has one stream, and may send.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/codec/json_rpc.h"
#include "core/net/http.h"
#include "providers/mcp/server_setup.h"

namespace agentd::mcp {

inline constexpr std::size_t kMessageMax = 16u << 20;  // of a server, bytes
// Schemas have limits such as 9223372036854775807, which go to the model as they came.
inline constexpr RpcLimits kAnswers{.bytes = kMessageMax, .wide_numbers = true};

inline constexpr Milliseconds kSlice{20};  // how often whoever waits looks at its cancel token

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Outgoing {
  std::string text;  // a message
  RpcId id{};        // of a request; null = no answer is expected
  Fields fields{};   // of the request of HTTP, besides the link's own
};

// Why a request gets no answer.
struct Loss {
  enum class Kind : std::uint8_t {
    kBroken,   // the connection failed, or what came is no message
    kStatus,   // HTTP: an answer with this status, and no message in it
    kSession,  // HTTP: the server has ended the session, so that it has not done anything
  };
  Kind kind = Kind::kBroken;
  std::string why;  // the rest of a sentence that begins with the server
  int status = 0;
};

struct Ears {
  // A message; within: the request whose answer brought it, null = it came by itself.
  std::function<void(RpcMessage message, const RpcId& within)> take;
  // Bytes that are no message. `within` as above; `refusal.id` is that of an answer where it could be read.
  std::function<void(RpcRefusal refusal, const RpcId& within)> refuse;
  // The request gets no answer.
  std::function<void(const RpcId& id, Loss loss)> lose;
  // The link has ended: nothing further comes.
  std::function<void(const std::string& why)> end;
};

class Link {
 public:
  // Ends it; no ear is called afterwards.
  virtual ~Link() = default;
  // Before anything is sent, once.
  virtual void start(Ears ears) = 0;
  virtual void send(Outgoing message) = 0;
  // Waits until what was sent so far has gone out, as far as it can be known; for messages whose order matters.
  virtual void flush(const CancelToken& cancel, Deadline deadline) = 0;
  // The answer to this request is not awaited any more.
  virtual void drop(const RpcId& id) = 0;
  // The era and the version of each further request of HTTP; empty = none yet.
  virtual void agree(std::string_view version, bool modern) = 0;
  // Begins to listen for messages that the server sends by itself: HTTP up to 2025-11-25.
  virtual void listen() = 0;
  virtual bool is_http() const = 0;
  virtual std::string error_text() const { return {}; }
};

// kNotFound, kDenied, kInvalid, kUnavailable as DuplexProcess::start(). `clock` outlives it.
Result<std::unique_ptr<Link>> start_program(const ServerSetup& setup, const Clock& clock);
// `http` and `clock` outlive it.
std::unique_ptr<Link> link_by_http(const ServerSetup& setup, HttpClient& http, const Clock& clock);

}  // namespace agentd::mcp
