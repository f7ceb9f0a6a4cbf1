// SPDX-License-Identifier: Apache-2.0
// tools.cc - a tool call from the model's wish to the recorded result.
//
// Order: the input is read and held to the tool's schema, hooks gate and rewrite, what they rewrote is held to it
// again, rules and the user permit, the intent is committed, the tool runs, hooks see the output, the result is
// recorded. The one way to any tool.
#include <algorithm>

#include "core/agent/session/session.h"
#include "core/base/bytes.h"
#include "core/base/paths.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::size_t kOutputBytesMax = 256 * 1024;

std::string_view effects_of(const Tool& tool) {
  if (tool.read_only()) return "read_only";
  return (tool.flags & AGENTD_TOOL_IDEMPOTENT) != 0 ? "idempotent" : "effects";
}

// Head and tail of an output over the cap.
std::string capped(std::string text) {
  if (text.size() <= kOutputBytesMax) return text;
  const std::string_view head = utf8_prefix(text, kOutputBytesMax / 2);
  const std::string_view tail = utf8_suffix(text, kOutputBytesMax / 2);
  return std::string(head) + "\n[... " + with_commas(text.size() - head.size() - tail.size()) +
         " bytes left out ...]\n" + std::string(tail);
}

// The record that hooks see, and the texts that it borrows.
struct CallPayload {
  agentd_tool_call record{};
  agentd_tool_result result{};
  std::string text;  // the output, which hooks may rewrite
  ToolInput input;   // and so they may this
  InputPaths paths;

  CallPayload(const ToolCall& call, const Tool& tool, InputPaths where = {}) : input(call.input), paths(where) {
    record.size = sizeof record;
    record.flags = tool.flags;
    record.name = to_abi(call.name);
    record.call_id = to_abi(call.call_id);
    record.input_json = to_abi(input.text());
    record.origin = to_abi(tool.origin);
  }
  CallPayload(const CallPayload&) = delete;
  CallPayload& operator=(const CallPayload&) = delete;
};

Result<std::string> admit_input(void* context, std::string_view text) {
  const auto input = ToolInput::make(text, static_cast<CallPayload*>(context)->paths);
  if (input) return input->text();
  return Error{Code::kInvalid, "the input that it wrote " + input.error().message};
}

void rewrite_input(void* context, std::uint32_t, std::string_view text) {
  auto& payload = *static_cast<CallPayload*>(context);
  auto input = ToolInput::make(text, payload.paths);
  AGENTD_ASSERT(input);  // it was admitted
  payload.input = std::move(*input);
  payload.record.input_json = to_abi(payload.input.text());
}

void rewrite_output(void* context, std::uint32_t, std::string_view text) {
  auto& payload = *static_cast<CallPayload*>(context);
  payload.text = std::string(text);
  payload.result.content = to_abi(payload.text);
  if (payload.result.error.len != 0) payload.result.error = payload.result.content;
}

std::string_view status_of_failed(Code code) {
  if (code == Code::kCancelled) return "cancelled";
  return code == Code::kDenied ? "denied" : "error";
}

std::string refusal_of(const Outcome& outcome) {
  return "blocked by the hook " + outcome.blocked_by.hook + (outcome.reason.empty() ? "" : ": " + outcome.reason);
}

}  // namespace

const Tool* Turn::find_tool(std::string_view name) const {
  const auto found =
      std::find_if(session_.tools_.begin(), session_.tools_.end(), [&](const Tool& tool) { return tool.name == name; });
  return found == session_.tools_.end() ? nullptr : &*found;
}

InputPaths Turn::paths_of(const Tool& tool) const {
  const AgentOptions& options = session_.options_;
  const auto& roots = options.tools_roots;
  return {tool.path_keys, roots.empty() ? options.cwd : roots.front(), options.cwd, options.home, roots};
}

