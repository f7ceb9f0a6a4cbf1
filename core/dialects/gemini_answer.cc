// SPDX-License-Identifier: Apache-2.0
// gemini_answer.cc - Gemini CLI's exit codes and output objects, as actions.
#include "core/dialects/gemini.h"
#include "core/dialects/replacement.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

// Turns "deny" into the event's action; SessionStart, SessionEnd, Notification and PreCompress are only advisory.
void take_deny(const HookDefinition& hook, VerdictMaker& made, std::string_view reason, std::string_view what) {
  const std::string text = reason.empty() ? default_block_reason(hook) : std::string(reason);
  switch (made.event()) {
    case AGENTD_EVENT_BEFORE_TOOL_CALL:
    case AGENTD_EVENT_USER_MESSAGE_SEND:
      made.block(text, what);
      return;
    case AGENTD_EVENT_BEFORE_MODEL_CALL:
      if (hook.foreign_event == "BeforeToolSelection") break;
      made.block(text, what);
      return;
    case AGENTD_EVENT_AFTER_TOOL_CALL:
    case AGENTD_EVENT_TOOL_CALL_FAILED:
      made.rewrite(text, what);
      return;
    case AGENTD_EVENT_AGENT_STOP:
    case AGENTD_EVENT_SUBAGENT_STOP:
      made.go_on(reason.empty() ? "A hook asked you to try again." : text, what);
      return;
    case AGENTD_EVENT_AFTER_MODEL_CALL:
      // The turn cannot be undone here, so the denied answer is not shown.
      made.rewrite(text, what);
      made.warn(std::string(what) + " replaced the answer with its reason; the turn continues");
      return;
  }
  made.warn(std::string(what) + " cannot stop anything at " + event_label(hook) +
            (reason.empty() ? "" : ": " + first_line(reason)));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

// Parts are texts, or objects that have a text.
std::string parts_text(JsonView parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const JsonView each = parts.at(i);
    out += each.is_string() ? each.string_or("") : each["text"].string_or("");
  }
  return out;
}

class GeminiAnswer {
 public:
  GeminiAnswer(const HookDefinition& hook, JsonView payload, JsonView answer, VerdictMaker& made)
      : hook_(hook),
        payload_(payload),
        made_(made),
        keys_(answer, "", made),
        inner_(keys_.object("hookSpecificOutput"), "hookSpecificOutput.", made) {}

  void read() {
    keys_.ignore({"suppressOutput"});
    inner_.ignore({"hookEventName"});
    reason_ = keys_.text("reason").value_or("");
    const std::string stop_reason = keys_.text("stopReason").value_or("");
    const bool ends = keys_.boolean("continue") == false;
    read_tool_input();
    read_model();
    if (ends) end_run(stop_reason.empty() ? reason_ : stop_reason);
    read_decision(ends);
    made_.context(escaped(inner_.text("additionalContext").value_or("")), inner_.name("additionalContext"));
    made_.notice(keys_.text("systemMessage").value_or(""), "systemMessage");
    inner_.cannot({"tailToolCallRequest", "clearContext"});
    keys_.blame_unknown();
    inner_.blame_unknown();
  }

 private:
  void end_run(const std::string& reason) {
    // Gemini ignores it at some events; so does agentd, with a warning.
    const bool ends = hook_.foreign_event != "BeforeToolSelection" && made_.event() != AGENTD_EVENT_BEFORE_COMPACTION;
    if (ends && made_.can(AGENTD_ACT_STOP_RUN)) {
      made_.stop_run(reason.empty() ? "the hook " + hook_.name + " ended the run and gave no reason" : reason,
                     "continue: false");
    } else {
      made_.warn("continue: false cannot end the run at " + event_label(hook_));
      made_.notice(made_.can(AGENTD_ACT_SYSTEM_MESSAGE) ? reason : "", "stopReason");
    }
  }

