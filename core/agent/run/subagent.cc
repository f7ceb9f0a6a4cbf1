// SPDX-License-Identifier: Apache-2.0
// subagent.cc - the tool `task`: another agent, in a conversation of its own, under the same hooks.
//
// Order: subagent_start - child record (durable) - the child's run, with every gate of any run -
// subagent_stop - its last text is the tool's result, its usage is the parent's too.
#include <algorithm>

#include "core/agent/session/session.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::string_view kOrigin = "core";
constexpr std::string_view kName = "task";
constexpr std::string_view kGeneral = "general";
constexpr std::size_t kTypeBytesMax = 64;

struct Task {
  std::string description, prompt, agent_type;
};

bool is_type(std::string_view text) {
  return !text.empty() && text.size() <= kTypeBytesMax && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Result<Task> read_task(std::string_view json) {
  AGENTD_TRY(const JsonDocument input, JsonDocument::parse(json));
  const auto text = [&](std::string_view key) { return std::string(input.root()[key].string_or({})); };
  Task out{text("description"), text("prompt"), text("agent_type")};
  if (is_blank(out.prompt)) return Error{Code::kInvalid, "task needs a prompt: what is to be done?"};
  if (out.agent_type.empty()) out.agent_type = kGeneral;
  if (!is_type(out.agent_type))
    return Error{Code::kInvalid,
                 "'" + one_line(out.agent_type, 80) + "' is no agent_type: letters, digits, - and _, 64 at most"};
  return out;
}

ToolOutcome failed_with(std::string why) {
  ToolOutcome out;
  out.success = false;
  out.content = std::move(why);
  return out;
}

Result<ToolOutcome> outcome_of(const Result<RunReport, RunError>& report) {
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

}  // namespace

std::string_view subagent_system_text() {
  return "You work on one task for another agent. It reads nothing of your work but your last "
         "message: put "
         "the whole result there.";
}

Tool subagent_tool() {
  Tool tool;
  tool.name = kName;
  tool.title = "Start an agent";
  tool.description =
      "Gives a task to another agent, which has the same tools, starts with an empty conversation "
      "and "
      "works until it is done. The result is its last message. Say in the prompt everything that "
      "it needs "
      "to know and what it shall report.";
  tool.input_schema_json = R"({"type":"object","properties":{"description":{"type":"string",)"
                           R"("description":"the task in three to five words"},"prompt":{"type":"string",)"
                           R"("description":"the task, and what to report"},"agent_type":{"type":"string",)"
                           R"("description":"a name for the kind of agent, such as reviewer"}},)"
                           R"("required":["prompt"]})";
  tool.origin = kOrigin;
  return tool;
}

bool is_subagent_tool(const Tool& tool) { return tool.origin == kOrigin && tool.name == kName; }

Result<ToolOutcome> Turn::run_subagent(const ToolCall& call) {
  const auto task = read_task(call.input.text());
  if (!task) return failed_with(task.error().message);
  const Ulid id = parts_.ids.next();
  const AgentIdentity agent{id.text(), task->agent_type, session_.agent_.depth + 1};
  agentd_subagent payload{};
  payload.size = sizeof payload;
  payload.depth = agent.depth;
  payload.agent_id = to_abi(agent.id);
  payload.agent_type = to_abi(agent.type);
  payload.prompt = to_abi(task->prompt);
  const auto started = session_.fire(AGENTD_EVENT_SUBAGENT_START, &payload);
  if (started && started->blocked) {
    session_.record_effect(AGENTD_EVENT_SUBAGENT_START, started->blocked_by, "block", {}, {}, started->reason);
    if (session_.stopped_) return Error{Code::kDenied, "not run: " + session_.stop_text()};
    return Error{Code::kDenied, "blocked by the hook " + started->blocked_by.hook +
                                    (started->reason.empty() ? "" : ": " + started->reason)};
  }
  auto lease = parts_.store.lease(id);
  if (!lease) return lease.error();
  session_.add(write_child({id.text(), "subagent", agent.type, call.call_id}));
  if (auto done = session_.commit(); !done) return Error{Code::kUnavailable, done.error().message};
  SessionSeed seed{id, std::move(*lease), std::make_unique<Conversation>(id.text(), session_.resources_.row_count())};
  seed.agent = agent;
  seed.parent = session_.conversation_id();
  seed.parent_seq = session_.shared_.conversation().revision();
  seed.account = session_.shared_.account();
  seed.hook_ledger = session_.shared_.hook_ledger();
  SessionImpl child(session_.resources_, session_.sessions_, session_.services_, std::move(seed));
  // What the user has allowed for this session holds for all who work in it.
  child.allowed_ = session_.allowed_;
  if (!is_blank(task->description)) child.add(write_meta({one_line(task->description, 80)}));
  const auto report = child.run_task(task->prompt, started.get(), session_.shared_.cancel());
  child.end("exit");
  session_.allowed_ = child.allowed_;
  session_.shared_.charge(child.shared_.conversation().usage(), "subagent");
  return outcome_of(report);
}

}  // namespace agentd
