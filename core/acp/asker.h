// SPDX-License-Identifier: Apache-2.0
#pragma once
// asker.h - asks the person at the editor whether a tool call may run (session/request_permission), and for values.
//
// The question shows the whole input with every character visible, who demands it and why, and what "always" would
// keep. No answer, an answer of another kind, and an option that was not offered are no permission.
// Source: agentclientprotocol.com, "Tool Calls", "Requesting Permission".
//
// Threading: as Approver; set_cancel() on the same thread.

#include <optional>
#include <string>
#include <vector>

#include "core/acp/updates.h"
#include "core/conversation/record.h"
#include "core/recipes/recipes.h"
#include "core/rpc/wire.h"
#include "core/tools/elicitor.h"
#include "core/tools/tool.h"

namespace agentd::acp {

class Asker final : public Approver, public Elicitor {
 public:
  // `forms`: the editor has them.
  Asker(RpcWire& wire, bool forms) : wire_(wire), forms_(forms) {}
  void set_session(std::string id) { session_id_ = std::move(id); }
  // Names the subagent of a call; they outlive it.
  void set_updates(const Updates& updates) { updates_ = &updates; }
  // Ends the questions of a run.
  void set_cancel(const CancelToken& cancel) { cancel_ = cancel; }

  bool is_present() const override { return !wire_.is_gone(); }
  PermissionAnswer ask(const SessionContext& session, const Tool& tool, const ToolCall& call,
                       const AskedBy& by) override;
  // The question of a run that waits since another time; `start`: where its relative paths begin.
  PermissionAnswer ask_again(const WaitRecord& wait, std::string_view start);
  // A question that is about no tool call: true if the person agrees. `id` names it.
  bool agrees(std::string_view id, std::string_view title, std::string_view agreement);
  // Asks for the values of arguments, a field each. nullopt: the person gave none.
  // Source: agentclientprotocol.com, "Elicitation".
  std::optional<RecipeValues> fill(std::string_view message, const std::vector<RecipeArgument>& arguments);
  // The same for an MCP server. Declined where the editor has no forms, and where the server names an address.
  ElicitationAnswer elicit(const Elicitation& question, const CancelToken& cancel, Deadline deadline) override;

 private:
  struct Question {
    std::string_view call_id, tool, input, start;
  };
  PermissionAnswer put(const Question& question, const AskedBy& by);
  void tell_running(std::string_view call_id);

  RpcWire& wire_;
  const bool forms_;
  const Updates* updates_ = nullptr;  // null: no session is open
  std::string session_id_;
  CancelToken cancel_;
};

}  // namespace agentd::acp
