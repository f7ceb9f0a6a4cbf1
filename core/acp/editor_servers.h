// SPDX-License-Identifier: Apache-2.0
#pragma once
// editor_servers.h - the MCP servers that an editor names when it opens a session.
// Source: agentclientprotocol.com, "Session Setup", "MCP Servers".
//
// Threading: pure function.

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/codec/json.h"
#include "core/config/mcp_settings.h"

namespace agentd::acp {

// `servers`: the list of the request. A name becomes one that a server can have here: "My files" is My-files. The
// older transport "sse" is refused. kInvalid: a sentence about the member.
Result<std::vector<McpServerSettings>> read_editor_servers(JsonView servers);

}  // namespace agentd::acp
