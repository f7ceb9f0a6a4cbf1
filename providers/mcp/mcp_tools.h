// SPDX-License-Identifier: Apache-2.0
#pragma once
// mcp_tools.h - the tools of several servers as those of one source.
//
// A server is started by start(), on a thread of its own, and again when it has ended, with pauses that double. Its
// tools are those that it has listed and that the user has agreed to; they keep their names while it is away, and a
// call then waits for its start, or fails with the reason.
//
// A tool's name is mcp__SERVER__TOOL: characters that a model's API does not take are replaced by "_", and a name that
// is too long, or that another tool has, ends with a part of the digest of its own name. It is the same in each session
// and whichever server lists first.
//
// Threading: thread-safe.

#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "core/tools/elicitor.h"
#include "core/tools/tool.h"
#include "providers/mcp/server_parts.h"
#include "providers/mcp/server_setup.h"

namespace agentd::mcp {

class McpTools final : public ToolSource {
 public:
  // `parts` outlive it.
  McpTools(std::vector<ServerSetup> servers, McpParts parts);
  // Ends the servers.
  ~McpTools() override;
  McpTools(const McpTools&) = delete;
  McpTools& operator=(const McpTools&) = delete;

  // Starts those that are not; returns at once.
  void start();
  // Takes these in place of the servers that it has. One of the same identity goes on, and its tools are judged again;
  // the others end with the calls that run there, and new ones are started if start() was called.
  void update(std::vector<ServerSetup> servers);
  bool is_empty() const;  // it has no server
  // Waits until each server has listed its tools, or failed, or the deadline.
  void wait(const CancelToken& cancel, Deadline deadline);

  std::vector<Tool> tools() const override;
  Result<ToolOutcome> call(const SessionContext& session, const ToolCall& call, const CancelToken& cancel,
                           Deadline deadline) override {
    return call_for(session, call, nullptr, cancel, deadline);
  }
  // `person`: whom a server may ask during the call; null = each question is declined.
  Result<ToolOutcome> call_for(const SessionContext& session, const ToolCall& call, Elicitor* person,
                               const CancelToken& cancel, Deadline deadline);
  // True for a tool that it has, or had.
  bool has(std::string_view name) const;
  // Why a name of a server's tool is none now: the server still starts, or has failed, or has listed it since the turn
  // began. A sentence for the model; empty = the name is no server's, or its server has no such tool.
  std::string why_missing(std::string_view name) const;
  // The servers that have neither listed their tools nor failed since start(), by name.
  std::vector<std::string> starting() const;
  std::vector<ServerStatus> status() const;
  // Judges all tools again: the user may have agreed.
  void judge_again();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace agentd::mcp
