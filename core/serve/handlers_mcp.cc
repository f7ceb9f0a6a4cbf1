// SPDX-License-Identifier: Apache-2.0
// handlers_mcp.cc - the Model Context Protocol.
#include "core/serve/handlers.h"

namespace agentd::serve {
namespace {

// False after an answer.
bool has_room(Daemon& daemon, const RouteCall& call) {
  if (daemon.figures().streams < kStreamsMax) return true;
  reply_error(call, Error{Code::kBusy, "too many streams are open: close one, or try again later"});
  return false;
}

}  // namespace

void post_mcp(Daemon& daemon, RouteCall call) {
  // Where the body says another method than the field, the request is refused.
  const bool stays_open = call.exchange->head().field(mcp::kMethodField) == "subscriptions/listen";
  if (!stays_open || has_room(daemon, call)) daemon.mcp().post(call);
}

void get_mcp(Daemon& daemon, RouteCall call) {
  if (has_room(daemon, call)) daemon.mcp().get(call);
}

void end_mcp(Daemon& daemon, RouteCall call) { daemon.mcp().remove(call); }

}  // namespace agentd::serve