void Turn::part_calls(Message& answer) const {
  std::set<std::string> taken, wanted;
  for (const agentd_message& row : session_.shared_.conversation().rows())
    for (std::uint32_t i = 0; i < row.blocks.count; ++i)
      if (const agentd_block& block = blocks_of(row)[i]; block.kind == AGENTD_BLOCK_TOOL_USE)
        taken.emplace(view_of(block.call_id));
  for (const Block& block : answer.blocks)
    if (block.kind == BlockKind::kToolUse) wanted.insert(block.call_id);
  for (Block& block : answer.blocks) {
    if (block.kind != BlockKind::kToolUse || taken.insert(block.call_id).second) continue;
    std::string own;
    for (int i = 2; own.empty() || taken.contains(own) || wanted.contains(own); ++i)
      own = block.call_id + "_" + std::to_string(i);
    block.call_id = *taken.insert(std::move(own)).first;
  }
}

void Turn::take_calls(Message& answer) {
  if (!has_tool_calls(answer)) return inputs_.clear();
  part_calls(answer);
  inputs_.clear();
  for (Block& block : answer.blocks) {
    if (block.kind != BlockKind::kToolUse) continue;
    const Tool* const tool = find_tool(block.name);
    auto input = ToolInput::make(block.json, tool == nullptr ? InputPaths{} : paths_of(*tool));
    block.json = input ? input->text() : ToolInput::stand_in(block.json);
    inputs_.push_back(std::move(input));
  }
}

Turn::Prepared Turn::prepare(const Block& use, const Result<ToolInput>& input) {
  Prepared out;
  out.call = {use.call_id, use.name, input ? *input : ToolInput()};
  const Tool* const tool = find_tool(use.name);
  if (tool == nullptr || !offered_.contains(use.name)) {
    out.tool.name = use.name;
    out.denied = "there is no tool named " + use.name;
    out.status = "error";
    return out;
  }
  out.tool = *tool;
  if (input) {
    fits_schema(out);
    return out;
  }
  out.denied = "the input of " + use.name + " " + input.error().message +
               "; nothing was run: call it again with one JSON object";
  out.status = "invalid";
  parts_.log.write(LogLevel::kWarning, "tools", out.denied);
  return out;
}

bool Turn::fits_schema(Prepared& prepared, const std::string& by) {
  const auto fits = session_.input_schemas_.check(prepared.tool, prepared.call.input);
  if (fits) return true;
  prepared.denied = "the input of " + prepared.tool.name + (by.empty() ? "" : ", which the hook " + by + " rewrote,") +
                    " does not fit the tool's schema: " + fits.error().message + "; nothing was run" +
                    (by.empty() ? ": call it again with an input that fits" : "");
  prepared.status = "invalid";
  parts_.log.write(LogLevel::kWarning, "tools", prepared.denied);
  return false;
}

// Hooks first. False when one of them refused.
bool Turn::gate(Prepared& prepared) {
  std::unique_ptr<Outcome> outcome;
  if (session_.wants(AGENTD_EVENT_BEFORE_TOOL_CALL)) {
    CallPayload payload(prepared.call, prepared.tool, paths_of(prepared.tool));
    Fired fired;
    fired.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
    fired.payload = &payload.record;
    fired.rewrite = rewrite_input;
    fired.admit = admit_input;
    fired.context = &payload;
    outcome = session_.fire(fired);
    if (outcome && !outcome->rewrites.empty() && !outcome->blocked)
      take_rewritten_input(prepared, payload.input, *outcome);
  }
  if (outcome) session_.late_contexts_.push_back(*outcome);
  if (outcome && outcome->blocked) {
    deny(prepared, *outcome);
    session_.record_effect(AGENTD_EVENT_BEFORE_TOOL_CALL, outcome->blocked_by, "block", {}, {}, outcome->reason);
    return false;
  }
  if (!prepared.denied.empty()) return false;
  decide_permission(prepared, outcome.get());
  return prepared.denied.empty();
}

