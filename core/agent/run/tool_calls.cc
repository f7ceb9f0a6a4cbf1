// SPDX-License-Identifier: Apache-2.0
#include "core/agent/run/tool_calls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/agent/subagent_tool.h"
#include "core/base/bytes.h"
#include "core/base/clock.h"
#include "core/base/paths.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"
#include "core/codec/json.h"
#include "core/tools/missing_tools.h"
#include "core/tools/withheld.h"

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

// True if an entry of the plan that the output told is no longer in it.
bool tells_less(const std::string& before, const std::string& after, const std::vector<PlanEntry>& plan) {
  return std::any_of(plan.begin(), plan.end(), [&](const PlanEntry& entry) {
    return before.find(entry.content) != std::string::npos && after.find(entry.content) == std::string::npos;
  });
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
  unreadable_.clear();
  if (!has_tool_calls(answer)) return;
  part_calls(answer);
  for (Block& block : answer.blocks) {
    if (block.kind != BlockKind::kToolUse) continue;
    const Tool* const tool = session_.context.find_tool(block.name);
    auto input = ToolInput::make(block.json, tool == nullptr ? InputPaths{} : paths_of(session_.options, *tool));
    block.json = input ? input->text() : ToolInput::stand_in(block.json);
    if (!input) unreadable_.push_back(block.call_id);
    inputs_.push_back(std::move(input));
  }
}

// The bytes that the person has seen.
PreparedCall ToolCalls::prepare(const WaitRecord& wait) {
  PreparedCall out;
  auto input = ToolInput::make(wait.input);
  out.call = {wait.call_id, wait.tool, input ? std::move(*input) : ToolInput()};
  const Tool* const tool = session_.context.find_tool(wait.tool);
  out.tool.name = wait.tool;
  if (tool != nullptr) out.tool = *tool;
  if (tool == nullptr)
    out.refuse(ToolStatus::kError, "there is no tool named " + wait.tool + " any more; nothing was run");
  else if (!input)
    out.refuse(ToolStatus::kInvalid, "the input of " + wait.tool + " " + input.error().message);
  else
    gate_.check_schema(out);
  return out;
}

