// SPDX-License-Identifier: Apache-2.0
// compact.cc - what is planned, and what hooks say of it.
#include "core/agent/compaction/compact.h"

#include <algorithm>
#include <map>

#include "core/agent/loading.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"

namespace agentd {
namespace {

constexpr std::uint32_t kVetoesMax = 3;
constexpr std::size_t kFillersNamed = 4;

std::string name_of_row(const agentd_message& row) {
  const std::string number = "message " + std::to_string(row.seq);
  for (std::uint32_t i = 0; i < row.blocks.count; ++i)
    if (blocks_of(row)[i].kind == AGENTD_BLOCK_TOOL_RESULT) {
      const std::string_view tool = view_of(blocks_of(row)[i].name);
      return number + (tool.empty() ? " (a tool result)" : " (result of " + std::string(tool) + ")");
    }
  if (row.role == AGENTD_ROLE_SUMMARY) return number + " (the last summary)";
  return number + (row.role == AGENTD_ROLE_USER ? " (user)" : " (model)");
}

}  // namespace

Compaction::Compaction(const SessionParts& session, CompactionRequest request)
    : session_(session), parts_(session.base()), request_(std::move(request)) {
  if (request_.max_summary_tokens == 0)
    request_.max_summary_tokens = static_cast<std::uint32_t>(session_.options.summary_tokens);
}

// ---- planning

Result<void, RunError> Compaction::begin() {
  started_ns_ = parts_.clock.monotonic_ns();
  if (auto done = session_.log.commit_behind(); !done) {
    finish(AGENTD_RESULT_FAILED, done.error().message);
    return done.error();
  }
  const Gauge gauge = session_.context.gauge();
  pre_tokens_ = gauge.used;
  forced_ = gauge.force_at != 0 && gauge.used >= gauge.force_at;
  messages_before_ = session_.conversation().rows().size();
  before_ = session_.conversation().usage();
  plan();
  return {};
}

void Compaction::plan() {
  plan_ = plan_compaction(session_.conversation().rows(), session_.conversation().state().ranges(), request_,
                          session_.context.gauge(), session_.options.budget);
  instructions_ = join(request_.instructions, "\n");
  model_ = session_.agent.summary_model(request_.model, session_.options);
}

CompactionTarget Compaction::target() const {
  return target_of(request_, session_.context.gauge(), session_.options.budget);
}

// True if compacting would save too little: a summary would be requested at every turn. Past the force line even a
// little is worth saving.
bool Compaction::wins_too_little() const {
  const CompactionTarget wanted = target();
  if (plan_.nothing_to_do()) return true;
  if (plan_.expected_tokens <= wanted.tokens) return false;
  const std::uint64_t won = wanted.used - std::min(wanted.used, plan_.expected_tokens);
  return won < (forced_ ? wanted.limit / 50 : wanted.used / 10);
}

std::string Compaction::nothing_text() const {
  if (messages_before_ == 0) return "the conversation is empty";
  return request_.must_succeed() ? "all messages fit into the kept part" : "only the last summary could be summarised";
}

// The largest things of the view, with their tokens.
std::string Compaction::fillers() const {
  const Gauge gauge = session_.context.gauge();
  std::vector<std::pair<std::uint64_t, std::string>> items;
  std::uint64_t tools = 0;
  for (const ToolSpec& tool : session_.context.tool_specs())
    tools += parts_.estimator.count_text(tool.name + tool.description + tool.input_schema_json);
  const std::uint64_t floor = session_.context.floor_tokens();
  items.emplace_back(gauge.scaled(floor - std::min(floor, tools)), "the system prompt");
  if (const std::uint64_t hidden = session_.conversation().hidden_tokens(); hidden != 0)
    items.emplace_back(hidden, "tokens added by the provider");
  if (tools != 0)
    items.emplace_back(gauge.scaled(tools), std::to_string(session_.context.tool_specs().size()) + " tools");
  for (const agentd_message& row : session_.conversation().rows())
    items.emplace_back(gauge.scaled(row.tokens), name_of_row(row));
  const std::size_t named = std::min(kFillersNamed, items.size());
  std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(named), items.end(),
                    [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  for (std::size_t i = 0; i < named; ++i)
    out += (i == 0 ? "" : ", ") + items[i].second + " " + with_commas(items[i].first);
  return out;
}

CompactionReport Compaction::plan_only() {
  const Rows& rows = session_.conversation().rows();
  plan();
  CompactionReport report;
  messages_before_ = rows.size();
  report.outcome = plan_.nothing_to_do() ? AGENTD_RESULT_NOOP : AGENTD_RESULT_APPLIED;
  report.messages_before = rows.size();
  report.messages_after = rows.size() - plan_.split + (plan_.nothing_to_do() ? 0 : 1);
  report.pre_tokens = report.post_tokens = session_.context.gauge().used;
  report.text = "nothing to do: " + nothing_text();
  if (plan_.nothing_to_do()) return report;
  report.post_tokens = plan_.expected_tokens;
  report.text = "would summarise " + std::to_string(plan_.split) + " of " + std::to_string(rows.size()) +
                " messages (" + with_commas(plan_.summarized_tokens) + " tokens, strategy " +
                std::string(strategy_name(plan_.strategy)) + ") and keep " + std::to_string(rows.size() - plan_.split) +
                " (" + with_commas(plan_.kept_tokens) + " tokens)";
  return report;
}

// ---- hooks

agentd_before_compaction Compaction::payload_of(const CompactionPlan& plan) {
  const Gauge gauge = session_.context.gauge();
  gauge_ = to_abi(gauge);
  agentd_before_compaction out{};
  out.size = sizeof out;
  out.trigger = static_cast<std::uint16_t>(request_.trigger);
  out.reason = static_cast<std::uint16_t>(request_.reason);
  out.phase = static_cast<std::uint16_t>(request_.phase);
  out.strategy = static_cast<std::uint16_t>(plan.strategy);
  out.vetoes = session_.conversation().compaction_history().vetoes;
  out.tokens = gauge.used;
  out.limit = gauge.limit;
  out.keep_tokens = plan.kept_tokens;
  out.floor_tokens = gauge.floor;
  out.summarized_first = plan.summarized_first;
  out.summarized_last = plan.summarized_last;
  out.kept_first = plan.kept_first;
  out.kept_last = plan.kept_last;
  return out;
}

// Each event borrows the texts again, since a hook may have changed them.
const agentd_before_compaction& Compaction::lend_payload() {
  payload_.model = to_abi(model_);
  payload_.custom_instructions = to_abi(instructions_);
  payload_.context = &gauge_;
  return payload_;
}

bool Compaction::is_final(const Outcome& outcome) const {
  const auto& names = session_.options.final_hooks;
  return names.count(outcome.blocked_by.hook) != 0 || names.count(outcome.blocked_by.plugin) != 0;
}

// Calls the hooks; true if they block. Values that they set go into the request.
bool Compaction::vetoed() {
  payload_ = payload_of(plan_);
  if (!session_.hooks.wants(AGENTD_EVENT_BEFORE_COMPACTION)) return false;
  agentd_before_compaction bare = lend_payload();
  const Rows pinned = session_.conversation().pin();
  payload_.messages = pinned.list();
  const auto outcome = session_.hooks.fire(AGENTD_EVENT_BEFORE_COMPACTION, &payload_, &bare);
  payload_.messages = {nullptr, 0, sizeof(agentd_message)};
  if (!outcome) return false;
  // Past the force line the third veto in a row is one too many.
  const bool overruled = forced_ && request_.automatic() && request_.phase != AGENTD_PHASE_OVERFLOW &&
                         payload_.vetoes + 1 >= kVetoesMax && !is_final(*outcome);
  if (outcome->blocked && !overruled) {
    author_ = outcome->blocked_by.hook;
    reason_ = outcome->reason;
    return true;
  }
  if (outcome->blocked)
    session_.hooks.warn("the window is nearly full, so the veto of " + outcome->blocked_by.hook +
                        " is ignored (hooks." + outcome->blocked_by.hook + ".authority: final would keep it)");
  take_settings(*outcome);
  return false;
}

void Compaction::take_settings(const Outcome& outcome) {
  for (const Outcome::Attributed& set : outcome.sets) {
    if (set.action.target == AGENTD_KEY_CUSTOM_INSTRUCTIONS) request_.instructions.push_back(set.action.text);
    if (set.action.target == AGENTD_KEY_STRATEGY) request_.strategy = static_cast<std::uint32_t>(set.action.number);
    if (set.action.target == AGENTD_KEY_KEEP_TOKENS) request_.keep_tokens = set.action.number;
    if (set.action.target == AGENTD_KEY_MODEL) request_.model = set.action.text;
  }
  const Action* const action = outcome.exclusive_action();
  if (action == nullptr) return;
  author_ = outcome.exclusive[0].by.hook;
  if (action->kind == AGENTD_ACT_SUMMARY) hook_summary_ = action->text;
  if (action->kind == AGENTD_ACT_REPLACE_MESSAGES) replacement_ = outcome.exclusive;
}

}  // namespace agentd
