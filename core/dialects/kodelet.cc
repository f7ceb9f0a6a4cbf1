// SPDX-License-Identifier: Apache-2.0
// kodelet.cc - Kodelet's two protocols: the executable that is run per event, and the messages of the extension that
// stays alive (kodelet_extension.h).
#include <algorithm>
#include <array>

#include "core/dialects/dialect.h"
#include "core/dialects/edit_lists.h"
#include "core/dialects/kodelet.h"
#include "core/dialects/translator.h"

namespace agentd {
namespace {

// Names of the old protocol come first: those are sent. A Kodelet hook gets one event for tool results, failed or not,
// and one for the end of any agent.
constexpr std::array<EventName, 21> kKodeletEvents{{
    {"before_tool_call", AGENTD_EVENT_BEFORE_TOOL_CALL},
    {"after_tool_call", AGENTD_EVENT_AFTER_TOOL_CALL},
    {"after_tool_call", AGENTD_EVENT_TOOL_CALL_FAILED},
    {"user_message_send", AGENTD_EVENT_USER_MESSAGE_SEND},
    {"agent_stop", AGENTD_EVENT_AGENT_STOP},
    {"agent_stop", AGENTD_EVENT_SUBAGENT_STOP},
    {"turn_end", AGENTD_EVENT_TURN_END},
    {"session.start", AGENTD_EVENT_SESSION_START},
    {"session.end", AGENTD_EVENT_SESSION_END},
    {"user.message", AGENTD_EVENT_USER_MESSAGE_SEND},
    {"agent.init", AGENTD_EVENT_BEFORE_MODEL_CALL},
    {"turn.start", AGENTD_EVENT_TURN_START},
    {"tool.call", AGENTD_EVENT_BEFORE_TOOL_CALL},
    {"tool.result", AGENTD_EVENT_AFTER_TOOL_CALL},
    {"tool.result", AGENTD_EVENT_TOOL_CALL_FAILED},
    {"turn.end", AGENTD_EVENT_TURN_END},
    {"agent.end", AGENTD_EVENT_AGENT_STOP},
    {"agent.end", AGENTD_EVENT_SUBAGENT_STOP},
    {"agent.start", 0},
    {"tool.update", 0},
    {"resources.discover", 0},
}};

using V = ToolValue;

constexpr std::array<ToolKey, 1> kKodeletBashKeys{{{"timeout_ms", "timeout", V::kSeconds}}};
constexpr std::array<ToolKey, 2> kReadKeys{{{"path", "file_path"}, {"limit", "line_limit"}}};
constexpr std::array<ToolKey, 2> kWriteKeys{{{"path", "file_path"}, {"content", "text"}}};
constexpr std::array<ToolKey, 3> kEditKeys{
    {{"path", "file_path"}, {"old_string", "old_text"}, {"new_string", "new_text"}}};
constexpr std::array<ToolKey, 1> kKodeletGrepKeys{{{"glob", "include"}}};
constexpr std::array<ToolRow, 9> kKodeletTools{{{"bash", "bash", kKodeletBashKeys},
                                                {"read_file", "file_read", kReadKeys},
                                                {"write_file", "file_write", kWriteKeys},
                                                {"edit_file", "file_edit", kEditKeys},
                                                {"glob", "glob_tool", {}},
                                                {"grep", "grep_tool", kKodeletGrepKeys},
                                                {"web_fetch", "web_fetch", {}},
                                                {"todo_write", "todo_write", {}},
                                                {"task", "subagent", {}}}};

bool is_result(std::uint32_t event) {
  return event == AGENTD_EVENT_AFTER_TOOL_CALL || event == AGENTD_EVENT_TOOL_CALL_FAILED;
}

void write_input_of_tool(JsonWriter& out, std::string_view key, JsonView payload) {
  const JsonView input = tool_input_of(payload);
  out.key(key);
  if (input.is_object())
    out.raw(shown_input(Dialect::kKodelet, payload));
  else
    out.value(input);
}

// A tool result in Kodelet's structure: the text is the `output` of its metadata. `content` is agentd's addition.
void write_tool_output(JsonWriter& out, JsonView payload, std::string_view timestamp) {
  const JsonView result = payload["output"];
  const std::string tool = foreign_tool(Dialect::kKodelet, tool_of(payload));
  const std::string_view text = result["content"].string_or("");
  const bool success = result["success"].bool_or(false);
  out.begin_object().member("toolName", tool).member("success", success);
  out.optional("error", result["error"].string_or(""));
  const JsonView command = tool_input_of(payload)["command"];
  if (command.is_string()) {
    out.member("metadataType", "bash").key("metadata").begin_object();
    out.member("command", command.string_or(""));
    out.member("exitCode", result["structured"]["exit_code"].int_or(success ? 0 : 1));
  } else {
    out.member("metadataType", "extension_tool").key("metadata").begin_object();
    out.member("toolName", tool);
  }
  out.member("output", text).end_object();
  out.member("content", text);
  out.optional("timestamp", timestamp);
  out.end_object();
}

// The text that a hook wrote into the result; nullopt if it did not change it. A hook that knows the structure changes
// metadata.output, a hook for agentd changes content, and a hook that walks over all texts changes both.
std::optional<std::string> text_of_output(JsonView output, JsonView payload) {
  if (output.is_string()) return std::string(output.string_or(""));
  const std::string_view text = payload["output"]["content"].string_or("");
  for (const JsonView candidate : {output["content"], output["metadata"]["output"]})
    if (candidate.is_string() && candidate.string_or("") != text) return std::string(candidate.string_or(""));
  const JsonView error = output["error"];
  if (error.is_string() && !output["success"].bool_or(true) &&
      error.string_or("") != payload["output"]["error"].string_or(""))
    return std::string(error.string_or(""));
  return std::nullopt;
}

// True if the result has any of the members that may hold its text.
bool has_output_text(JsonView output) {
  return output.is_string() || output["content"].is_string() || output["metadata"]["output"].is_string() ||
         output["error"].is_string();
}

// The text that the model reads for a rewritten result; nullopt if the hook did not change it. A structure without any
// known text member is used as its JSON, rather than the original that the hook meant to remove.
std::optional<std::string> rewritten_output(JsonView output, JsonView payload) {
  return has_output_text(output) ? text_of_output(output, payload) : std::optional(output.text());
}

void write_messages(JsonWriter& out, JsonView payload) {
  const JsonView messages = payload["messages"];
  out.key("messages").begin_array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const JsonView message = messages.at(i);
    out.begin_object().member("role", message["role"].string_or("user"));
    out.member("content", message["content"].string_or("")).end_object();
  }
  out.end_array();
}

// ---- the executable

std::string kodelet_input(const HookDefinition& hook, JsonView payload, const DialectContext& context) {
  const std::string_view name = foreign_event(Dialect::kKodelet, hook.event);
  JsonWriter out;
  out.begin_object().member("event", name.empty() ? payload["event"].string_or("") : name);
  out.member("conv_id", payload["conv_id"].string_or(""));
  out.member("cwd", payload["cwd"].string_or(""));
  out.member("invoked_by", payload["invoked_by"].string_or("main"));
  out.optional("recipe_name", payload["recipe_name"].string_or(""));
  if (is_tool_event(hook.event)) {
    out.member("tool_name", foreign_tool(Dialect::kKodelet, tool_of(payload)));
    write_input_of_tool(out, "tool_input", payload);
    if (is_result(hook.event)) {
      out.key("tool_output");
      write_tool_output(out, payload, context.timestamp);
    }
    out.member("tool_user_id", payload["tool"]["call_id"].string_or(""));
  } else if (hook.event == AGENTD_EVENT_USER_MESSAGE_SEND) {
    out.member("message", payload["message"].string_or(""));
  } else if (is_stop_event(hook.event)) {
    write_messages(out, payload);
    if (payload["usage"].is_object()) out.key("usage").value(payload["usage"]);
  } else if (hook.event == AGENTD_EVENT_TURN_END) {
    out.member("response", payload["response"].string_or(""));
    out.member("turn_number", payload["turn_number"].uint_or(0));
  }
  out.end_object();
  return std::string(out.text());
}

std::string kodelet_subject(const HookDefinition& hook, JsonView payload) {
  return is_tool_event(hook.event) ? foreign_tool(Dialect::kKodelet, tool_of(payload)) : std::string();
}

std::string refusal(const std::string& reason) {
  JsonWriter out;
  out.begin_object().member("action", "block").member("reason", reason).end_object();
  return std::string(out.text());
}

// The answer in agentd's form: the tool's keys are translated, its structured output becomes text. Unchanged parts are
// left out.
std::string in_our_form(const HookDefinition& hook, JsonView payload, JsonView answer) {
  JsonWriter out;
  out.begin_object();
  for (std::size_t i = 0; i < answer.size(); ++i) {
    const std::string_view key = answer.key_at(i);
    const JsonView value = answer.at(i);
    if (key == "input" && value.is_object() && hook.event == AGENTD_EVENT_BEFORE_TOOL_CALL) {
      const auto input = rewritten_input(Dialect::kKodelet, payload, value, false);
      if (!input) return refusal("input cannot be applied: " + input.error().message);
      out.key(key).raw(*input);
    } else if (key == "output" && is_result(hook.event) && (value.is_object() || value.is_string())) {
      if (const auto text = rewritten_output(value, payload)) out.member(key, *text);
    } else {
      out.key(key).value(value);
    }
  }
  out.end_object();
  return std::string(out.text());
}

Verdict failure(std::uint32_t event, std::string sentence) {
  VerdictMaker verdict(event);
  verdict.fail(std::move(sentence));
  return verdict.take();
}

Verdict interpret_output(const HookDefinition& hook, JsonView payload, const RawAnswer& answer) {
  const ParsedOutput parsed = parse_output(answer.out, answer.out_over_cap);
  switch (parsed.kind) {
    case ParsedOutput::Kind::kEmpty:
      return {};
    case ParsedOutput::Kind::kText:
      return failure(hook.event, parsed.problem.empty() ? "its output is not a JSON object: " + first_line(parsed.text)
                                                        : parsed.problem);
    case ParsedOutput::Kind::kBroken:
      return failure(hook.event, parsed.problem);
    case ParsedOutput::Kind::kObject:
      break;
  }
  auto ours = JsonDocument::parse(in_our_form(hook, payload, parsed.root()));
  if (!ours) return failure(hook.event, ours.error().message);
  return interpret_canonical(hook.event, payload, ours->root());
}

// Every end but exit code 0 is a failure; exit code 2 has no special meaning here.
Verdict interpret_kodelet_run(const HookDefinition& hook, JsonView payload, const RawAnswer& answer) {
  VerdictMaker verdict(hook.event);
  if (!verdict.fails_by_end(hook, answer) && answer.code != 0) verdict.fail(exit_sentence(answer));
  return verdict.failed() ? verdict.take() : interpret_output(hook, payload, answer);
}

}  // namespace

