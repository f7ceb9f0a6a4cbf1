// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/tool_calls.h"

#include <algorithm>
#include <utility>

#include "core/agent/subagent_tool.h"
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

ToolStatus status_of_failed(Code code) {
  if (code == Code::kCancelled) return ToolStatus::kCancelled;
  return code == Code::kDenied ? ToolStatus::kDenied : ToolStatus::kError;
}

}  // namespace

bool has_tool_calls(const Message& message) {
  return std::any_of(message.blocks.begin(), message.blocks.end(),
                     [](const Block& block) { return block.kind == BlockKind::kToolUse; });
}

// ---- what the model asks for

void ToolCalls::offer(const std::vector<ToolSpec>& tools) {
  offered_.clear();
  for (const ToolSpec& tool : tools) offered_.insert(tool.name);
}

void ToolCalls::part_calls(Message& answer) const {
  std::set<std::string> taken, wanted;
  for (const agentd_message& row : session_.conversation().rows())
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

void ToolCalls::take(Message& answer) {
  inputs_.clear();
  if (!has_tool_calls(answer)) return;
  part_calls(answer);
  for (Block& block : answer.blocks) {
    if (block.kind != BlockKind::kToolUse) continue;
    const Tool* const tool = session_.context.find_tool(block.name);
    auto input = ToolInput::make(block.json, tool == nullptr ? InputPaths{} : paths_of(session_.options, *tool));
    block.json = input ? input->text() : ToolInput::stand_in(block.json);
    inputs_.push_back(std::move(input));
  }
}

PreparedCall ToolCalls::prepare(const Block& use, const Result<ToolInput>& input) {
  PreparedCall out;
  out.call = {use.call_id, use.name, input ? *input : ToolInput()};
  const Tool* const tool = session_.context.find_tool(use.name);
  if (tool == nullptr || !offered_.contains(use.name)) {
    out.tool.name = use.name;
    out.refuse(ToolStatus::kError, "there is no tool named " + use.name);
    return out;
  }
  out.tool = *tool;
  if (input) {
    gate_.check_schema(out);
    return out;
  }
  out.refuse(ToolStatus::kInvalid, "the input of " + use.name + " " + input.error().message +
                                       "; nothing was run: call it again with one JSON object");
  session_.base().log.write(LogLevel::kWarning, "tools", out.refusal->reason);
  return out;
}

// ---- the calls

Result<void, RunError> ToolCalls::run(const Message& answer) {
  auto input = inputs_.begin();
  for (const Block& block : answer.blocks) {
    if (block.kind != BlockKind::kToolUse) continue;
    AGENTD_ASSERT(input != inputs_.end());
    if (auto done = run_one(block, *input++); !done) return done.error();
  }
  for (const PathRules& rules : std::exchange(late_rules_, {})) {
    Message message = Message::of_text(Role::kUser, rules.text);
    message.flags = AGENTD_MESSAGE_CONTEXT;
    session_.log.add(write_message({message, StopReason::kEndTurn, {}, rules.file}));
  }
  for (const Outcome& late : std::exchange(late_contexts_, {})) session_.messages.add_contexts(late);
  return {};
}

Result<void, RunError> ToolCalls::run_one(const Block& use, const Result<ToolInput>& input) {
  PreparedCall prepared = prepare(use, input);
  session_.surface.tell(told::ToolCalled{prepared.call.call_id, prepared.call.name, use.json});
  ToolResultRecord result;
  result.call_id = prepared.call.call_id;
  result.name = prepared.call.name;
  ToolStatus status = ToolStatus::kOk;
  std::uint64_t took_ns = 0;
  if (!prepared.refusal && session_.shared.cancel().cancelled()) {
    status = ToolStatus::kCancelled;
    result.text = "the run was interrupted before this call";
  } else if (session_.hooks.stopped()) {
    status = ToolStatus::kDenied;
    result.text = "not run: " + session_.hooks.stop_text();
  } else {
    auto ran = run_judged(prepared, result, took_ns);
    if (!ran) return ran.error();
    status = *ran;
  }
  result.status = std::string(name_of(status));
  session_.log.add(write_tool_result(result));
  session_.surface.tell(told::ToolEnded{result.call_id, result.name, status, result.text, (took_ns + 500) / 1000});
  return {};
}

// Past the gate, or what speaks against it.
Result<ToolStatus, RunError> ToolCalls::run_judged(PreparedCall& prepared, ToolResultRecord& result,
                                                   std::uint64_t& took_ns) {
  if (!prepared.refusal)
    if (const auto outcome = gate_.judge(prepared)) late_contexts_.push_back(*outcome);
  if (prepared.refusal) {
    result.text = prepared.refusal->reason;
    // Observers alone hear of a tool that did not run.
    if (prepared.refusal->status == ToolStatus::kDenied) after_tool(prepared, ToolStatus::kDenied, result, 0, true);
    return prepared.refusal->status;
  }
  add_intent(prepared);
  if (auto done = session_.log.commit(); !done) return done.error();
  const Clock& clock = session_.base().clock;
  const std::uint64_t started = clock.monotonic_ns();
  const ToolStatus status = call_tool(prepared, result);
  took_ns = clock.monotonic_ns() - started;
  result.duration_ms = static_cast<std::int64_t>(took_ns / 1'000'000);
  after_tool(prepared, status, result, took_ns, false);
  if (status == ToolStatus::kOk) note_rules(prepared);
  return status;
}

void ToolCalls::add_intent(const PreparedCall& prepared) {
  ToolIntentRecord intent;
  intent.call_id = prepared.call.call_id;
  intent.name = prepared.call.name;
  intent.input_digest = hex(sha256(prepared.call.input.text()));
  intent.effects = std::string(effects_of(prepared.tool));
  session_.log.add(write_tool_intent(intent));
}

ToolStatus ToolCalls::call_tool(const PreparedCall& prepared, ToolResultRecord& result) {
  const AgentParts& base = session_.base();
  auto outcome = is_subagent_tool(prepared.tool)
                     ? run_subagent(session_, children_, prepared.call)
                     : base.tools.call(session_.context_of_calls(), prepared.call, session_.shared.cancel(),
                                       Deadline::after(base.clock, prepared.tool.timeout));
  if (!outcome) {
    result.text = outcome.error().message;
    return status_of_failed(outcome.error().code);
  }
  result.full_bytes = std::max<std::uint64_t>(outcome->full_bytes, outcome->content.size());
  result.text = capped(to_utf8(outcome->content));
  result.parts = std::move(outcome->parts);
  return outcome->success ? ToolStatus::kOk : ToolStatus::kError;
}

// `denied`: the tool did not run, and observers alone hear of it.
void ToolCalls::after_tool(const PreparedCall& prepared, ToolStatus status, ToolResultRecord& result,
                           std::uint64_t duration_ns, bool denied) {
  const bool ok = status == ToolStatus::kOk;
  const std::uint32_t event = ok ? AGENTD_EVENT_AFTER_TOOL_CALL : AGENTD_EVENT_TOOL_CALL_FAILED;
  if (!session_.hooks.wants(event)) return;
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
  Fired fired = payload.fired_output(event);
  if (denied) fired.only = kHearsDenials;
  const auto outcome = session_.hooks.fire(fired);
  if (!outcome) return;
  if (!outcome->rewrites.empty()) {
    session_.hooks.record_effect(event, outcome->rewrites.back().by, HookEffect::kRewrite, result.text, payload.text,
                                 {});
    result.text = payload.text;
    result.full_bytes = result.text.size();
    if (outcome->withheld) result.parts.clear();
  }
  late_contexts_.push_back(*outcome);
}

// ---- rules of what a call has touched

// Unless the view has them.
void ToolCalls::note_rules(const PreparedCall& prepared) {
  const AgentOptions& options = session_.options;
  if (!options.rules_near || prepared.tool.path_keys.empty()) return;
  const auto input = JsonDocument::parse(prepared.call.input.text());
  const InputPaths paths = paths_of(options, prepared.tool);
  for (const std::string& key : prepared.tool.path_keys) {
    const std::string_view path = input ? input->root()[key].string_or({}) : std::string_view();
    if (path.empty()) continue;
    for (PathRules& rules : options.rules_near(lexical_path(path, paths.start)))
      if (!knows_rules(rules)) late_rules_.push_back(std::move(rules));
  }
}

bool ToolCalls::knows_rules(const PathRules& rules) const {
  for (const PathRules& late : late_rules_)
    if (late.file == rules.file) return true;
  const std::string first = rules.text.substr(0, rules.text.find('\n') + 1);
  for (const agentd_message& row : session_.conversation().rows())
    for (std::uint32_t i = 0; (row.flags & AGENTD_MESSAGE_CONTEXT) != 0 && i < row.blocks.count; ++i)
      if (view_of(blocks_of(row)[i].text).starts_with(first)) return true;
  return false;
}

}  // namespace agentd
