// SPDX-License-Identifier: Apache-2.0
// handlers_mcp.cc - the Model Context Protocol.
#include "core/serve/handlers.h"

namespace agentd::serve {

void post_mcp(Daemon& daemon, RouteCall call) { daemon.mcp().post(call); }

void end_mcp(Daemon& daemon, RouteCall call) { daemon.mcp().remove(call); }

}  // namespace agentd::serve