const Translator& kodelet_translator() {
  static constexpr Translator kTranslator{
      .traits = {.program = "Kodelet"},
      .events = kKodeletEvents,
      .tools = kKodeletTools,
      .input = kodelet_input,
      .subject = kodelet_subject,
      .interpret = interpret_kodelet_run,
  };
  return kTranslator;
}

// ---- the extension

std::string_view extension_event(std::uint32_t event) {
  if (event == 0) return {};
  for (const EventName& each : kKodeletEvents)
    if (each.event == event && each.foreign.find('.') != std::string_view::npos) return each.foreign;
  return {};
}

std::uint32_t event_of_extension(std::string_view name) {
  for (const EventName& each : kKodeletEvents)
    if (each.foreign == name && name.find('.') != std::string_view::npos) return each.event;
  return 0;
}

namespace {

void write_call_context(JsonWriter& out, JsonView payload) {
  out.key("context").begin_object();
  out.member("sessionId", payload["session_id"].string_or(""));
  out.member("conversationId", payload["conv_id"].string_or(""));
  out.member("cwd", payload["cwd"].string_or(""));
  out.member("provider", payload["provider"].string_or(""));
  out.member("model", payload["model"].string_or(""));
  out.optional("recipeName", payload["recipe_name"].string_or(""));
  out.member("invokedBy", payload["invoked_by"].string_or("main"));
  if (payload["turn_number"].uint_or(0) != 0) out.member("turnNumber", payload["turn_number"].uint_or(0));
  out.end_object();
}

void write_event_payload(JsonWriter& out, std::uint32_t event, JsonView payload) {
  out.key("payload").begin_object();
  if (is_tool_event(event)) {
    out.key("tool").begin_object();
    out.member("name", foreign_tool(Dialect::kKodelet, tool_of(payload)));
    out.member("callId", payload["tool"]["call_id"].string_or(""));
    write_input_of_tool(out, "input", payload);
    if (is_result(event)) {
      out.key("output");
      write_tool_output(out, payload, {});
    }
    out.end_object();
  } else if (event == AGENTD_EVENT_USER_MESSAGE_SEND) {
    out.member("message", payload["message"].string_or(""));
  } else if (event == AGENTD_EVENT_BEFORE_MODEL_CALL) {
    out.member("systemPrompt", payload["system"].string_or(""));
  } else if (event == AGENTD_EVENT_TURN_START) {
    out.member("turnNumber", payload["turn_number"].uint_or(0));
  } else if (event == AGENTD_EVENT_TURN_END) {
    out.member("response", payload["response"].string_or(""));
    out.member("turnNumber", payload["turn_number"].uint_or(0));
  } else if (is_stop_event(event)) {
    write_messages(out, payload);
  }
  out.end_object();
}

// Kodelet patches the system prompt; here the patch becomes context for the model.
void take_system_prompt(AnswerKeys& keys, VerdictMaker& verdict) {
  const JsonView patch = keys.object("systemPrompt");
  if (!patch.exists()) return;
  AnswerKeys inner(patch, "systemPrompt.", verdict);
  for (const std::string_view key : {"prepend", "append"})
    if (const auto text = inner.text(key)) verdict.context(*text, inner.name(key));
  inner.cannot({"replace"});
  inner.blame_unknown();
}

std::string joined(JsonView names, VerdictMaker& verdict, std::string_view what) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names.at(i).is_string()) {
      verdict.fail(in_quotes(what) + " has " + std::string(type_name(names.at(i))) + " instead of a text");
      return {};
    }
    const std::string name = canonical_tool(Dialect::kKodelet, names.at(i).string_or(""));
    if (!name.empty()) out += (out.empty() ? "" : ",") + name;
  }
  return out;
}

