// SPDX-License-Identifier: Apache-2.0
#pragma once
// server.h - the methods of the Model Context Protocol, whatever transport brings them.
//
// Requests of the modern era say in their `_meta` who asks and stand alone; any other belongs to a connection that
// `initialize` has begun. What may take time is done on threads of the means, so that a transport never waits.
// Source: modelcontextprotocol.io, specifications 2025-11-25 and 2026-07-28, and the extension for tasks.
//
// Threading: thread-safe.

#include <memory>
#include <string>
#include <string_view>

#include "core/mcp/changes.h"
#include "core/mcp/client.h"
#include "core/mcp/runs.h"

namespace agentd::mcp {

class Server {
 public:
  // REQUIRES: requests that go on end before it does; their clients were cancelled.
  explicit Server(Means means) : means_(std::move(means)), runs_(means_), changes_(means_) {}

  const Means& means() const { return means_; }

  using To = std::shared_ptr<Answerer>;  // shared with the work of the request
  using From = std::shared_ptr<Client>;  // likewise
  // Answers a request, at once or later, or takes a notification. `cancel` ends the work of the request.
  void take(const From& client, const std::shared_ptr<const RpcMessage>& message, const To& to,
            const CancelToken& cancel = {});
  // Notifications of changes. A transport says where (Changes::hear), and which client has ended.
  Changes& changes() { return changes_; }
  // Tells nothing more, and cancels the runs of agents that go on here.
  void stop() {
    changes_.end();
    runs_.cancel_all();
  }

 private:
  struct Call;
  using Reply = Result<std::string, Fault>;
  struct Method;
  static const Method kMethods[];
  static const Method* find_method(std::string_view name, Era era);

  void work(const Call& call, const Method& method);
  Reply initialize(const Call& call);
  Reply discover(const Call& call);
  Reply nothing(const Call& call);
  Reply list_tools(const Call& call);
  Reply call_tool(const Call& call);
  Reply run_agent(const Call& call, JsonView input, const Progress& progress);
  Reply prompts_list(const Call& call);
  Reply prompts_get(const Call& call);
  Reply completion(const Call& call);
  Reply resources_list(const Call& call);
  Reply resources_templates(const Call& call);
  Reply resources_read(const Call& call);
  Reply subscribe(const Call& call);
  Reply unsubscribe(const Call& call);
  Reply listen(const Call& call);
  void watch(const Call& call, List list);
  Reply get_task(const Call& call);
  Reply update_task(const Call& call);
  Reply cancel_task(const Call& call);

  const Means means_;
  Runs runs_;
  Changes changes_;
};

}  // namespace agentd::mcp