void Turn::deny(Prepared& prepared, const Outcome& outcome) {
  prepared.denied = session_.stopped_ ? "not run: " + session_.stop_text() : refusal_of(outcome);
  prepared.status = "denied";
}

// The gates see the final bytes once more, and may only tighten. A hook of another tool that wrote them is asked
// once, as its own tool does.
void Turn::take_rewritten_input(Prepared& prepared, const ToolInput& rewritten, Outcome& outcome) {
  const Outcome::By by = outcome.rewrites.back().by;
  session_.record_effect(AGENTD_EVENT_BEFORE_TOOL_CALL, by, "rewrite", prepared.call.input.text(), rewritten.text(),
                         {});
  prepared.call.input = rewritten;
  if (!fits_schema(prepared, by.hook)) return session_.refute(by.hook, AGENTD_EVENT_BEFORE_TOOL_CALL, prepared.denied);
  if (outcome.permission == AGENTD_PERMISSION_ALLOW && !allowed_final_input(outcome)) {
    parts_.log.write(
        LogLevel::kWarning, "hooks",
        outcome.permission_by.hook + " allowed an input that " + by.hook + " rewrote afterwards; the rules decide");
    session_.refute(outcome.permission_by.hook, AGENTD_EVENT_BEFORE_TOOL_CALL,
                    by.hook + " rewrote the input afterwards; the rules decide");
    outcome.permission = 0;
  }
  CallPayload payload(prepared.call, prepared.tool);
  Fired fired;
  fired.event = AGENTD_EVENT_BEFORE_TOOL_CALL;
  fired.payload = &payload.record;
  fired.attempt = 2;
  fired.only = AGENTD_HOOK_GATES;
  fired.except = by.hook;
  const auto again = session_.fire(fired);
  if (!again) return;
  if (again->blocked) {
    outcome.blocked = true;
    outcome.reason = again->reason;
    outcome.blocked_by = again->blocked_by;
    outcome.stop = again->stop;
  } else if (again->permission == AGENTD_PERMISSION_ASK) {
    outcome.permission = AGENTD_PERMISSION_ASK;
    outcome.permission_by = again->permission_by;
    outcome.permission_reason = again->permission_reason;
  }
}

// Whether the hook that said "allow" has seen what will run, or sees it as a gate.
bool Turn::allowed_final_input(const Outcome& outcome) const {
  bool rewritten = false;
  const Snapshot& snapshot = *session_.snapshot_;
  for (const Snapshot::Entry& entry : snapshot.entries(AGENTD_EVENT_BEFORE_TOOL_CALL)) {
    const std::string& name = snapshot.subscription(entry).name;
    rewritten = rewritten || name == outcome.rewrites.back().by.hook;
    if (name == outcome.permission_by.hook) return rewritten || (entry.flags & AGENTD_HOOK_GATES) != 0;
  }
  return false;
}

void Turn::decide_permission(Prepared& prepared, const Outcome* outcome) {
  const std::uint32_t hooks = outcome == nullptr ? 0 : outcome->permission;
  Permission rules = parts_.permissions.decide(prepared.tool);
  // A subagent does nothing itself: its tools are asked about one by one.
  if (rules == Permission::kAsk && is_subagent_tool(prepared.tool)) rules = Permission::kAllow;
  if (rules == Permission::kDeny) {
    prepared.denied = "the permission rules do not allow " + prepared.tool.name;
    prepared.status = "denied";
    session_.add(write_permission({prepared.call.call_id, prepared.tool.name, "deny", "rules", {}}));
    if (hooks == AGENTD_PERMISSION_ALLOW)
      session_.refute(outcome->permission_by.hook, AGENTD_EVENT_BEFORE_TOOL_CALL, prepared.denied);
    return;
  }
  if (hooks == AGENTD_PERMISSION_ASK || (rules == Permission::kAsk && hooks != AGENTD_PERMISSION_ALLOW))
    ask_permission(prepared, hooks == AGENTD_PERMISSION_ASK
                                 ? AskedBy{outcome->permission_by.hook, outcome->permission_reason}
                                 : AskedBy{});
}

