// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_door.h - the Model Context Protocol over HTTP: /mcp of the daemon.
//
// A legacy client has a session from `initialize` on, named by the field Mcp-Session-Id. It ends with DELETE, with its
// token, or after an hour without use; a stream of what it is told (GET), of which it has one at a time, is a use, and
// ends with it. A request of the modern era stands alone: requests with one token in one
// directory share the conversation in which tools are called. An answer is JSON, or a stream of server-sent events
// where something is told before it; in the modern era, a client that leaves the stream cancels the request.
//
// Source: modelcontextprotocol.io, "Transports" of 2025-11-25 and of 2026-07-28.
//
// Threading: thread-safe.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/mutex.h"
#include "core/mcp/server.h"
#include "core/serve/job_threads.h"
#include "core/serve/routes.h"
#include "core/serve/workplaces.h"

namespace agentd::serve {

class McpDoor {
 public:
  // All outlive it.
  McpDoor(Runtime& runtime, Workplaces& workplaces, std::string version);
  // Ends all that goes on, and the sessions.
  ~McpDoor();
  McpDoor(const McpDoor&) = delete;
  McpDoor& operator=(const McpDoor&) = delete;

  // Handlers of the routes.
  void post(const RouteCall& call);
  void get(const RouteCall& call);
  void remove(const RouteCall& call);

  // Cancels what goes on, and takes no more.
  void stop();
  // To be called every few seconds: tells streams that they go on; ends clients that nobody uses, and those whose token
  // is gone.
  using IsGood = std::function<bool(const Digest& token)>;
  void tidy(const IsGood& is_good);

 private:
  using Shared = std::shared_ptr<mcp::Client>;  // shared with its requests
  struct Known {
    Shared client;
    Digest token{};  // whose it is
    Deadline unused{};
  };
  class Exchange;
  class Told;

  void post_legacy(const RouteCall& call, const std::shared_ptr<const RpcMessage>& message, const std::string& cwd);
  void post_modern(const RouteCall& call, const std::shared_ptr<const RpcMessage>& message, const std::string& cwd);
  // The directory of a call; nullopt after its answer.
  std::optional<std::string> directory_of(const RouteCall& call) const;
  mcp::Caller caller_in(const std::string& cwd, const std::string& surface) const;
  Shared session_of(const RouteCall& call);
  // Null after its answer: the field names no session of the client, or a version that is not spoken.
  Shared session_or_answer(const RouteCall& call, const RpcId& id);
  // Adds a client; returns the one that has to go for it, where there are too many. Null: there is room.
  using ByName = std::map<std::string, Known>;
  static Shared keep(ByName& clients, const std::string& name, Known known);
  // Ends them behind this call.
  void end(std::vector<Shared> clients);

  Runtime& runtime_;
  Workplaces& workplaces_;
  mutable Mutex mutex_;
  ByName sessions_ GUARDED_BY(mutex_);  // by Mcp-Session-Id
  ByName alone_ GUARDED_BY(mutex_);     // of the modern era, by token and directory
  bool stops_ GUARDED_BY(mutex_) = false;
  mcp::Server server_;
  JobThreads threads_;  // last: ends before what its work uses
};

}  // namespace agentd::serve
