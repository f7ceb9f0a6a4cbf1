// SPDX-License-Identifier: Apache-2.0
#pragma once
// json_rpc.h - messages of JSON-RPC 2.0, read in one way and written, for every protocol that is made of them.
//
// A text is read by canonical_json.h: what two readers could read differently is refused. Batches are refused: neither
// ACP nor MCP (since 2025-06-18) has them. Framing is another matter: rpc_frames.h.
// An answer with neither a result nor an error has no result, and a null next to the other member counts for nothing:
// writers that omit empty members, and those that write all, mean the same.
// Source: the JSON-RPC 2.0 specification; codes from -32800 on of the Language Server Protocol and ACP.
//
// Threading: values and pure functions.

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/codec/json.h"

namespace agentd {

// Why a request fails.
enum RpcCode : std::int64_t {
  kRpcNotJson = -32700,
  kRpcBadRequest = -32600,
  kRpcNoMethod = -32601,
  kRpcBadParams = -32602,
  kRpcInternal = -32603,
  kRpcUnauthenticated = -32000,  // ACP
  kRpcNotFound = -32002,         // ACP and MCP: a session, a file, a resource
  kRpcCancelled = -32800,        // LSP and ACP
};

// The id of a request: a string, a whole number, or null. 1 and "1" are two ids; 1 and 1.0 are one.
class RpcId {
 public:
  RpcId() = default;  // null
  explicit RpcId(std::int64_t number);
  // nullopt: a value of another kind. A missing one is null.
  static std::optional<RpcId> read(JsonView value);

  const std::string& json() const { return json_; }
  bool is_null() const { return json_ == "null"; }
  // nullopt: it is not a number.
  std::optional<std::int64_t> number() const;
  auto operator<=>(const RpcId&) const = default;

 private:
  std::string json_ = "null";
};

struct RpcFault {
  std::int64_t code = kRpcInternal;
  std::string message;
  std::string data{};  // JSON; empty = none
};

struct RpcMessage {
  enum class Kind : std::uint8_t { kRequest, kNotification, kResult, kFault };
  Kind kind = Kind::kNotification;
  RpcId id{};            // not of a notification; null in a kFault: of a request that could not be read
  std::string method{};  // of a request and a notification
  RpcFault fault{};      // kFault
  std::shared_ptr<const JsonDocument> document{};  // shared by the reader and whoever answers

  // An object or an array; missing where there is none.
  JsonView params() const { return document ? document->root()["params"] : JsonView(); }
  JsonView result() const { return document ? document->root()["result"] : JsonView(); }
};

// A text that is not a message.
struct RpcRefusal {
  RpcId id{};  // null: it could not be read
  RpcFault fault{};
  bool answered = true;  // false: it is meant as an answer, which is never answered
};

struct RpcLimits {
  std::size_t bytes = 32u << 20;
  int depth = 64;
  bool wide_numbers = false;  // CanonicalJsonLimits
};
std::variant<RpcMessage, RpcRefusal> read_rpc(std::string_view text, const RpcLimits& limits = {});

// REQUIRES of these: `params` and `result` are JSON; empty params are omitted.
std::string rpc_request(const RpcId& id, std::string_view method, std::string_view params);
std::string rpc_notification(std::string_view method, std::string_view params);
std::string rpc_result(const RpcId& id, std::string_view result);
std::string rpc_fault(const RpcId& id, const RpcFault& fault);

// How a protocol cancels a request: a notification and the member of its params that has the id.
struct RpcCancelling {
  std::string_view method, member;
};
inline constexpr RpcCancelling kLspCancelling{"$/cancelRequest", "id"};
inline constexpr RpcCancelling kAcpCancelling{"$/cancel_request", "requestId"};

std::string rpc_cancel(const RpcCancelling& how, const RpcId& id);
// The request that a message cancels; nullopt: it cancels none.
std::optional<RpcId> cancelled_by(const RpcCancelling& how, const RpcMessage& message);

}  // namespace agentd