// Kodelet's `enable` adds to the allowed tools and removes none. Here every tool is enabled, so it has no effect.
void take_tools(AnswerKeys& keys, VerdictMaker& verdict) {
  const JsonView tools = keys.object("tools");
  if (!tools.exists()) return;
  AnswerKeys inner(tools, "tools.", verdict);
  inner.array("enable");
  Action action;
  action.kind = AGENTD_ACT_TOOLS_DISABLE;
  action.text = joined(inner.array("disable"), verdict, "tools.disable");
  if (!action.text.empty()) verdict.add(std::move(action), "tools.disable");
  inner.blame_unknown();
}

void take_follow_ups(AnswerKeys& keys, VerdictMaker& verdict) {
  const JsonView messages = keys.array("followUpMessages");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!messages.at(i).is_string())
      return verdict.fail("'followUpMessages' has " + std::string(type_name(messages.at(i))) + " instead of a text");
    verdict.go_on(messages.at(i).string_or(""), "followUpMessages");
  }
}

void unusable(std::string_view key, VerdictMaker& verdict) {
  verdict.warn(std::string(key) + " has no effect at " + std::string(verdict.event_name()) + " and was ignored");
}

void take_kodelet_output(AnswerKeys& keys, VerdictMaker& verdict, JsonView payload) {
  const JsonView output = keys.get("output");
  if (!output.exists()) return;
  if (!is_result(verdict.event())) return unusable("output", verdict);
  if (!output.is_object() && !output.is_string())
    return verdict.fail("'output' must be a result or its text, not " + std::string(type_name(output)));
  if (const auto text = rewritten_output(output, payload)) verdict.rewrite(*text, "output");
}