PreparedCall ToolCalls::prepare(const Wish& wish) {
  const auto& [use, input] = wish;
  PreparedCall out;
  out.call = {use.call_id, use.name, input ? *input : ToolInput()};
  const Tool* const tool = session_.context.find_tool(use.name);
  if (tool == nullptr || !offered_.contains(use.name)) {
    out.tool.name = use.name;
    const auto* const source = dynamic_cast<const MissingTools*>(&session_.base().tools);
    std::string why = source == nullptr ? std::string() : source->why_missing(use.name);
    out.refuse(ToolStatus::kError, why.empty() ? "there is no tool named " + use.name : std::move(why));
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

std::vector<ToolCalls::Wish> ToolCalls::wishes_of(const Message& answer) const {
  std::vector<Wish> wishes;
  for (const Block& block : answer.blocks) {
    if (block.kind != BlockKind::kToolUse) continue;
    AGENTD_ASSERT(wishes.size() < inputs_.size());
    wishes.push_back({block, inputs_[wishes.size()]});
  }
  return wishes;
}

Result<CallsEnd, RunError> ToolCalls::run(const Message& answer) {
  const std::vector<Wish> wishes = wishes_of(answer);
  auto ended = run_all(wishes);
  if (ended && *ended == CallsEnd::kDone) add_late();
  return ended;
}

Result<CallsEnd, RunError> ToolCalls::run_all(std::span<const Wish> wishes) {
  const std::size_t most = session_.hooks.sees_calls_apart() ? 1 : kToolsAtOnce;
  for (std::span<const Wish> rest = wishes; !rest.empty();) {
    std::size_t group = 1;
    if (only_reads(rest.front()))
      while (group < std::min(rest.size(), most) && only_reads(rest[group])) ++group;
    auto ended = run_group(rest.first(group));
    if (!ended || *ended == CallsEnd::kWaiting) return ended;
    rest = rest.subspan(group);
  }
  return CallsEnd::kDone;
}

Result<CallsEnd, RunError> ToolCalls::run_group(std::span<const Wish> group) {
  std::vector<Step> steps;
  steps.reserve(group.size());
  for (const Wish& wish : group) {
    Step step = pass_gate(wish);
    if (step.prepared.question) {
      // While somebody thinks, and perhaps for good, nothing is under way.
      if (auto done = run_steps(steps); !done) return done.error();
      steps.clear();
      check_run(step);
      if (step.passed) {
        auto asked = ask(step);
        if (!asked || *asked == CallsEnd::kWaiting) return asked;
        if (step.passed) check_run(step);
      }
    }
    steps.push_back(std::move(step));
  }
  return run_steps(steps);
}

// From the gate to the results.
Result<CallsEnd, RunError> ToolCalls::run_steps(std::span<Step> steps) {
  std::vector<Step*> passed;
  for (Step& step : steps) {
    // Behind the gate of a later one the run may have ended.
    if (step.passed && steps.size() > 1) check_run(step);
    if (!step.passed) continue;
    // A subagent that continues has its intent.
    if (!step.resumes) add_intent(step);
    passed.push_back(&step);
  }
  if (!passed.empty())
    if (auto done = session_.log.commit(); !done) return done.error();
  call_tools(passed);
  note_sandbox(passed);
  for (Step& step : steps) {
    if (!step.child_wait.empty()) {
      auto waits = question_.wait_for_child(step.prepared, step.child, step.child_wait, batch());
      if (!waits) return waits.error();
      waits_for_ = std::move(*waits);
      return CallsEnd::kWaiting;  // a subagent's call is alone
    }
    settle(step);
  }
  return CallsEnd::kDone;
}

Result<CallsEnd, RunError> ToolCalls::ask(Step& step) {
  auto waits = question_.ask(step.prepared, step.direct, batch());
  if (!waits) return waits.error();
  if (!*waits) {
    leave_gate(step);
    return CallsEnd::kDone;
  }
  waits_for_ = std::move(**waits);
  return CallsEnd::kWaiting;
}

// ---- what is said behind the results

std::vector<WaitRecord::Context> ToolCalls::contexts() const {
  std::vector<WaitRecord::Context> out = resumed_contexts_;
  for (const PathRules& rules : late_rules_) out.push_back({{}, rules.file, rules.text});
  for (const Outcome& late : late_contexts_)
    for (const Outcome::Attributed& context : late.contexts)
      if (!is_blank(context.action.text))
        out.push_back({std::string(name_of(MessageSource::kHook)), context.by.hook, context.action.text});
  return out;
}

BatchSoFar ToolCalls::batch() const { return {contexts(), unreadable_}; }

void ToolCalls::add_late() {
  for (const WaitRecord::Context& context : contexts()) session_.messages.add_context(context);
  resumed_contexts_.clear();
  late_rules_.clear();
  late_contexts_.clear();
}

// ---- a call that has waited

Result<CallsEnd, RunError> ToolCalls::resume(const Message& answer, const OpenWait& open, const std::string& changed) {
  inputs_.clear();
  unreadable_ = open.wait.unreadable;
  for (const Block& block : answer.blocks) {
    if (block.kind != BlockKind::kToolUse) continue;
    const bool unreadable = std::find(unreadable_.begin(), unreadable_.end(), block.call_id) != unreadable_.end();
    inputs_.push_back(unreadable ? Error{Code::kInvalid, "is not a valid JSON object"} : ToolInput::make(block.json));
  }
  const std::vector<Wish> wishes = wishes_of(answer);
  std::span<const Wish> behind(wishes);
  while (behind.front().use.call_id != open.wait.call_id) behind = behind.subspan(1);
  Step step{prepare(open.wait)};
  auto ended = resume_step(step, open, changed);
  if (ended && *ended == CallsEnd::kDone) ended = run_all(behind.subspan(1));
  if (ended && *ended == CallsEnd::kDone) add_late();
  return ended;
}

Result<CallsEnd, RunError> ToolCalls::resume_step(Step& step, const OpenWait& open, const std::string& changed) {
  resumed_contexts_ = open.wait.contexts;
  step.result.call_id = open.wait.call_id;
  step.result.name = open.wait.tool;
  if (!open.wait.child_wait.empty())
    step.resumes = WaitingSubagent{open.wait.child_conversation, open.wait.child_wait, changed};
  session_.surface.tell(told::ToolCalled{open.wait.call_id, open.wait.tool, open.wait.input});
  step.passed = true;
  check_run(step);
  if (step.passed && !step.resumes) judge_answer(step, open, changed);
  if (step.passed && step.prepared.question) {
    auto asked = ask(step);
    if (!asked || *asked == CallsEnd::kWaiting) return asked;
  } else if (step.passed) {
    leave_gate(step);
  }
  if (step.passed) check_run(step);
  return run_steps({&step, 1});
}

// The person's answer is about these bytes, this tool and these hooks: with another one among them it is asked anew.
void ToolCalls::judge_answer(Step& step, const OpenWait& open, const std::string& changed) {
  PreparedCall& prepared = step.prepared;
  // Its time is over: who goes on has made sure of that.
  if (!open.answer) {
    const std::string reason = "there was no answer until " + iso_time(open.wait.until_ms);
    session_.log.add(
        write_answer({open.wait.id, std::string(name_of(WaitDecision::kExpired)), "clock", "run", reason}));
    return gate_.take_answer(prepared, {false, false, reason}, "clock");
  }
  if (!open.answer->allows()) return gate_.take_answer(prepared, {false, false, open.answer->reason}, open.answer->by);
  if (prepared.refusal) return;
  const std::string why = changed.empty() ? question_.changed_since(open.wait) : changed;
  if (!why.empty())
    session_.surface.tell(told::Notice{
        "the answer to " + open.wait.id + " does not count, since " + why + ": the question is asked again", {}});
  else
    gate_.take_answer(prepared, {true, false, {}}, open.answer->by);
  if (const auto outcome = why.empty() ? gate_.judge_again(prepared) : gate_.judge(prepared, true))
    late_contexts_.push_back(*outcome);
}

// ---- a call without a model

Result<DirectReport, RunError> ToolCalls::run_direct(const DirectCall& call) {
  Block use;
  use.kind = BlockKind::kToolUse;
  use.call_id = session_.base().ids.next().text();
  use.name = call.tool;
  const Tool* const tool = session_.context.find_tool(call.tool);
  const Result<ToolInput> input =
      ToolInput::make(call.input_json, tool == nullptr ? InputPaths{} : paths_of(session_.options, *tool));
  use.json = input ? input->text() : ToolInput::stand_in(call.input_json);
  Step step = pass_gate({use, input});
  step.direct = true;
  if (!step.prepared.question) {
    auto ended = run_steps({&step, 1});
    if (!ended) return ended.error();
  } else {
    auto ended = ask(step);
    if (ended && *ended == CallsEnd::kDone) ended = run_steps({&step, 1});
    if (!ended) return ended.error();
    if (*ended == CallsEnd::kWaiting) return report_of(step, *ended);
  }
  add_late();
  return report_of(step, CallsEnd::kDone);
}

Result<DirectReport, RunError> ToolCalls::resume_direct(const OpenWait& open, const std::string& changed) {
  Step step{prepare(open.wait)};
  step.direct = true;
  auto ended = resume_step(step, open, changed);
  if (!ended) return ended.error();
  if (*ended == CallsEnd::kDone) add_late();
  return report_of(step, *ended);
}

DirectReport ToolCalls::report_of(const Step& step, CallsEnd end) const {
  DirectReport out{step.prepared.call.call_id, step.status, step.result.text, step.result.parts, {}};
  if (end == CallsEnd::kWaiting) out.waits_for = waits_for_;
  return out;
}

// ---- the gate

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
  leave_gate(step);
  return step;
}

void ToolCalls::leave_gate(Step& step) {
  const auto& refusal = step.prepared.refusal;
  if (!refusal) return;
  step.end(refusal->status, refusal->reason);
  // Observers alone hear of a tool that did not run.
  step.heard = step.status == ToolStatus::kDenied;
}

void ToolCalls::check_run(Step& step) const {
  if (!step.prepared.refusal && session_.shared.cancel().cancelled())
    step.end(ToolStatus::kCancelled, "the run was interrupted before this call");
  else if (session_.hooks.stopped())
    step.end(ToolStatus::kDenied, "not run: " + session_.hooks.stop_text());
}

void ToolCalls::add_intent(const Step& step) {
  const PreparedCall& prepared = step.prepared;
  ToolIntentRecord intent;
  intent.call_id = prepared.call.call_id;
  intent.name = prepared.call.name;
  intent.input_digest = hex(sha256(prepared.call.input.text()));
  intent.effects = std::string(effects_of(prepared.tool));
  intent.direct = step.direct;
  session_.log.add(write_tool_intent(intent));
}

// For whoever reads the log: the model has it in the output.
void ToolCalls::note_sandbox(std::span<Step* const> passed) {
  const auto& take = session_.base().take_sandbox_refusals;
  if (!take) return;
  const Secrets* const secrets = session_.base().secrets;
  const bool one = passed.size() == 1;
  for (std::string& each : take()) {
    PermissionRecord record;
    record.call_id = one ? passed[0]->prepared.call.call_id : std::string();
    record.tool = one ? passed[0]->prepared.tool.name : std::string();
    record.decision = std::string(name_of(PermissionDecision::kDeny));
    record.by = "sandbox";
    record.reason = secrets == nullptr ? std::move(each) : secrets->pass(std::move(each)).text;
    session_.log.add(write_permission(record));
  }
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

// True for tools that show files that their input does not name.
bool ToolCalls::shows_files(const Tool& tool) { return tool.name == "grep" || tool.name == "glob"; }

void ToolCalls::call_step(Step& step) {
  const Clock& clock = session_.base().clock;
  const std::uint64_t started = clock.monotonic_ns();
  if (session_.shared.cancel().cancelled()) {
    step.status = ToolStatus::kCancelled;
    step.result.text = "the run was interrupted before this call";
  } else if (std::string why = thrown_by([&] { step.status = call_tool(step); }); !why.empty()) {
    step.status = ToolStatus::kError;
    step.result.text = std::move(why);
  }
  pass_border(step);
  step.took_ns = clock.monotonic_ns() - started;
  step.result.duration_ms = static_cast<std::int64_t>(step.took_ns / 1'000'000);
  step.heard = true;
}

ToolStatus ToolCalls::call_tool(Step& step) {
  const PreparedCall& prepared = step.prepared;
  ToolResultRecord& result = step.result;
  const AgentParts& base = session_.base();
  SessionContext context = session_.context_of_calls();
  const PathPlace place{context.start(), session_.options.home, session_.options.tools_roots};
  std::optional<RuleWithholds> withheld;
  if (shows_files(prepared.tool)) withheld.emplace(base.permissions, prepared.tool.name, place);
  if (withheld && !withheld->empty()) context.withheld = &*withheld;
  auto outcome = is_subagent_tool(prepared.tool) ? call_subagent(step)
                                                 : base.tools.call(context, prepared.call, session_.shared.cancel(),
                                                                   Deadline::after(base.clock, prepared.tool.timeout));
  if (!outcome) {
    result.text = outcome.error().message;
    return status_of_failed(outcome.error().code);
  }
  result.full_bytes = std::max<std::uint64_t>(outcome->full_bytes, outcome->content.size());
  result.text = to_utf8(outcome->content);
  result.parts = std::move(outcome->parts);
  // A server of strangers has no plan of this session.
  if (!prepared.tool.origin.starts_with("mcp:")) step.plan = plan_in(outcome->structured_json);
  return outcome->success ? ToolStatus::kOk : ToolStatus::kError;
}

// Nothing behind it sees a secret that the tool has put out. It is looked at before a part is cut off: half
// a secret is not known as one.
void ToolCalls::pass_border(Step& step) const {
  ToolResultRecord& result = step.result;
  if (const Secrets* const secrets = session_.base().secrets; secrets != nullptr) {
    const bool whole = result.full_bytes == result.text.size();
    const auto clean = [&](std::string& text) {
      auto passed = secrets->pass(std::move(text));
      text = std::move(passed.text);
      for (const auto& [rule, count] : passed.counts) result.scrubbed[rule] += count;
    };
    clean(result.text);
    for (Block& part : result.parts) clean(part.text);
    if (step.plan)
      for (PlanEntry& entry : *step.plan) clean(entry.content);
    if (whole) result.full_bytes = result.text.size();
  }
  result.text = capped(std::move(result.text));
}

Result<ToolOutcome> ToolCalls::call_subagent(Step& step) {
  AGENTD_TRY(SubagentEnd ended, step.resumes ? resume_subagent(session_, children_, *step.resumes)
                                             : run_subagent(session_, children_, step.prepared.call));
  step.child = std::move(ended.conversation);
  step.child_wait = std::move(ended.waits_for);
  return std::move(ended.outcome);
}

void ToolCalls::settle(Step& step) {
  if (step.heard) after_tool(step);
  if (step.passed && step.status == ToolStatus::kOk) note_rules(step.prepared);
  step.result.status = std::string(name_of(step.status));
  tell_scrubbed(step);
  session_.log.add(step.direct ? write_direct_result(step.result) : write_tool_result(step.result));
  session_.surface.tell(told::ToolEnded{step.result.call_id, step.result.name, step.status, step.result.text,
                                        (step.took_ns + 500) / 1000});
  if (step.plan && step.status == ToolStatus::kOk) session_.surface.tell(told::PlanChanged{*step.plan});
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
  payload.secrets = session_.base().secrets;
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
    for (const auto& [rule, count] : payload.scrubbed) result.scrubbed[rule] += count;
    session_.hooks.record_effect(event, outcome->rewrites.back().by, HookEffect::kRewrite, result.text, payload.text,
                                 {});
    if (step.plan && tells_less(result.text, payload.text, *step.plan)) step.plan.reset();
    result.text = payload.text;
    result.full_bytes = result.text.size();
    if (outcome->withheld) {
      result.parts.clear();
      step.plan.reset();
    }
  }
  late_contexts_.push_back(*outcome);
}

// How many and of what kinds, and nothing of them.
void ToolCalls::tell_scrubbed(const Step& step) const {
  if (!step.result.scrubbed.empty())
    session_.surface.tell(told::Notice{told_of(step.result.scrubbed) + " in the output of " + step.result.name, {}});
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
  for (const WaitRecord::Context& context : resumed_contexts_)
    if (context.source.empty() && context.author == rules.file) return true;
  const std::string first = rules.text.substr(0, rules.text.find('\n') + 1);
  for (const agentd_message& row : session_.conversation().rows())
    for (std::uint32_t i = 0; (row.flags & AGENTD_MESSAGE_CONTEXT) != 0 && i < row.blocks.count; ++i)
      if (view_of(blocks_of(row)[i].text).starts_with(first)) return true;
  return false;
}

}  // namespace agentd
