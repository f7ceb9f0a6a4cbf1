// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_protocol.h - words of the Model Context Protocol that its client and its server share.
//
// Two eras: up to 2025-11-25 a connection begins with `initialize` and may have a session; from 2026-07-28 on each
// request says in its `_meta` who asks and in which version, and `server/discover` tells what a server has.
// Source: modelcontextprotocol.io, specifications 2025-11-25 and 2026-07-28.
//
// Threading: constants.

#include <array>
#include <cstdint>
#include <string_view>

#include "core/codec/json_rpc.h"

namespace agentd::mcp {

inline constexpr std::string_view kModernVersion = "2026-07-28";
// Versions that begin with `initialize`, the newest first.
inline constexpr std::array<std::string_view, 4> kLegacyVersions{"2025-11-25", "2025-06-18", "2025-03-26",
                                                                 "2024-11-05"};

// Members of `_meta` in each request of the modern era.
inline constexpr std::string_view kMetaVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kMetaClient = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view kMetaAbilities = "io.modelcontextprotocol/clientCapabilities";

// Fields of HTTP, in lower case.
inline constexpr std::string_view kVersionField = "mcp-protocol-version";
inline constexpr std::string_view kSessionField = "mcp-session-id";  // up to 2025-11-25
inline constexpr std::string_view kMethodField = "mcp-method";       // from 2026-07-28 on
inline constexpr std::string_view kNameField = "mcp-name";           // likewise

inline constexpr RpcCancelling kMcpCancelling{"notifications/cancelled", "requestId"};

}  // namespace agentd::mcp
