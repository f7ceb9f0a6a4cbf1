// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/tool_calls.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/agent/subagent_tool.h"
#include "core/base/bytes.h"
#include "core/base/paths.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::size_t kOutputBytesMax = 256 * 1024;
constexpr std::size_t kToolsAtOnce = 8;

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

PreparedCall ToolCalls::prepare(const Wish& wish) {
  const auto& [use, input] = wish;
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

void ToolCalls::Step::end(ToolStatus as, std::string text) {
  status = as;
  result.text = std::move(text);
  passed = false;
}

bool ToolCalls::only_reads(const Wish& wish) const {
  const Tool* const tool = session_.context.find_tool(wish.use.name);
  return tool != nullptr && tool->read_only() && !is_subagent_tool(*tool);
}

Result<void, RunError> ToolCalls::run(const Message& answer) {
  std::vector<Wish> wishes;
  for (const Block& block : answer.blocks) {
    if (block.kind != BlockKind::kToolUse) continue;
    AGENTD_ASSERT(wishes.size() < inputs_.size());
    wishes.push_back({block, inputs_[wishes.size()]});
  }
  const std::size_t most = session_.hooks.sees_calls_apart() ? 1 : kToolsAtOnce;
  for (std::span<const Wish> rest(wishes); !rest.empty();) {
    std::size_t group = 1;
    if (only_reads(rest.front()))
      while (group < std::min(rest.size(), most) && only_reads(rest[group])) ++group;
    if (auto done = run_group(rest.first(group)); !done) return done.error();
    rest = rest.subspan(group);
  }
  for (const PathRules& rules : std::exchange(late_rules_, {})) {
    Message message = Message::of_text(Role::kUser, rules.text);
    message.flags = AGENTD_MESSAGE_CONTEXT;
    session_.log.add(write_message({message, StopReason::kEndTurn, {}, rules.file}));
  }
  for (const Outcome& late : std::exchange(late_contexts_, {})) session_.messages.add_contexts(late);
  return {};
}

Result<void, RunError> ToolCalls::run_group(std::span<const Wish> group) {
  std::vector<Step> steps;
  steps.reserve(group.size());
  for (const Wish& wish : group) steps.push_back(pass_gate(wish));
  std::vector<Step*> passed;
  for (Step& step : steps) {
    // Behind the gate of a later one the run may have ended.
    if (step.passed && steps.size() > 1) check_run(step);
    if (!step.passed) continue;
    add_intent(step.prepared);
    passed.push_back(&step);
  }
  if (!passed.empty())
    if (auto done = session_.log.commit(); !done) return done.error();
  call_tools(passed);
  for (Step& step : steps) settle(step);
  return {};
}

ToolCalls::Step ToolCalls::pass_gate(const Wish& wish) {
  Step step{prepare(wish)};
  PreparedCall& prepared = step.prepared;
  step.result.call_id = prepared.call.call_id;
  step.result.name = prepared.call.name;
  session_.surface.tell(told::ToolCalled{prepared.call.call_id, prepared.call.name, wish.use.json});
  step.passed = true;
  check_run(step);
  if (!step.passed) return step;
  if (!prepared.refusal)
    if (const auto outcome = gate_.judge(prepared)) late_contexts_.push_back(*outcome);
  if (!prepared.refusal) return step;
  step.end(prepared.refusal->status, prepared.refusal->reason);
  // Observers alone hear of a tool that did not run.
  step.heard = step.status == ToolStatus::kDenied;
  return step;
}

void ToolCalls::check_run(Step& step) const {
  if (!step.prepared.refusal && session_.shared.cancel().cancelled())
    step.end(ToolStatus::kCancelled, "the run was interrupted before this call");
  else if (session_.hooks.stopped())
    step.end(ToolStatus::kDenied, "not run: " + session_.hooks.stop_text());
}

void ToolCalls::add_intent(const PreparedCall& prepared) {
  ToolIntentRecord intent;
  intent.call_id = prepared.call.call_id;
  intent.name = prepared.call.name;
  intent.input_digest = hex(sha256(prepared.call.input.text()));
  intent.effects = std::string(effects_of(prepared.tool));
  session_.log.add(write_tool_intent(intent));
}

// A plugin that takes one call at a time gets them one after the other, so that none waits within its own time.
void ToolCalls::call_tools(std::span<Step* const> passed) {
  std::vector<std::vector<Step*>> lines;
  std::map<std::string, std::size_t> of_plugins;
  for (Step* const step : passed) {
    const std::string& plugin = step->prepared.tool.serial_plugin;
    const auto line = plugin.empty() ? of_plugins.end() : of_plugins.find(plugin);
    if (line != of_plugins.end()) {
      lines[line->second].push_back(step);
      continue;
    }
    if (!plugin.empty()) of_plugins.emplace(plugin, lines.size());
    lines.push_back({step});
  }
  if (lines.empty()) return;
  call_together(lines.size(), lines.size() - 1, [&](std::size_t i) {
    for (Step* const step : lines[i]) call_step(*step);
  });
}

void ToolCalls::call_step(Step& step) {
  const Clock& clock = session_.base().clock;
  const std::uint64_t started = clock.monotonic_ns();
  if (session_.shared.cancel().cancelled()) {
    step.status = ToolStatus::kCancelled;
    step.result.text = "the run was interrupted before this call";
  } else if (std::string why = thrown_by([&] { step.status = call_tool(step.prepared, step.result); }); !why.empty()) {
    step.status = ToolStatus::kError;
    step.result.text = std::move(why);
  }
  step.took_ns = clock.monotonic_ns() - started;
  step.result.duration_ms = static_cast<std::int64_t>(step.took_ns / 1'000'000);
  step.heard = true;
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

void ToolCalls::settle(Step& step) {
  if (step.heard) after_tool(step);
  if (step.passed && step.status == ToolStatus::kOk) note_rules(step.prepared);
  step.result.status = std::string(name_of(step.status));
  session_.log.add(write_tool_result(step.result));
  session_.surface.tell(told::ToolEnded{step.result.call_id, step.result.name, step.status, step.result.text,
                                        (step.took_ns + 500) / 1000});
}

// Observers alone hear of a tool that did not run.
void ToolCalls::after_tool(Step& step) {
  const PreparedCall& prepared = step.prepared;
  ToolResultRecord& result = step.result;
  const bool ok = step.status == ToolStatus::kOk, denied = !step.passed;
  const std::uint32_t event = ok ? AGENTD_EVENT_AFTER_TOOL_CALL : AGENTD_EVENT_TOOL_CALL_FAILED;
  if (!session_.hooks.wants(event)) return;
  CallPayload payload(prepared.call, prepared.tool);
  payload.text = result.text;
  payload.result.size = sizeof payload.result;
  payload.result.success = ok ? 1 : 0;
  payload.result.content = to_abi(payload.text);
  if (!ok) payload.result.error = to_abi(result.text);
  payload.result.full_len = result.full_bytes;
  payload.result.duration_ns = step.took_ns;
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
