// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/mcp_tools.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/mutex.h"
#include "providers/mcp/server.h"

namespace agentd::mcp {
namespace {

constexpr Milliseconds kLookSlice{10};

}  // namespace

// A server is shared by the list of them and by whoever uses it now: one that is taken out ends with its last call.
struct McpTools::Parts {
  using Servers = std::vector<std::shared_ptr<Server>>;
  explicit Parts(McpParts parts) : given(std::move(parts)) {}

  Servers all() const {
    const MutexLock lock(mutex);
    return servers;
  }
  // The server whose tool has this name; names of servers make it one at most.
  std::shared_ptr<Server> of(std::string_view name) const {
    const MutexLock lock(mutex);
    const auto found = std::find_if(servers.begin(), servers.end(),
                                    [&](const auto& server) { return name.starts_with(server->prefix()); });
    return found == servers.end() ? nullptr : *found;
  }

  const McpParts given;
  mutable Mutex mutex;
  Servers servers GUARDED_BY(mutex);
  bool started GUARDED_BY(mutex) = false;
};

McpTools::McpTools(std::vector<ServerSetup> servers, McpParts parts)
    : parts_(std::make_unique<Parts>(std::move(parts))) {
  update(std::move(servers));
}

McpTools::~McpTools() {
  for (const auto& server : parts_->all()) server->end_soon();  // all at once
}

void McpTools::start() {
  {
    const MutexLock lock(parts_->mutex);
    parts_->started = true;
  }
  for (const auto& server : parts_->all()) server->start();
}

void McpTools::update(std::vector<ServerSetup> servers) {
  Parts::Servers before, now, kept;
  bool started = false;
  {
    const MutexLock lock(parts_->mutex);
    before.swap(parts_->servers);
    for (ServerSetup& setup : servers) {
      const auto same = std::find_if(before.begin(), before.end(), [&](const auto& each) {
        return !setup.identity.empty() && each->name() == setup.name && each->identity() == setup.identity;
      });
      if (same != before.end()) kept.push_back(*same);
      now.push_back(same != before.end() ? *same : std::make_shared<Server>(std::move(setup), parts_->given));
    }
    parts_->servers = now;
    started = parts_->started;
  }
  if (started)
    for (const auto& server : now) server->start();
  for (const auto& server : kept) server->judge_again();
}

bool McpTools::is_empty() const {
  const MutexLock lock(parts_->mutex);
  return parts_->servers.empty();
}

void McpTools::wait(const CancelToken& cancel, Deadline deadline) {
  const auto settled = [](const auto& server) { return server->is_settled(); };
  const Clock& clock = parts_->given.clock;
  const Parts::Servers servers = parts_->all();
  while (!std::all_of(servers.begin(), servers.end(), settled) && !deadline.passed(clock))
    if (!clock.sleep(std::min(kLookSlice, deadline.left(clock)), cancel)) return;
}

std::vector<Tool> McpTools::tools() const {
  std::vector<Tool> out;
  for (const auto& server : parts_->all())
    for (Tool& tool : server->tools()) out.push_back(std::move(tool));
  return out;
}

Result<ToolOutcome> McpTools::call_for(const SessionContext&, const ToolCall& call, Elicitor* person,
                                       const CancelToken& cancel, Deadline deadline) {
  const auto server = parts_->of(call.name);
  if (server == nullptr) return Error{Code::kNotFound, "no MCP server has a tool '" + one_line(call.name, 80) + "'"};
  return server->call(call, person, cancel, deadline);
}

bool McpTools::has(std::string_view name) const {
  const auto server = parts_->of(name);
  return server != nullptr && server->has(name);
}

std::string McpTools::why_missing(std::string_view name) const {
  const auto server = parts_->of(name);
  return server == nullptr ? std::string() : server->why_missing(name);
}

std::vector<std::string> McpTools::starting() const {
  std::vector<std::string> out;
  for (const auto& server : parts_->all())
    if (server->is_starting()) out.push_back(server->name());
  return out;
}

std::vector<ServerStatus> McpTools::status() const {
  std::vector<ServerStatus> out;
  for (const auto& server : parts_->all()) out.push_back(server->status());
  return out;
}

void McpTools::judge_again() {
  for (const auto& server : parts_->all()) server->judge_again();
}

}  // namespace agentd::mcp