void take_event_result(AnswerKeys& keys, VerdictMaker& verdict, JsonView payload) {
  if (const JsonView block = keys.object("block"); block.exists()) {
    AnswerKeys inner(block, "block.", verdict);
    const std::string reason = inner.text("reason").value_or("");
    inner.blame_unknown();
    verdict.block(reason.empty() ? "the extension blocked it and gave no reason" : reason, "block");
  }
  if (const JsonView changed = keys.object("input"); changed.exists()) {
    if (verdict.event() == AGENTD_EVENT_BEFORE_TOOL_CALL)
      verdict.rewrite_input(rewritten_input(Dialect::kKodelet, payload, changed, false), "input");
    else
      unusable("input", verdict);
  }
  if (const auto message = keys.text("message")) {
    if (verdict.event() == AGENTD_EVENT_USER_MESSAGE_SEND)
      verdict.rewrite(*message, "message");
    else
      unusable("message", verdict);
  }
  take_kodelet_output(keys, verdict, payload);
  take_system_prompt(keys, verdict);
  take_tools(keys, verdict);
  take_follow_ups(keys, verdict);
}

}  // namespace

std::string extension_params(std::uint32_t event, JsonView payload) {
  JsonWriter out;
  out.begin_object().member("id", payload["id"].string_or(""));
  out.member("event", extension_event(event));
  write_call_context(out, payload);
  write_event_payload(out, event, payload);
  out.end_object();
  return std::string(out.text());
}

Verdict interpret_extension(std::uint32_t event, JsonView payload, JsonView result) {
  VerdictMaker verdict(event);
  if (result.is_object()) {
    AnswerKeys keys(result, "", verdict);
    take_event_result(keys, verdict, payload);
    keys.blame_unknown();
  } else if (result.exists() && !result.is_null()) {
    verdict.fail("its answer is " + std::string(type_name(result)) + ", not an object");
  }
  return verdict.take();
}

}  // namespace agentd
