// SPDX-License-Identifier: Apache-2.0
// claude_answer.cc - Claude Code's exit codes and output objects, as actions.
#include <array>

#include "core/base/bytes.h"
#include "core/dialects/claude.h"
#include "core/hooks/event.h"

namespace agentd {
namespace {

bool is_after_tool(std::uint32_t event) {
  return event == AGENTD_EVENT_AFTER_TOOL_CALL || event == AGENTD_EVENT_TOOL_CALL_FAILED;
}

// True if "block" stops the event's action. SubagentStart is not one of these: Claude shows the text and starts the
// agent.
bool can_block(std::uint32_t event) {
  return event == AGENTD_EVENT_BEFORE_TOOL_CALL || event == AGENTD_EVENT_PERMISSION_REQUEST ||
         event == AGENTD_EVENT_USER_MESSAGE_SEND || event == AGENTD_EVENT_BEFORE_COMPACTION;
}

bool takes_plain_text(std::uint32_t event) {
  return event == AGENTD_EVENT_SESSION_START || event == AGENTD_EVENT_USER_MESSAGE_SEND ||
         event == AGENTD_EVENT_SUBAGENT_START;
}

std::string no_stop_reason(const HookDefinition& hook) {
  return "the hook " + hook.name + " ended the run and gave no reason";
}

// Turns "block" into the event's action. `what` names it in the warning where it has no effect.
void take_block(const HookDefinition& hook, VerdictMaker& made, std::string_view reason, std::string_view what) {
  const std::string text = reason.empty() ? default_block_reason(hook) : std::string(reason);
  if (can_block(made.event())) {
    made.block(text, what);
  } else if (is_stop_event(made.event())) {
    made.go_on(reason.empty() ? "A hook asked you to go on." : text, what);
  } else if (is_after_tool(made.event())) {
    made.context(text, what);
  } else {
    made.warn(std::string(what) + " cannot stop anything at " + event_label(hook) +
              (reason.empty() ? "" : ": " + first_line(reason)));
    if (made.can(AGENTD_ACT_SYSTEM_MESSAGE)) made.notice(reason, what);
  }
}

// ---- values of tools

std::string joined_texts(JsonView list) {
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonView each = list.at(i);
    const std::string_view text = each.is_string() ? each.string_or("") : each["text"].string_or("");
    if (!out.empty() && !text.empty()) out += "\n";
    out += text;
  }
  return out;
}

// A tool result in any of the shapes that Claude's tools have, as the text that the model reads.
std::string output_text(JsonView value) {
  if (value.is_string()) return std::string(value.string_or(""));
  if (value.is_array() && value.at(0)["text"].is_string()) return joined_texts(value);
  if (!value.is_object()) return value.text();
  if (value["stdout"].is_string()) {
    std::string out(value["stdout"].string_or(""));
    const std::string_view err = value["stderr"].string_or("");
    if (!out.empty() && !err.empty() && out.back() != '\n') out += '\n';
    return out.append(err);
  }
  if (value["file"]["content"].is_string()) return std::string(value["file"]["content"].string_or(""));
  if (value["content"].is_string()) return std::string(value["content"].string_or(""));
  if (value["content"].is_array()) return joined_texts(value["content"]);
  return value.text();
}

// ---- the object

class ClaudeAnswer {
 public:
  ClaudeAnswer(const HookDefinition& hook, JsonView payload, JsonView answer, VerdictMaker& made)
      : hook_(hook),
        payload_(payload),
        made_(made),
        keys_(answer, "", made),
        inner_(keys_.object("hookSpecificOutput"), "hookSpecificOutput.", made) {}

  void read() {
    if (keys_.boolean("async").value_or(false)) return read_async();
    keys_.ignore({"asyncTimeout", "suppressOutput"});
    keys_.cannot({"terminalSequence"});
    reason_ = keys_.text("reason").value_or("");
    const bool ends = keys_.boolean("continue") == false;
    const std::string stop_reason = keys_.text("stopReason").value_or("");
    check_name();
    read_rewrites();
    if (ends) end_run(stop_reason);
    read_decision(ends);
    read_permission();
    read_request();
    made_.context(inner_.text("additionalContext").value_or(""), inner_.name("additionalContext"));
    made_.notice(keys_.text("systemMessage").value_or(""), "systemMessage");
    read_rest();
    keys_.blame_unknown();
    inner_.blame_unknown();
  }

 private:
  // An async answer: the hook continues in the background and returns no decision.
  void read_async() {
    keys_.ignore({"asyncTimeout", "suppressOutput", "systemMessage"});
    keys_.blame_unknown();
  }

  void check_name() {
    const auto name = inner_.text("hookEventName");
    if (name && *name != event_label(hook_))
      made_.warn("hookSpecificOutput is for " + in_quotes(*name) + ", but the event is " + event_label(hook_));
  }

  // continue: false takes precedence over every decision.
  void end_run(std::string_view stop_reason) {
    const std::string_view reason = stop_reason.empty() ? std::string_view(reason_) : stop_reason;
    if (made_.can(AGENTD_ACT_STOP_RUN))
      made_.stop_run(reason.empty() ? no_stop_reason(hook_) : std::string(reason), "continue: false");
    else
      take_block(hook_, made_, reason, "continue: false");
  }

  void read_decision(bool ended) {
    const auto word = keys_.text("decision");
    if (!word) return;
    const std::uint32_t decision = permission_of(*word);
    if (decision == 0 || decision == AGENTD_PERMISSION_DEFER)
      made_.fail("the key 'decision' must be approve or block, not " + in_quotes(*word));
    else if (decision == AGENTD_PERMISSION_DENY && !ended)
      take_block(hook_, made_, reason_, "decision: " + *word);
    else if (decision != AGENTD_PERMISSION_DENY && made_.can(AGENTD_ACT_PERMISSION))
      made_.permission(decision, reason_, false, "decision");
    else if (decision == AGENTD_PERMISSION_ASK)
      made_.warn("decision: ask has no effect at " + event_label(hook_) + " and was ignored");
  }

