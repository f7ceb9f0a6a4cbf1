// SPDX-License-Identifier: Apache-2.0
#pragma once
// protocol.h - what a request says of itself, whether its fields of HTTP agree, and how results and faults are written
// in both eras.
//
// Source: modelcontextprotocol.io, specifications 2025-11-25 ("Lifecycle") and 2026-07-28 ("Base protocol",
// "Transports", "Versioning"); SEP-2243 (fields of HTTP), SEP-2549 (caching), SEP-2575 (requests that stand alone).
//
// Threading: values and pure functions.

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/codec/json_rpc.h"
#include "core/codec/mcp_protocol.h"

namespace agentd::mcp {

inline constexpr std::string_view kTasksExtension = "io.modelcontextprotocol/tasks";
inline constexpr std::string_view kMetaSubscription = "io.modelcontextprotocol/subscriptionId";
inline constexpr std::string_view kMetaServer = "io.modelcontextprotocol/serverInfo";

// Why a request of the modern era fails, beside RpcCode.
enum McpCode : std::int64_t {
  kMcpHeaderMismatch = -32020,
  kMcpMissingAbility = -32021,
  kMcpUnsupportedVersion = -32022,
};

// A fault, and the status of HTTP that it is answered with.
struct Fault {
  RpcFault rpc;
  unsigned status = 200;
};
Fault bad_params(std::string what);

enum class Era : std::uint8_t { kLegacy, kModern };

// The client of a request.
struct Asking {
  Era era = Era::kLegacy;
  std::string client;  // the name of its program; empty = it has not said it
  bool tasks = false;  // it can poll tasks
};

// The version that `_meta` names; nullopt: none, so that the message belongs to the legacy era.
std::optional<std::string> claimed_version(const RpcMessage& message);
// The client of a request of the modern era. kMcpUnsupportedVersion; kRpcBadParams: `_meta` is not complete.
Result<Asking, Fault> read_asking(const RpcMessage& message);

// The fields of HTTP that a request has; nullopt: it has no such field.
struct Fields {
  std::optional<std::string> version, method, name;
};
// Why the fields of a message do not agree with it; nullopt: they do, or it belongs to the legacy era.
// kMcpHeaderMismatch; kRpcBadParams: the field names the modern era, and the message lacks what that needs.
std::optional<Fault> check_fields(const Fields& fields, const RpcMessage& message);

// The same of the fields Mcp-Param-NAME, which repeat the members of a tool's input whose schema has "x-mcp-header".
using FieldOf = std::function<std::optional<std::string>(const std::string& lower_case_name)>;
std::optional<Fault> check_param_fields(std::string_view schema, JsonView arguments, const FieldOf& field);

// The legacy versions that are served, the newest first: all but 2025-03-26, whose batches are not read.
inline constexpr std::array<std::string_view, 3> kServedVersions{"2025-11-25", "2025-06-18", "2024-11-05"};

// The legacy version that is spoken with a client which asks for that one: the same, else the newest. A client of
// 2025-03-26 gets 2024-11-05, which such clients know, and which has no batches.
std::string_view negotiated_version(std::string_view asked);

// The name that clients see, in `initialize`, `server/discover` and each modern result.
void write_server(JsonWriter& out, std::string_view version);
// The abilities of the server; in the modern era with its extensions.
void write_abilities(JsonWriter& out, Era era);

// A result as its era has it. `json` is one object. The modern era wants the type of the result, the server's name and,
// for results that may be kept, for how long.
struct Dress {
  Era era = Era::kLegacy;
  std::string_view version;              // of agentd
  std::string_view type = "complete";    // "task"
  std::optional<std::int64_t> ttl_ms{};  // nullopt: it may not be kept
  std::string_view subscription{};       // JSON: the id of the request that it ends; empty = none
};
std::string dressed(std::string_view json, const Dress& dress);

}  // namespace agentd::mcp
