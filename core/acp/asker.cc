// SPDX-License-Identifier: Apache-2.0
#include "core/acp/asker.h"

#include "core/acp/tool_calls.h"
#include "core/base/bytes.h"
#include "core/base/neutral.h"

namespace agentd::acp {
namespace {

constexpr std::size_t kNameBytes = 300, kMessageBytes = 2'000;
constexpr std::string_view kOnce = "allow", kAlways = "allow_always", kNo = "reject";

void write_option(JsonWriter& out, std::string_view id, std::string_view name, std::string_view kind) {
  out.begin_object().member("optionId", id).member("name", neutral_line(name, kNameBytes)).member("kind", kind);
  out.end_object();
}

// The option that was chosen; empty: none was.
std::string chosen(const RpcWire::Answer& answer) {
  if (!answer) return {};
  const JsonView outcome = (*answer)->root()["result"]["outcome"];
  return outcome["outcome"].string_or("") == "selected" ? std::string(outcome["optionId"].string_or("")) : "";
}

std::string always_text(std::string_view tool, const AskedBy& by) {
  return by.keeps.empty() ? "Allow every call of " + std::string(tool) + " in this session"
                          : "Always allow in this project: " + join(by.keeps, ", ");
}

// Why it is asked, in front of what will run.
std::string reason_text(const AskedBy& by) {
  std::string out = by.hook;
  if (!by.reason.empty())
    out += (out.empty() ? "" : " asks: ") + by.reason;
  else if (!by.hook.empty())
    out += " wants a person to decide";
  if (!by.missing.empty()) out += (out.empty() ? "" : "; ") + ("no rule allows " + join(by.missing, ", "));
  return visible(out);
}

}  // namespace

PermissionAnswer Asker::put(const Question& question, const AskedBy& by) {
  const bool can_remember = !by.each_time && by.hook.empty();
  JsonWriter out;
  out.begin_object().member("sessionId", session_id_).key("toolCall").begin_object();
  out.member("toolCallId", question.call_id).member("status", "pending");
  const std::string within = updates_ == nullptr ? std::string() : updates_->within(question.call_id);
  write_question(out, question.tool, question.input, {question.start, within}, reason_text(by));
  out.end_object().key("options").begin_array();
  write_option(out, kOnce, "Allow", "allow_once");
  if (can_remember) write_option(out, kAlways, always_text(question.tool, by), "allow_always");
  write_option(out, kNo, "Reject", "reject_once");
  out.end_array().end_object();
  const std::string option = chosen(wire_.ask("session/request_permission", out.text(), cancel_));
  PermissionAnswer answer;
  answer.given = option == kOnce || option == kNo || (option == kAlways && can_remember);
  answer.remember = option == kAlways && can_remember;
  answer.allowed = option == kOnce || answer.remember;
  if (!answer.given) answer.reason = "the editor gave no answer";
  return answer;
}

PermissionAnswer Asker::ask(const SessionContext& session, const Tool& tool, const ToolCall& call, const AskedBy& by) {
  PermissionAnswer answer = put({call.call_id, tool.name, call.input.text(), session.start()}, by);
  if (answer.allowed) tell_running(call.call_id);
  return answer;
}

// The question has shown the call as pending.
void Asker::tell_running(std::string_view call_id) {
  JsonWriter out;
  out.begin_object().member("sessionId", session_id_).key("update").begin_object();
  out.member("sessionUpdate", "tool_call_update").member("toolCallId", call_id).member("status", "in_progress");
  out.end_object().end_object();
  wire_.notify("session/update", out.text());
}

PermissionAnswer Asker::ask_again(const WaitRecord& wait, std::string_view start) {
  AskedBy by{wait.by, wait.reason};
  by.each_time = true;  // what "always" would keep is no longer known
  return put({wait.call_id, wait.tool, wait.input, start}, by);
}

bool Asker::agrees(std::string_view id, std::string_view title, std::string_view agreement) {
  JsonWriter out;
  out.begin_object().member("sessionId", session_id_).key("toolCall").begin_object();
  out.member("toolCallId", id).member("status", "pending").member("kind", "other").member("title", title);
  out.end_object().key("options").begin_array();
  write_option(out, kOnce, agreement, "allow_once");
  write_option(out, kNo, "Cancel", "reject_once");
  out.end_array().end_object();
  return chosen(wire_.ask("session/request_permission", out.text(), cancel_)) == kOnce;
}

std::optional<RecipeValues> Asker::fill(std::string_view message, const std::vector<RecipeArgument>& arguments) {
  JsonWriter out, required;
  required.begin_array();
  out.begin_object().member("mode", "form").member("sessionId", session_id_);
  out.member("message", neutral_line(message, kNameBytes)).key("requestedSchema").begin_object();
  out.member("type", "object").key("properties").begin_object();
  for (const RecipeArgument& each : arguments) {
    out.key(each.name).begin_object().member("type", "string").member("title", each.name);
    if (!each.description.empty()) out.member("description", neutral_line(each.description, kNameBytes));
    if (each.standard) out.member("default", *each.standard);
    out.end_object();
    if (each.required) required.string(each.name);
  }
  out.end_object().key("required").raw(required.end_array().text()).end_object().end_object();
  const RpcWire::Answer answer = wire_.ask("elicitation/create", out.text(), cancel_);
  if (!answer) return std::nullopt;
  const JsonView result = (*answer)->root()["result"], content = result["content"];
  if (result["action"].string_or("") != "accept" || !content.is_object()) return std::nullopt;
  RecipeValues given;
  for (const RecipeArgument& each : arguments)
    if (const JsonView value = content[each.name]; value.is_string()) given[each.name] = value.string_or("");
  return given;
}

ElicitationAnswer Asker::elicit(const Elicitation& question, const CancelToken& cancel, Deadline deadline) {
  if (!forms_ || !question.url.empty()) return {ElicitationAnswer::Kind::kDeclined};
  const std::string text = "The MCP server " + neutral_line(question.server, kNameBytes) +
                           " asks during a call of its tool " + neutral_line(question.tool, kNameBytes) + ": " +
                           neutral_line(question.message, kMessageBytes);
  JsonWriter out;
  out.begin_object().member("mode", "form").member("sessionId", session_id_).member("message", text);
  out.key("requestedSchema").raw(question.schema_json).end_object();
  const RpcWire::Answer answer =
      wire_.ask("elicitation/create", out.text(), RpcWire::Patience{cancel, cancel_, deadline});
  if (!answer) return {};
  const JsonView result = (*answer)->root()["result"];
  const std::string_view action = result["action"].string_or("");
  if (action == "decline") return {ElicitationAnswer::Kind::kDeclined};
  if (action != "accept" || !result["content"].is_object()) return {};
  return {ElicitationAnswer::Kind::kAccepted, result["content"].text()};
}

}  // namespace agentd::acp