  void read_permission() {
    const auto word = inner_.text("permissionDecision");
    const std::string reason = inner_.text("permissionDecisionReason").value_or(reason_);
    if (!word) return;
    const std::string name = inner_.name("permissionDecision");
    const std::uint32_t decision = permission_of(*word);
    if (decision == 0)
      made_.fail("the key '" + name + "' must be allow, deny, ask or defer, not " + in_quotes(*word));
    else if (decision == AGENTD_PERMISSION_DENY && can_block(made_.event()))
      made_.block(reason.empty() ? default_block_reason(hook_) : reason, name);
    else
      made_.permission(decision, reason, false, name);
  }

  // The object of PermissionRequest. An allow applies to the input that it comes with.
  void read_request() {
    const JsonView request = inner_.object("decision");
    if (!request.exists()) return;
    AnswerKeys keys(request, "hookSpecificOutput.decision.", made_);
    const std::string behavior = keys.text("behavior").value_or("");
    const std::string message = keys.text("message").value_or(reason_);
    const bool interrupts = keys.boolean("interrupt").value_or(false);
    const bool rewrites = keys.has("updatedInput");
    keys.cannot({"updatedInput", "updatedPermissions"});
    keys.blame_unknown();
    if (behavior == "deny" && interrupts && made_.can(AGENTD_ACT_STOP_RUN))
      made_.stop_run(message.empty() ? no_stop_reason(hook_) : message, keys.name("interrupt"));
    else if (behavior == "deny")
      take_block(hook_, made_, message, keys.name("behavior"));
    else if (behavior != "allow")
      made_.fail("the key '" + keys.name("behavior") + "' must be allow or deny, not " + in_quotes(behavior));
    else if (rewrites)
      made_.warn("the allow of another input than the one asked for was ignored");
    else
      made_.permission(AGENTD_PERMISSION_ALLOW, message, false, keys.name("behavior"));
  }

  void read_rewrites() {
    const JsonView input = inner_.object("updatedInput");
    if (input.exists()) {
      if (made_.event() == AGENTD_EVENT_BEFORE_TOOL_CALL)
        made_.rewrite_input(rewritten_input(Dialect::kClaude, payload_, input, false), inner_.name("updatedInput"));
      else
        made_.warn("hookSpecificOutput.updatedInput has no effect at " + event_label(hook_) + " and was ignored");
    }
    for (const char* const key : {"updatedMCPToolOutput", "updatedToolOutput"}) {
      const JsonView output = inner_.get(key);
      if (!output.exists()) continue;
      if (is_after_tool(made_.event()))
        made_.rewrite(output_text(output), inner_.name(key));
      else
        made_.warn(inner_.name(key) + " has no effect at " + event_label(hook_) + " and was ignored");
    }
  }

  void read_rest() {
    if (const auto title = inner_.text("sessionTitle"))
      made_.set(AGENTD_KEY_TITLE, 0, *title, inner_.name("sessionTitle"));
    inner_.cannot({"classifierContext", "retry", "suppressOriginalPrompt", "initialUserMessage", "watchPaths",
                   "reloadSkills", "worktreePath", "displayContent", "action", "content"});
  }

  const HookDefinition& hook_;
  JsonView payload_;
  VerdictMaker& made_;
  AnswerKeys keys_, inner_;
  std::string reason_;
};

// Text that is not an object is context at some events, custom instructions at one, and ignored elsewhere.
void take_text(const HookDefinition& hook, const ParsedOutput& output, VerdictMaker& made) {
  if (!output.problem.empty()) return made.fail(output.problem);
  if (takes_plain_text(made.event()))
    made.context(output.text, "its output");
  else if (made.event() == AGENTD_EVENT_BEFORE_COMPACTION)
    made.set(AGENTD_KEY_CUSTOM_INSTRUCTIONS, 0, output.text, "its output");
  else if (hook.strict_output)
    made.fail(not_one_object(output));
}

void take_claude_output(const HookDefinition& hook, JsonView payload, const RawAnswer& answer, VerdictMaker& made) {
  const ParsedOutput output = parse_output(answer.out, answer.out_over_cap);
  switch (output.kind) {
    case ParsedOutput::Kind::kEmpty:
      break;
    case ParsedOutput::Kind::kBroken:
      made.fail(output.problem);
      break;
    case ParsedOutput::Kind::kText:
      take_text(hook, output, made);
      break;
    case ParsedOutput::Kind::kObject:
      ClaudeAnswer(hook, payload, output.root(), made).read();
      break;
  }
}

}  // namespace

// Exit code 2 blocks whatever the output says, with standard error as the reason. Another code is a failure, whose
// output may still refuse.
Verdict interpret_claude(const HookDefinition& hook, JsonView payload, const RawAnswer& answer) {
  constexpr int kBlockCode = 2;
  VerdictMaker made(hook.event);
  if (made.fails_by_end(hook, answer)) return made.take();
  const bool webhook = hook.runs == HookRuns::kWebhook;
  if (webhook || answer.code == 0)
    take_claude_output(hook, payload, answer, made);
  else if (answer.code == kBlockCode)
    take_block(hook, made, error_text(answer), "exit code 2");
  else {
    take_claude_output(hook, payload, answer, made);
    made.keep_refusals(hook, exit_sentence(answer));
  }
  return made.take(hook);
}

}  // namespace agentd
