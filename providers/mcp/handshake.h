// SPDX-License-Identifier: Apache-2.0
#pragma once
// handshake.h - agrees with a server on the era and the version of the protocol.
//
// server/discover is asked first. A server that does not know it is asked to initialize: over HTTP when it has
// answered with a status of 400 or above, over a program also when it has not answered for a while. A program that is
// slow to start gets both, and answers the first that it knows; what comes later to the other is ignored.
// Source: modelcontextprotocol.io, "Versioning" 2026-07-28 and "Lifecycle" 2025-11-25.
//
// Threading: pure, but for the connection.

#include <string>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "providers/mcp/connection.h"

namespace agentd::mcp {

struct Agreed {
  bool modern = false;
  std::string version;
  std::string title{}, server_version{};  // as the server says
  bool has_tools = false;
  bool tells_changes = false;  // of the list of tools
};

// `modern_first`: false = begin with initialize, since it was of that era, or ended in between, at the last start.
Result<Agreed, Failure> shake_hands(Connection& connection, bool modern_first, const CancelToken& cancel,
                                    Deadline deadline);

}  // namespace agentd::mcp