void Turn::ask_permission(Prepared& prepared, const AskedBy& by_hook) {
  PermissionAnswer answer;
  std::string by = "user";
  // A remembered permission answers agentd's own question; a hook's question is asked each time.
  if (by_hook.hook.empty() && session_.allowed_.contains(prepared.tool.name)) return;
  if (session_.wants(AGENTD_EVENT_PERMISSION_REQUEST)) {
    CallPayload payload(prepared.call, prepared.tool);
    const std::string suggestions = "[\"" + prepared.tool.name + "\"]";
    payload.record.suggestions_json = to_abi(suggestions);
    const auto outcome = session_.fire(AGENTD_EVENT_PERMISSION_REQUEST, &payload.record);
    if (outcome && outcome->blocked) {
      deny(prepared, *outcome);
      session_.add(write_permission(
          {prepared.call.call_id, prepared.tool.name, "deny", outcome->blocked_by.hook, outcome->reason}));
      return;
    }
    if (outcome && outcome->permission == AGENTD_PERMISSION_ALLOW) {
      answer = {true, outcome->remember, {}};
      by = outcome->permission_by.hook;
    }
  }
  if (!answer.allowed) {
    if (parts_.approver != nullptr) {
      session_.notify(AGENTD_LEVEL_INFO, "agentd needs your permission to use " + prepared.tool.name);
      answer = parts_.approver->ask(prepared.tool, prepared.call, by_hook);
    } else {
      answer.reason = by = "nobody is there to be asked";
    }
  }
  if (answer.allowed && answer.remember) session_.allowed_.insert(prepared.tool.name);
  session_.add(write_permission(
      {prepared.call.call_id, prepared.tool.name, answer.allowed ? "allow" : "deny", by, answer.reason}));
  if (answer.allowed) return;
  prepared.denied = "not permitted" + (answer.reason.empty() ? std::string() : ": " + answer.reason);
  prepared.status = "denied";
}

void Turn::add_intent(const Prepared& prepared) {
  ToolIntentRecord intent;
  intent.call_id = prepared.call.call_id;
  intent.name = prepared.call.name;
  intent.input_digest = hex(sha256(prepared.call.input.text()));
  intent.effects = std::string(effects_of(prepared.tool));
  session_.add(write_tool_intent(intent));
}

ToolResultRecord Turn::run_tool(const Prepared& prepared) {
  ToolResultRecord out;
  out.call_id = prepared.call.call_id;
  out.name = prepared.call.name;
  auto outcome = is_subagent_tool(prepared.tool)
                     ? run_subagent(prepared.call)
                     : parts_.tools.call(prepared.call, session_.handle_, session_.shared_.cancel(),
                                         Deadline::after(parts_.clock, prepared.tool.timeout));
  if (!outcome) {
    out.status = status_of_failed(outcome.error().code);
    out.text = outcome.error().message;
    return out;
  }
  out.status = outcome->success ? "ok" : "error";
  out.full_bytes = std::max<std::uint64_t>(outcome->full_bytes, outcome->content.size());
  out.text = capped(to_utf8(outcome->content));
  out.parts = std::move(outcome->parts);
  return out;
}