  // "allow" is the usual answer of hooks without an objection: it skips no question.
  void read_decision(bool ended) {
    const auto word = keys_.text("decision");
    if (!word) return;
    const std::uint32_t decision = permission_of(*word);
    if (decision == 0 || decision == AGENTD_PERMISSION_DEFER)
      made_.fail("the key 'decision' must be allow, approve, deny, block or ask, not " + in_quotes(*word));
    else if (decision == AGENTD_PERMISSION_DENY && !ended)
      take_deny(hook_, made_, reason_, "decision: " + *word);
    else if (decision == AGENTD_PERMISSION_ASK)
      made_.permission(decision, reason_, false, "decision: ask");
  }

  void read_tool_input() {
    const JsonView patch = inner_.object("tool_input");
    if (!patch.exists()) return;
    if (made_.event() == AGENTD_EVENT_BEFORE_TOOL_CALL)
      made_.rewrite_input(rewritten_input(Dialect::kGemini, payload_, patch, true), inner_.name("tool_input"));
    else
      no_effect("tool_input");
  }

  void no_effect(std::string_view key) {
    made_.warn(inner_.name(key) + " has no effect at " + event_label(hook_) + " and was ignored");
  }

  // ---- requests and responses of the model

  void read_model() {
    const JsonView request = inner_.object("llm_request");
    const JsonView response = inner_.object("llm_response");
    const JsonView tools = inner_.object("toolConfig");
    if (request.exists()) read_request(request);
    if (response.exists()) read_response(response);
    if (tools.exists()) read_tools(tools, inner_.name("toolConfig"));
  }

  void read_request(JsonView request) {
    if (made_.event() != AGENTD_EVENT_BEFORE_MODEL_CALL) return no_effect("llm_request");
    AnswerKeys keys(request, "hookSpecificOutput.llm_request.", made_);
    const std::string model = keys.text("model").value_or("");
    if (!model.empty() && model != payload_["model"].string_or(""))
      made_.set(AGENTD_KEY_MODEL, 0, model, keys.name("model"));
    if (const JsonView messages = keys.array("messages"); messages.exists()) read_messages(messages);
    if (const JsonView tools = keys.object("toolConfig"); tools.exists()) read_tools(tools, keys.name("toolConfig"));
    keys.cannot({"config"});
    keys.blame_unknown();
  }

  // The request has only texts, so messages that return as they were sent mean no change.
  void read_messages(JsonView messages) {
    JsonWriter list;
    list.begin_array();
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (messages.at(i)["role"].string_or("") != "system") list.value(messages.at(i));
    list.end_array();
    const auto literal = JsonDocument::parse(list.text());
    if (!literal || is_unchanged(literal->root())) return;
    auto parts = replacement_parts(literal->root());
    if (!parts) return made_.fail("hookSpecificOutput.llm_request: " + parts.error().message);
    Action action;
    action.kind = AGENTD_ACT_REPLACE_MESSAGES;
    action.base_revision = payload_["revision"].uint_or(0);
    action.parts = std::move(*parts);
    made_.add(std::move(action), "hookSpecificOutput.llm_request.messages");
  }

  bool is_unchanged(JsonView messages) const {
    const std::vector<GeminiMessage> sent = gemini_messages(payload_);
    if (messages.size() != sent.size()) return false;
    for (std::size_t i = 0; i < sent.size(); ++i)
      if (messages.at(i)["content"].string_or("") != sent[i].text || !messages.at(i)["content"].is_string())
        return false;
    return true;
  }

  void read_response(JsonView response) {
    if (made_.event() != AGENTD_EVENT_AFTER_MODEL_CALL) {
      made_.warn("agentd cannot honour 'hookSpecificOutput.llm_response' at " + event_label(hook_) +
                 ": the model is called");
      return;
    }
    const JsonView parts = response["candidates"].at(0)["content"]["parts"];
    if (parts.is_array())
      made_.rewrite(parts_text(parts), inner_.name("llm_response"));
    else if (response["text"].is_string())
      made_.rewrite(response["text"].string_or(""), inner_.name("llm_response"));
    else
      made_.fail("the key 'hookSpecificOutput.llm_response' needs candidates with a text");
  }

