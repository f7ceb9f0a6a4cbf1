// SPDX-License-Identifier: Apache-2.0
#include "providers/mcp/mcp_tools.h"

#include <algorithm>
#include <utility>

#include "core/base/bytes.h"
#include "providers/mcp/server.h"

namespace agentd::mcp {
namespace {

constexpr Milliseconds kSlice{10};

}  // namespace

struct McpTools::Parts {
  McpParts given;
  std::vector<std::unique_ptr<Server>> servers;

  // The server whose tool has this name; names of servers make it one at most.
  Server* of(std::string_view name) const {
    const auto found = std::find_if(servers.begin(), servers.end(),
                                    [&](const auto& server) { return name.starts_with(server->prefix()); });
    return found == servers.end() ? nullptr : found->get();
  }
};

McpTools::McpTools(std::vector<ServerSetup> servers, McpParts parts)
    : parts_(std::make_unique<Parts>(Parts{std::move(parts), {}})) {
  for (ServerSetup& setup : servers)
    parts_->servers.push_back(std::make_unique<Server>(std::move(setup), parts_->given));
}

McpTools::~McpTools() {
  for (const auto& server : parts_->servers) server->end_soon();  // all at once
}

void McpTools::start() {
  for (const auto& server : parts_->servers) server->start();
}

void McpTools::wait(const CancelToken& cancel, Deadline deadline) {
  const auto settled = [](const auto& server) { return server->is_settled(); };
  const Clock& clock = parts_->given.clock;
  while (!std::all_of(parts_->servers.begin(), parts_->servers.end(), settled) && !deadline.passed(clock))
    if (!clock.sleep(std::min(kSlice, deadline.left(clock)), cancel)) return;
}

std::vector<Tool> McpTools::tools() const {
  std::vector<Tool> out;
  for (const auto& server : parts_->servers)
    for (Tool& tool : server->tools()) out.push_back(std::move(tool));
  return out;
}

Result<ToolOutcome> McpTools::call_for(const SessionContext&, const ToolCall& call, Elicitor* person,
                                       const CancelToken& cancel, Deadline deadline) {
  Server* const server = parts_->of(call.name);
  if (server == nullptr) return Error{Code::kNotFound, "no MCP server has a tool '" + one_line(call.name, 80) + "'"};
  return server->call(call, person, cancel, deadline);
}

bool McpTools::has(std::string_view name) const {
  const Server* const server = parts_->of(name);
  return server != nullptr && server->has(name);
}

std::vector<ServerStatus> McpTools::status() const {
  std::vector<ServerStatus> out;
  for (const auto& server : parts_->servers) out.push_back(server->status());
  return out;
}

void McpTools::judge_again() {
  for (const auto& server : parts_->servers) server->judge_again();
}

}  // namespace agentd::mcp