// `denied`: the tool did not run, and observers alone hear of it.
void Turn::after_tool(const Prepared& prepared, ToolResultRecord& result, std::uint64_t duration_ns, bool denied) {
  const bool ok = result.status == "ok";
  const std::uint32_t event = ok ? AGENTD_EVENT_AFTER_TOOL_CALL : AGENTD_EVENT_TOOL_CALL_FAILED;
  if (!session_.wants(event)) return;
  CallPayload payload(prepared.call, prepared.tool);
  payload.text = result.text;
  payload.result.size = sizeof payload.result;
  payload.result.success = ok ? 1 : 0;
  payload.result.content = to_abi(payload.text);
  if (!ok) payload.result.error = to_abi(result.text);
  payload.result.full_len = result.full_bytes;
  payload.result.duration_ns = duration_ns;
  payload.record.result = &payload.result;
  if (denied) payload.record.flags |= AGENTD_TOOL_CALL_DENIED;
  Fired fired;
  fired.event = event;
  if (denied) fired.only = kHearsDenials;
  fired.payload = &payload.record;
  fired.rewrite = rewrite_output;
  fired.context = &payload;
  const auto outcome = session_.fire(fired);
  if (!outcome) return;
  if (!outcome->rewrites.empty()) {
    session_.record_effect(event, outcome->rewrites.back().by, "rewrite", result.text, payload.text, {});
    result.text = payload.text;
    result.full_bytes = result.text.size();
    if (outcome->withheld) result.parts.clear();
  }
  session_.late_contexts_.push_back(*outcome);
}

// The rules of what the call has touched, unless the view has them.
void Turn::note_rules(const Prepared& prepared) {
  if (!session_.options_.rules_near || prepared.tool.path_keys.empty()) return;
  const auto input = JsonDocument::parse(prepared.call.input.text());
  const InputPaths paths = paths_of(prepared.tool);
  for (const std::string& key : prepared.tool.path_keys) {
    const std::string_view path = input ? input->root()[key].string_or({}) : std::string_view();
    if (path.empty()) continue;
    for (PathRules& rules : session_.options_.rules_near(lexical_path(path, paths.start)))
      if (!knows_rules(rules)) session_.late_rules_.push_back(std::move(rules));
  }
}

bool Turn::knows_rules(const PathRules& rules) const {
  for (const PathRules& late : session_.late_rules_)
    if (late.file == rules.file) return true;
  const std::string first = rules.text.substr(0, rules.text.find('\n') + 1);
  for (const agentd_message& row : session_.shared_.conversation().rows())
    for (std::uint32_t i = 0; (row.flags & AGENTD_MESSAGE_CONTEXT) != 0 && i < row.blocks.count; ++i)
      if (view_of(blocks_of(row)[i].text).starts_with(first)) return true;
  return false;
}

Result<void, RunError> Turn::run_call(const Block& use, const Result<ToolInput>& input) {
  Prepared prepared = prepare(use, input);
  RunEvent called{RunEvent::Type::kToolCall};
  called.call_id = prepared.call.call_id;
  called.name = prepared.call.name;
  called.text = use.json;
  session_.tell(called);
  std::uint64_t duration_ns = 0;
  ToolResultRecord result{prepared.call.call_id, prepared.call.name, prepared.denied, prepared.status, {}, 0, 0};
  if (prepared.denied.empty() && session_.shared_.cancel().cancelled()) {
    result.status = "cancelled";
    result.text = "the run was interrupted before this call";
  } else if (session_.stopped_) {
    result.status = "denied";
    result.text = "not run: " + session_.stop_text();
  } else if (prepared.denied.empty() && gate(prepared)) {
    add_intent(prepared);
    if (auto done = session_.commit(); !done) return done.error();
    const std::uint64_t started = parts_.clock.monotonic_ns();
    result = run_tool(prepared);
    duration_ns = parts_.clock.monotonic_ns() - started;
    result.duration_ms = static_cast<std::int64_t>(duration_ns / 1'000'000);
    after_tool(prepared, result, duration_ns, false);
    if (result.status == "ok") note_rules(prepared);
  } else {
    result.status = prepared.status;
    result.text = prepared.denied;
    if (result.status == "denied") after_tool(prepared, result, 0, true);
  }
  session_.add(write_tool_result(result));
  RunEvent told{RunEvent::Type::kToolResult};
  told.call_id = result.call_id;
  told.name = result.name;
  told.text = result.text;
  told.detail = result.status;
  told.ok = result.status == "ok";
  told.duration_us = (duration_ns + 500) / 1000;
  session_.tell(told);
  return {};
}

}  // namespace agentd
