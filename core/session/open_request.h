// SPDX-License-Identifier: Apache-2.0
#pragma once
// open_request.h - what a client asks for when it opens a session.
//
// Threading: a value.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/agent.h"
#include "core/config/mcp_settings.h"
#include "core/process/process_host.h"
#include "core/process/workspace.h"
#include "core/tools/elicitor.h"
#include "core/tools/permission.h"
#include "core/tools/tool.h"

namespace agentd {

// The objects that it refers to outlive the session.
struct OpenRequest {
  std::string cwd;  // absolute
  EventSink& events;
  Approver* approver = nullptr;      // null: what must be asked waits, or is denied
  std::vector<std::string> roots{};  // of its files, absolute; empty = the workplace's for that directory
  std::string model{};               // by a name as the settings have it; empty = the model in force
  // For tools without a rule; absent = the workplace's mode. Its rules apply in each mode.
  std::optional<PermissionRules::Mode> mode{};
  // PermissionRules::changing: the mode from each call on, in place of `mode`; null = it does not change.
  std::shared_ptr<const std::atomic<PermissionRules::Mode>> changing_mode{};
  std::string effort{};            // of the model's thinking (ThinkingWish); empty = as the settings say
  std::optional<Limits> budget{};  // of each run, instead of the settings'
  // A question without an approver waits for an answer; absent = as permissions.unanswered says.
  std::optional<bool> waits{};
  bool offer_tools = true;
  bool trace_hooks = false;            // every answer of a hook is an event
  std::vector<std::string> options{};  // WaitRecord::options
  // Runs the commands of the session instead of agentd itself, such as an editor with its terminals. Its running
  // commands are ended when the session ends.
  std::shared_ptr<ProcessHost> commands{};
  // Returns the files that the session's tools see, in front of those that agentd itself reads and writes, which it
  // gets. Empty = the latter.
  std::function<std::shared_ptr<Workspace>(std::shared_ptr<Workspace>)> files{};
  // Tools of the client's own, in front of those of plugins, whose names they take; null = none.
  std::shared_ptr<ToolSource> tools{};
  // Tools that need no question where no rule says otherwise.
  std::vector<std::string> allowed{};
  // The person, for MCP servers that ask for values; null = each such question is declined.
  Elicitor* person = nullptr;
  std::vector<McpServerSettings> mcp_servers{};  // of the client's; tools of this session alone
  bool commands_are_caged = false;               // `commands` runs them as agentd itself does, in its sandbox
};

}  // namespace agentd
