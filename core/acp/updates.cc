// SPDX-License-Identifier: Apache-2.0
#include "core/acp/updates.h"

#include <utility>

#include "core/acp/editor_commands.h"
#include "core/acp/tool_calls.h"
#include "core/base/bytes.h"
#include "core/base/neutral.h"

namespace agentd::acp {
namespace {

constexpr std::size_t kNoticeBytes = 4'000;
constexpr double kNanoPerUnit = 1e9;

std::string_view name_of(Updates::Severity severity) {
  switch (severity) {
    case Updates::Severity::kInfo:
      return "info";
    case Updates::Severity::kWarning:
      return "warning";
    case Updates::Severity::kError:
      return "error";
  }
  return "info";
}

// A text block as an editor shows it.
void write_block(JsonWriter& out, std::string_view text) {
  out.key("content").begin_object().member("type", "text").member("text", text).end_object();
}

}  // namespace

std::string from_hook(std::string_view hook, std::string_view text) {
  return hook.empty() ? std::string(text) : std::string(hook) + ": " + std::string(text);
}

Updates::Updates(RpcWire& wire, const ClientAbilities& abilities, std::string session_id, std::string start,
                 std::function<std::string()> summary)
    : wire_(wire),
      abilities_(abilities),
      session_id_(std::move(session_id)),
      start_(std::move(start)),
      summary_(std::move(summary)) {}

void Updates::send(std::string_view update) {
  JsonWriter out;
  out.begin_object().member("sessionId", session_id_).key("update").raw(update).end_object();
  wire_.notify("session/update", out.text());
}

std::string Updates::next_id(std::string_view kind) {
  return run_ + (run_.empty() ? "" : "-") + std::string(kind) + std::to_string(++ids_);
}

// ---- messages

void Updates::chunk(std::string_view kind, std::string_view text, std::string_view message_id) {
  JsonWriter out;
  out.begin_object().member("sessionUpdate", kind);
  write_block(out, text);
  out.member("messageId", message_id).end_object();
  send(out.text());
}

void Updates::user_text(std::string_view text, std::string_view message_id) {
  chunk("user_message_chunk", text, message_id.empty() ? next_id("u") : std::string(message_id));
}

void Updates::agent_text(std::string_view text, std::string_view message_id) {
  chunk("agent_message_chunk", text, message_id.empty() ? next_id("m") : std::string(message_id));
}

void Updates::thought(std::string_view text, std::string_view message_id) {
  chunk("agent_thought_chunk", text, message_id.empty() ? next_id("t") : std::string(message_id));
}

void Updates::delta(std::string& id, std::string_view kind, std::string_view text) {
  if (id.empty()) id = next_id(kind);
  if (kind == "m")
    agent_text(text, id);
  else
    thought(text, id);
}

// The editor shows what its person has typed; a message from elsewhere it does not know.
void Updates::user_message(const RunEvent& event, const told::UserMessage& message) {
  end_messages();
  if (event.agent_depth == 0 && message.source != MessageSource::kUser) user_text(message.text);
}

void Updates::answer_again(const told::AnswerAgain& again) {
  if (!message_id_.empty()) agent_text("\n\n(the answer was interrupted and is requested again)\n\n", message_id_);
  end_messages();
  notice(Severity::kInfo, again.why);
}

void Updates::end_messages() {
  message_id_.clear();
  thought_id_.clear();
}

// ---- tool calls and the plan

// A call that waited is told again when its run continues.
void Updates::tool_called(std::string_view call_id, std::string_view tool, std::string_view input,
                          std::string_view within) {
  if (terminals_ != nullptr) terminals_->calling(call_id, tool, input);
  const bool known = !calls_.emplace(call_id, Call{std::string(input), std::string(within)}).second;
  JsonWriter out;
  out.begin_object().member("sessionUpdate", known ? "tool_call_update" : "tool_call").member("toolCallId", call_id);
  out.member("status", "in_progress");
  write_call(out, tool, input, {start_, within});
  out.end_object();
  send(out.text());
}

void Updates::tool_ended(std::string_view call_id, std::string_view tool, std::string_view text, bool ok,
                         std::string_view within) {
  const auto found = calls_.find(call_id);
  JsonWriter out;
  out.begin_object().member("sessionUpdate", "tool_call_update").member("toolCallId", call_id);
  out.member("status", ok ? "completed" : "failed");
  const std::string terminal = terminals_ == nullptr ? std::string() : terminals_->called(call_id);
  if (terminal.empty())
    write_result(out, tool, found == calls_.end() ? std::string_view() : found->second.input, {start_, within}, text);
  else
    write_terminal(out, terminal);
  out.end_object();
  if (found != calls_.end()) calls_.erase(found);
  send(out.text());
}

std::string Updates::within(std::string_view call_id) const {
  const auto found = calls_.find(call_id);
  return found == calls_.end() ? std::string() : found->second.within;
}

void Updates::plan(const told::PlanChanged& plan) {
  JsonWriter out;
  out.begin_object().member("sessionUpdate", "plan").key("entries").begin_array();
  for (const PlanEntry& entry : plan.entries) {
    out.begin_object().member("content", entry.content).member("priority", agentd::name_of(entry.priority));
    out.member("status", agentd::name_of(entry.status)).end_object();
  }
  out.end_array().end_object();
  send(out.text());
}

// ---- everything around them

void Updates::notice(Severity severity, std::string_view text) {
  const std::string shown = neutral_line(text, kNoticeBytes);
  if (!abilities_.notices) {
    if (severity == Severity::kInfo) return thought("(" + shown + ")");
    return agent_text("(" + std::string(name_of(severity)) + ": " + shown + ")\n\n");
  }
  JsonWriter out;
  out.begin_object().member("sessionUpdate", "notice").member("severity", name_of(severity));
  out.member("title", shown).end_object();
  send(out.text());
}

void Updates::context(const Gauge& gauge) {
  if (gauge.limit == 0) return;
  JsonWriter out;
  out.begin_object().member("sessionUpdate", "usage_update").member("used", gauge.used).member("size", gauge.limit);
  if (cost_nano_usd_ != 0) {
    out.key("cost").begin_object().key("amount").real(static_cast<double>(cost_nano_usd_) / kNanoPerUnit);
    out.member("currency", "USD").end_object();
  }
  out.end_object();
  send(out.text());
}

void Updates::compaction(std::string_view status, std::string_view error) {
  const bool begins = status == "in_progress";
  const bool goes_on = !compaction_id_.empty();
  if (begins == goes_on) return;  // its next part; or the end of one that never began
  if (begins) compaction_id_ = next_id("c");
  if (abilities_.compactions) {
    JsonWriter out;
    out.begin_object().member("sessionUpdate", "compaction_update").member("compactionId", compaction_id_);
    out.member("status", status).optional("error", error).end_object();
    send(out.text());
  } else if (begins) {
    notice(Severity::kInfo, "the conversation is being compacted");
  }
  if (!begins) compaction_id_.clear();
}

void Updates::compacted(std::string_view id, std::string_view summary) {
  if (!abilities_.compactions) return notice(Severity::kInfo, "the conversation was compacted");
  if (!summary.empty()) {
    JsonWriter chunk;
    chunk.begin_object().member("sessionUpdate", "compaction_summary_chunk").member("compactionId", id);
    write_block(chunk, summary);
    chunk.end_object();
    send(chunk.text());
  }
  JsonWriter out;
  out.begin_object().member("sessionUpdate", "compaction_update").member("compactionId", id);
  out.member("status", "completed").end_object();
  send(out.text());
}

void Updates::run_compacted(const told::Compacted& done) {
  const std::string id = compaction_id_.empty() ? std::string(done.boundary_id) : compaction_id_;
  compaction_id_.clear();
  compacted(id, summary_());
  context(done.context);
}

void Updates::end_run() {
  if (terminals_ != nullptr) terminals_->forget_calls();
  end_messages();
  calls_.clear();
  run_.clear();
  compaction("cancelled", {});
}

void Updates::tell(const RunEvent& event) {
  const bool own = event.agent_depth == 0;
  const std::string_view within = event.agent_type;
  const Overloaded each{
      [&](const told::RunStarted& run) {
        if (own) run_ = std::string(run.run_id);
      },
      [&](const told::UserMessage& message) { user_message(event, message); },
      [&](const told::TextDelta& delta_of) {
        if (own) delta(message_id_, "m", delta_of.text);
      },
      [&](const told::ThinkingDelta& delta_of) {
        if (own) delta(thought_id_, "t", delta_of.text);
      },
      [&](const told::AnswerAgain& again) {
        if (own) answer_again(again);
      },
      [&](const told::ToolCalled& call) { tool_called(call.call_id, call.name, call.input, within); },
      [&](const told::ToolEnded& call) { tool_ended(call.call_id, call.name, call.content, call.ok(), within); },
      [&](const told::PlanChanged& changed) {
        if (own) plan(changed);
      },
      [&](const told::Waiting& wait) {
        notice(Severity::kWarning,
               std::string(wait.name) + " waits for an answer: agentd approve " + std::string(wait.wait_id));
      },
      [&](const told::TurnEnded& turn) {
        cost_nano_usd_ += turn.usage.cost_nano_usd;
        if (!own) return;
        end_messages();
        context(turn.context);
      },
      [&](const told::HookConflict& conflict) {
        notice(Severity::kInfo, std::string(conflict.loser) + " was overruled by " + std::string(conflict.winner) +
                                    " at " + std::string(conflict.event));
      },
      [&](const told::HookFailed& failed) {
        notice(Severity::kWarning, "the hook " + std::string(failed.hook) + " failed at " + std::string(failed.event) +
                                       ": " + std::string(failed.why));
      },
      [&](const told::Status& status) {
        if (own && status.status == "compacting") compaction("in_progress", {});
      },
      [&](const told::Compacted& done) {
        if (own) run_compacted(done);
      },
      [&](const told::CompactionEnded& ended) {
        if (!own) return;
        compaction("failed", ended.reason.empty() ? std::string_view("it was not compacted") : ended.reason);
      },
      [&](const told::CompactionUndone& undone) {
        if (own) context(undone.context);
      },
      [&](const told::Notice& said) { notice(Severity::kInfo, from_hook(said.hook, said.text)); },
      [&](const told::Warning& said) { notice(Severity::kWarning, from_hook(said.hook, said.text)); },
      [&](const told::Failed& failed) {
        if (failed.code != "cancelled") notice(Severity::kError, failed.message);
      },
      [](const auto&) {},
  };
  std::visit(each, event.body);
}

}  // namespace agentd::acp
