// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/subagent.h"

#include <utility>

#include "core/agent/subagent_tool.h"

namespace agentd {
namespace {

ToolOutcome failed_with(std::string why) {
  ToolOutcome out;
  out.success = false;
  out.content = std::move(why);
  return out;
}

Result<ToolOutcome> tool_outcome_of(const Result<RunReport, RunError>& report) {
  ToolOutcome out;
  if (report) {
    out.content = report->final_text.empty() ? "The agent ended without a text." : report->final_text;
    if (report->outcome == RunOutcome::kMaxTurns)
      out.content += "\n\n[The agent was stopped after " + std::to_string(report->turns) + " turns.]";
    return out;
  }
  if (report.error().kind == RunError::Kind::kCancelled) return Error{Code::kCancelled, "the agent was interrupted"};
  // Its own run ended, not that of the agent which asked for it.
  if (report.error().kind == RunError::Kind::kStopped)
    return failed_with("the agent did not finish: " + report.error().message);
  return failed_with("the agent failed: " + report.error().message);
}

Result<SubagentEnd> run_child(const SessionParts& session, ChildSessions& children, ChildTask child) {
  const std::string conversation = child.id.text();
  const ChildSessions::Done done = children.run_child(std::move(child));
  session.shared.charge(done.usage, std::string(name_of(UsagePurpose::kSubagent)));
  if (done.report && done.report->outcome == RunOutcome::kWaiting)
    return SubagentEnd{{}, conversation, done.report->waits_for};
  AGENTD_TRY(ToolOutcome outcome, tool_outcome_of(done.report));
  return SubagentEnd{std::move(outcome), conversation, {}};
}

}  // namespace

Result<SubagentEnd> run_subagent(const SessionParts& session, ChildSessions& children, const ToolCall& call) {
  auto task = read_subagent_task(call.input.text());
  if (!task) return SubagentEnd{failed_with(task.error().message)};
  ChildTask child;
  child.id = session.base().ids.next();
  child.agent = {child.id.text(), task->agent_type, session.position.agent.depth + 1};
  agentd_subagent payload{};
  payload.size = sizeof payload;
  payload.depth = child.agent.depth;
  payload.agent_id = to_abi(child.agent.id);
  payload.agent_type = to_abi(child.agent.type);
  payload.prompt = to_abi(task->prompt);
  const auto started = session.hooks.fire(AGENTD_EVENT_SUBAGENT_START, &payload);
  if (started && started->blocked) {
    session.hooks.record_effect(AGENTD_EVENT_SUBAGENT_START, started->blocked_by, HookEffect::kBlock, {}, {},
                                started->reason);
    if (session.hooks.stopped()) return Error{Code::kDenied, "not run: " + session.hooks.stop_text()};
    return Error{Code::kDenied, "blocked by the hook " + started->blocked_by.hook +
                                    (started->reason.empty() ? "" : ": " + started->reason)};
  }
  auto lease = session.base().store.lease(child.id);
  if (!lease) return lease.error();
  child.lease = std::move(*lease);
  session.log.add(write_child({child.id.text(), "subagent", child.agent.type, call.call_id}));
  if (auto done = session.log.commit(); !done) return Error{Code::kUnavailable, done.error().message};
  child.description = std::move(task->description);
  child.prompt = std::move(task->prompt);
  child.started = started.get();
  return run_child(session, children, std::move(child));
}

Result<SubagentEnd> resume_subagent(const SessionParts& session, ChildSessions& children,
                                    const WaitingSubagent& waiting) {
  ChildTask child;
  child.changed = waiting.changed;
  AGENTD_TRY(child.id, Ulid::parse(waiting.conversation));
  AGENTD_TRY(const ConversationInfo info, session.base().store.info(child.id));
  child.agent = {waiting.conversation, info.agent_type, session.position.agent.depth + 1};
  auto lease = session.base().store.lease(child.id);
  if (!lease && lease.error().code == Code::kBusy) return SubagentEnd{{}, waiting.conversation, waiting.wait};
  if (!lease) return lease.error();
  child.lease = std::move(*lease);
  return run_child(session, children, std::move(child));
}

}  // namespace agentd
