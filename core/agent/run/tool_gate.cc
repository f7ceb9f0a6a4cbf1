// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/tool_gate.h"

#include <utility>

#include "core/agent/subagent_tool.h"
#include "core/codec/json.h"
#include "core/scrub/secrets.h"

namespace agentd {
namespace {

std::string refusal_of(const Outcome& outcome) {
  return "blocked by the hook " + outcome.blocked_by.hook + (outcome.reason.empty() ? "" : ": " + outcome.reason);
}

// "the member content": the first one of the input with that text.
std::string place_of(const ToolInput& input, std::string_view text) {
  const auto document = JsonDocument::parse(input.text());
  for (std::size_t i = 0; document && i < document->root().size(); ++i) {
    const JsonView root = document->root();
    if (root.at(i).text().find(text) != std::string::npos) return "the member " + std::string(root.key_at(i));
  }
  return "the input";
}

}  // namespace

InputPaths paths_of(const AgentOptions& options, const Tool& tool) {
  const auto& roots = options.tools_roots;
  return {tool.path_keys, roots.empty() ? options.cwd : roots.front(), options.cwd, options.home, roots};
}

void ToolGate::check_schema(PreparedCall& prepared, const std::string& by) {
  const auto fits = memory_.schemas.check(prepared.tool, prepared.call.input);
  if (fits) return;
  prepared.refuse(ToolStatus::kInvalid,
                  "the input of " + prepared.tool.name + (by.empty() ? "" : ", which the hook " + by + " rewrote,") +
                      " does not fit the tool's schema: " + fits.error().message + "; nothing was run" +
                      (by.empty() ? ": call it again with an input that fits" : ""));
  session_.base().log.write(LogLevel::kWarning, "tools", prepared.refusal->reason);
}

std::unique_ptr<Outcome> ToolGate::judge(PreparedCall& prepared, bool must_ask) {
  std::unique_ptr<Outcome> outcome;
  if (session_.hooks.wants(AGENTD_EVENT_BEFORE_TOOL_CALL)) {
    CallPayload payload(prepared.call, prepared.tool, paths_of(session_.options, prepared.tool));
    outcome = session_.hooks.fire(payload.fired_input(AGENTD_EVENT_BEFORE_TOOL_CALL));
    if (outcome && !outcome->rewrites.empty() && !outcome->blocked)
      take_rewritten_input(prepared, payload.input, *outcome);
  }
  if (outcome && outcome->blocked) {
    deny(prepared, *outcome);
    session_.hooks.record_effect(AGENTD_EVENT_BEFORE_TOOL_CALL, outcome->blocked_by, HookEffect::kBlock, {}, {},
                                 outcome->reason);
  } else if (!prepared.refusal) {
    if (refuse_placeholder(prepared)) {
      if (outcome && outcome->permission == AGENTD_PERMISSION_ALLOW)
        session_.hooks.refute(outcome->permission_by.hook, AGENTD_EVENT_BEFORE_TOOL_CALL, prepared.refusal->reason);
    } else {
      decide_permission(prepared, outcome.get(), must_ask);
    }
  }
  return outcome;
}

std::unique_ptr<Outcome> ToolGate::judge_again(PreparedCall& prepared) {
  if (refuse_placeholder(prepared) || rules_deny(prepared, rules_decide(prepared)) ||
      !session_.hooks.wants(AGENTD_EVENT_BEFORE_TOOL_CALL))
    return nullptr;
  CallPayload payload(prepared.call, prepared.tool);
  Fired fired;
  fired.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
  fired.payload = &payload.record;
  fired.attempt = 2;
  fired.only = AGENTD_HOOK_GATES | kFailsClosed;
  auto outcome = session_.hooks.fire(fired);
  if (!outcome || !outcome->blocked) return outcome;
  deny(prepared, *outcome);
  session_.hooks.record_effect(AGENTD_EVENT_BEFORE_TOOL_CALL, outcome->blocked_by, HookEffect::kBlock, {}, {},
                               outcome->reason);
  return outcome;
}

void ToolGate::deny(PreparedCall& prepared, const Outcome& outcome) const {
  prepared.refuse(ToolStatus::kDenied,
                  session_.hooks.stopped() ? "not run: " + session_.hooks.stop_text() : refusal_of(outcome));
}

// The gates see the final bytes once more, and may only tighten. A hook of another tool that wrote them is asked
// once, as its own tool does.
void ToolGate::take_rewritten_input(PreparedCall& prepared, const ToolInput& rewritten, Outcome& outcome) {
  const Outcome::By by = outcome.rewrites.back().by;
  session_.hooks.record_effect(AGENTD_EVENT_BEFORE_TOOL_CALL, by, HookEffect::kRewrite, prepared.call.input.text(),
                               rewritten.text(), {});
  prepared.call.input = rewritten;
  check_schema(prepared, by.hook);
  if (prepared.refusal) return session_.hooks.refute(by.hook, AGENTD_EVENT_BEFORE_TOOL_CALL, prepared.refusal->reason);
  if (outcome.permission == AGENTD_PERMISSION_ALLOW && !allowed_final_input(outcome)) {
    session_.base().log.write(
        LogLevel::kWarning, "hooks",
        outcome.permission_by.hook + " allowed an input that " + by.hook + " rewrote afterwards; the rules decide");
    session_.hooks.refute(outcome.permission_by.hook, AGENTD_EVENT_BEFORE_TOOL_CALL,
                          by.hook + " rewrote the input afterwards; the rules decide");
    outcome.permission = 0;
  }
  ask_again(prepared, by, outcome);
}

void ToolGate::ask_again(PreparedCall& prepared, const Outcome::By& by, Outcome& outcome) {
  CallPayload payload(prepared.call, prepared.tool);
  Fired fired;
  fired.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
  fired.payload = &payload.record;
  fired.attempt = 2;
  fired.only = AGENTD_HOOK_GATES;
  fired.except = by.hook;
  const auto again = session_.hooks.fire(fired);
  if (!again) return;
  if (again->blocked) {
    outcome.blocked = true;
    outcome.reason = again->reason;
    outcome.blocked_by = again->blocked_by;
    outcome.stop = again->stop;
  } else if ((again->permission == AGENTD_PERMISSION_ASK && outcome.permission != AGENTD_PERMISSION_DEFER) ||
             again->permission == AGENTD_PERMISSION_DEFER) {
    outcome.permission = again->permission;
    outcome.permission_by = again->permission_by;
    outcome.permission_reason = again->permission_reason;
  }
}

// True if the hook that answered "allow" has seen the final input, or sees it as a gate.
bool ToolGate::allowed_final_input(const Outcome& outcome) const {
  bool rewritten = false;
  const Snapshot& snapshot = session_.hooks.snapshot();
  for (const Snapshot::Entry& entry : snapshot.entries(AGENTD_EVENT_BEFORE_TOOL_CALL)) {
    const std::string& name = snapshot.subscription(entry).name;
    rewritten = rewritten || name == outcome.rewrites.back().by.hook;
    if (name == outcome.permission_by.hook) return rewritten || (entry.flags & AGENTD_HOOK_GATES) != 0;
  }
  return false;
}

// ---- placeholders

// A placeholder that the model writes stands for bytes that it has never seen: a tool that takes it for text would put
// it over them. A tool that only reads does no harm with it, a subagent's own calls come here themselves, and edit_file
// leads it back to the file's own bytes.
bool ToolGate::refuse_placeholder(PreparedCall& prepared) {
  const Secrets* const secrets = session_.base().secrets;
  const Tool& tool = prepared.tool;
  if (secrets == nullptr || tool.read_only() || tool.takes_placeholders || is_subagent_tool(tool)) return false;
  const auto found = secrets->own_in(prepared.call.input.text());
  if (!found) return false;
  prepared.refuse(ToolStatus::kDenied,
                  place_of(prepared.call.input, *found) + " of " + tool.name + " has " + *found +
                      ", which stands for a secret that was removed from what you read; nothing was run, since the "
                      "secret would be lost: change the text around it with edit_file, which keeps the secret, copy "
                      "whole files with a command, or ask the user to do it");
  record_decision(prepared, PermissionDecision::kDeny, "secrets", "the input has a placeholder of a secret");
  return true;
}

// ---- permission

void ToolGate::record_decision(const PreparedCall& prepared, PermissionDecision decision, const std::string& by,
                               const std::string& reason) {
  session_.log.add(
      write_permission({prepared.call.call_id, prepared.tool.name, std::string(name_of(decision)), by, reason}));
}

PathPlace ToolGate::path_place() const {
  return {session_.context_of_calls().start(), session_.options.home, session_.options.tools_roots};
}

PermissionVerdict ToolGate::rules_decide(const PreparedCall& prepared) const {
  PermissionVerdict out = session_.base().permissions.decide(prepared.tool, prepared.call.input, path_place());
  // A subagent does nothing itself: its tools are asked about one by one.
  if (is_subagent_tool(prepared.tool) && (out.by_plan || (out.permission == Permission::kAsk && !out.binding)))
    out = {Permission::kAllow, {}, "a subagent's tools are asked about one by one"};
  return out;
}

bool ToolGate::rules_deny(PreparedCall& prepared, const PermissionVerdict& verdict) {
  if (verdict.permission != Permission::kDeny) return false;
  prepared.refuse(ToolStatus::kDenied, "the permission rules do not allow " + prepared.tool.name +
                                           (verdict.plain ? "" : ": " + verdict.reason));
  record_decision(prepared, PermissionDecision::kDeny, "rules", verdict.plain ? verdict.rule : verdict.reason);
  return true;
}

void ToolGate::decide_permission(PreparedCall& prepared, const Outcome* outcome, bool must_ask) {
  const std::uint32_t hooks = outcome == nullptr ? 0 : outcome->permission;
  const PermissionVerdict verdict = rules_decide(prepared);
  if (rules_deny(prepared, verdict)) {
    if (hooks == AGENTD_PERMISSION_ALLOW)
      session_.hooks.refute(outcome->permission_by.hook, AGENTD_EVENT_BEFORE_TOOL_CALL, prepared.refusal->reason);
    return;
  }
  const bool rules_ask = verdict.permission == Permission::kAsk;
  if (hooks == AGENTD_PERMISSION_ASK || hooks == AGENTD_PERMISSION_DEFER) {
    PreparedCall::Question question{{outcome->permission_by.hook, outcome->permission_reason},
                                    hooks == AGENTD_PERMISSION_DEFER};
    question.by.each_time = verdict.binding;
    ask_permission(prepared, std::move(question), must_ask);
  } else if (must_ask || verdict.binding || (rules_ask && hooks != AGENTD_PERMISSION_ALLOW)) {
    PreparedCall::Question question;
    if (rules_ask && !verdict.plain) question.by.reason = verdict.reason;
    question.by.each_time = verdict.binding;
    question.by.missing = verdict.missing;
    if (!verdict.binding) question.by.keeps = exact_rules(prepared.tool, prepared.call.input, path_place());
    if (session_.base().permissions.kept == nullptr) question.by.keeps.clear();
    ask_permission(prepared, std::move(question), must_ask);
  }
}

bool ToolGate::hooks_decide(PreparedCall& prepared, PreparedCall::Question& question, bool must_ask) {
  if (!session_.hooks.wants(AGENTD_EVENT_PERMISSION_REQUEST)) return false;
  CallPayload payload(prepared.call, prepared.tool);
  const std::string suggestions = "[\"" + prepared.tool.name + "\"]";
  payload.record.suggestions_json = to_abi(suggestions);
  const auto outcome = session_.hooks.fire(AGENTD_EVENT_PERMISSION_REQUEST, &payload.record);
  if (!outcome) return false;
  if (outcome->blocked) {
    deny(prepared, *outcome);
    record_decision(prepared, PermissionDecision::kDeny, outcome->blocked_by.hook, outcome->reason);
    return true;
  }
  if (outcome->permission == AGENTD_PERMISSION_DEFER)
    question = {{outcome->permission_by.hook, outcome->permission_reason}, true};
  if (outcome->permission != AGENTD_PERMISSION_ALLOW || must_ask || question.defers || question.by.each_time)
    return false;
  if (outcome->remember) memory_.allowed.insert(prepared.tool.name);
  take_answer(prepared, {true, false, {}}, outcome->permission_by.hook);
  return true;
}

void ToolGate::ask_permission(PreparedCall& prepared, PreparedCall::Question question, bool must_ask) {
  // A remembered permission answers agentd's own question; a hook's question is asked each time.
  const bool own = question.by.hook.empty() && !question.by.each_time;
  if (!must_ask && own && memory_.allowed.contains(prepared.tool.name)) return;
  if (hooks_decide(prepared, question, must_ask)) return;
  question.anew = must_ask;
  prepared.question = std::move(question);
}

void ToolGate::remember(const PreparedCall& prepared, const std::vector<std::string>& keeps) {
  KeptAnswers* const kept = session_.base().permissions.kept.get();
  if (keeps.empty() || kept == nullptr) {
    memory_.allowed.insert(prepared.tool.name);
    return;
  }
  const auto done = kept->keep(keeps, session_.base().clock.wall_ms(), session_.position.conversation_id,
                               std::string(path_place().start));
  if (!done) session_.base().log.write(LogLevel::kWarning, "tools", "the answer was not kept: " + done.error().message);
}

void ToolGate::take_answer(PreparedCall& prepared, const PermissionAnswer& answer, const std::string& by) {
  const std::vector<std::string> keeps = prepared.question ? prepared.question->by.keeps : std::vector<std::string>();
  prepared.question.reset();
  if (answer.allowed && answer.remember) remember(prepared, keeps);
  record_decision(prepared, answer.allowed ? PermissionDecision::kAllow : PermissionDecision::kDeny, by, answer.reason);
  if (!answer.allowed)
    prepared.refuse(ToolStatus::kDenied,
                    "not permitted" + (answer.reason.empty() ? std::string() : ": " + answer.reason));
}

}  // namespace agentd