  // AUTO keeps all tools, NONE disables them, a list of names keeps only those.
  void read_tools(JsonView config, const std::string& where) {
    if (made_.event() != AGENTD_EVENT_BEFORE_MODEL_CALL) return no_effect("toolConfig");
    AnswerKeys keys(config, where + ".", made_);
    const std::string mode = keys.text("mode").value_or("AUTO");
    const JsonView allowed = keys.array("allowedFunctionNames");
    keys.blame_unknown();
    if (mode != "AUTO" && mode != "ANY" && mode != "NONE")
      return made_.fail("the key '" + keys.name("mode") + "' must be AUTO, ANY or NONE, not " + in_quotes(mode));
    if (mode == "ANY") made_.warn(keys.name("mode") + ": ANY cannot make the model use a tool");
    Action action;
    action.kind = AGENTD_ACT_TOOLS_ENABLE;
    if (mode != "NONE") {
      if (!allowed.exists() || allowed.size() == 0) return;
      for (std::size_t i = 0; i < allowed.size(); ++i) {
        if (i != 0) action.text += ',';
        action.text += canonical_tool(Dialect::kGemini, allowed.at(i).string_or(""));
      }
    }
    made_.add(std::move(action), where);
  }

  const HookDefinition& hook_;
  JsonView payload_;
  VerdictMaker& made_;
  AnswerKeys keys_, inner_;
  std::string reason_;
};

// Unwraps a JSON string that holds JSON, once.
ParsedOutput unwrapped(std::string_view out, bool over_cap, std::string& held) {
  ParsedOutput output = parse_output(out, over_cap);
  if (output.kind != ParsedOutput::Kind::kText || output.text[0] != '"') return output;
  const auto text = JsonDocument::parse(output.text);
  if (!text || !text->root().is_string()) return output;
  held = std::string(text->root().string_or(""));
  return parse_output(held, false);
}

// An object on standard error replaces an empty standard output; plain text there is only a log.
void take_gemini_output(const HookDefinition& hook, JsonView payload, const RawAnswer& answer, VerdictMaker& made) {
  std::string held;
  const bool from_error = hook.runs != HookRuns::kWebhook && !answer.out_over_cap && trimmed(answer.out).empty();
  const ParsedOutput output =
      from_error ? unwrapped(answer.err, false, held) : unwrapped(answer.out, answer.out_over_cap, held);
  switch (output.kind) {
    case ParsedOutput::Kind::kEmpty:
      break;
    case ParsedOutput::Kind::kBroken:
      if (!from_error) made.fail(output.problem);
      break;
    case ParsedOutput::Kind::kText:
      if (!output.problem.empty())
        made.fail(output.problem);
      else if (hook.strict_output && !from_error)
        made.fail(not_one_object(output));
      else if (!from_error && made.can(AGENTD_ACT_SYSTEM_MESSAGE))
        made.notice(output.text, "its output");
      break;
    case ParsedOutput::Kind::kObject:
      GeminiAnswer(hook, payload, output.root(), made).read();
      break;
  }
}

}  // namespace

Verdict interpret_gemini(const HookDefinition& hook, JsonView payload, const RawAnswer& answer) {
  constexpr int kBlockCode = 2;
  VerdictMaker made(hook.event);
  if (made.fails_by_end(hook, answer)) return made.take();
  if (hook.runs == HookRuns::kWebhook || answer.code == 0)
    take_gemini_output(hook, payload, answer, made);
  else if (answer.code == kBlockCode)
    take_deny(hook, made, error_text(answer), "exit code 2");
  else {
    take_gemini_output(hook, payload, answer, made);
    made.keep_refusals(hook, exit_sentence(answer));
  }
  return made.take(hook);
}

}  // namespace agentd
