// SPDX-License-Identifier: Apache-2.0
// compact.cc - one attempt to compact: ask hooks, summarise, commit the boundary, tell.
//
// Order: before_compaction - status compacting - summary - boundary (durable) - after_compaction -
// session_start{compact}. The view changes only after the boundary is committed.
#include "core/agent/services.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

constexpr std::uint32_t kVetoesMax = 3;

// The compact_boundary message, in the shape that the Claude Agent SDK documents.
std::string boundary_json(const BoundaryRecord& boundary, std::uint64_t seq) {
  JsonWriter out;
  out.begin_object().member("type", "system").member("subtype", "compact_boundary");
  out.key("compact_metadata").begin_object();
  out.member("trigger", boundary.trigger).member("pre_tokens", boundary.pre_tokens);
  out.member("post_tokens", boundary.post_tokens).member("duration_ms", boundary.duration_ms);
  out.member("method", boundary.method).member("reason", boundary.reason);
  out.member("seq", seq);
  out.key("preserved_messages").begin_object().key("ranges").begin_array();
  for (const SeqRange& range : boundary.kept)
    out.begin_array().number(range.first).number(range.last).end_array();
  out.end_array().end_object().end_object();
  out.member("uuid", boundary.id).member("session_id", boundary.session_id).end_object();
  return std::string(out.text());
}

}  // namespace

BoundaryRecord Compaction::boundary_of(const CompactionPlan& plan) const {
  BoundaryRecord out;
  out.id = parts_.ids.next().text();
  out.session_id = session_.session_id_;
  out.trigger = trigger_name(request_.trigger);
  out.reason = reason_name(request_.reason);
  out.phase = phase_name(request_.phase);
  out.strategy = strategy_name(plan.strategy);
  out.result = result_name(AGENTD_RESULT_APPLIED);
  out.instructions = instructions_;
  out.author = author_;
  out.base_seq = session_.conversation_->revision();
  out.kept = plan.kept;
  // What was shortened stays so; prunes of rows that are no longer shown are harmless.
  out.prunes = session_.conversation_->state().prunes();
  out.pre_tokens = pre_tokens_;
  return out;
}

agentd_before_compaction Compaction::payload_of(const CompactionPlan& plan) {
  const Gauge gauge = session_.gauge();
  gauge_ = to_abi(gauge);
  agentd_before_compaction out{};
  out.size = sizeof out;
  out.trigger = static_cast<std::uint16_t>(request_.trigger);
  out.reason = static_cast<std::uint16_t>(request_.reason);
  out.phase = static_cast<std::uint16_t>(request_.phase);
  out.strategy = static_cast<std::uint16_t>(plan.strategy);
  out.vetoes = session_.vetoes_;
  out.tokens = gauge.used;
  out.limit = gauge.limit;
  out.keep_tokens = plan.kept_tokens;
  out.floor_tokens = gauge.floor;
  out.summarized_first = plan.summarized_first;
  out.summarized_last = plan.summarized_last;
  out.kept_first = plan.kept_first;
  out.kept_last = plan.kept_last;
  out.model = to_abi(request_.model);
  out.custom_instructions = to_abi(instructions_);
  out.context = &gauge_;
  return out;
}

// Asks the hooks; true when they refuse. What they set goes into the request.
bool Compaction::vetoed(const CompactionPlan& plan) {
  payload_ = payload_of(plan);
  if (!session_.wants(AGENTD_EVENT_BEFORE_COMPACTION)) return false;
  agentd_before_compaction bare = payload_;
  const Rows pinned = session_.conversation_->pin();
  payload_.messages = pinned.list();
  const auto outcome = session_.fire(AGENTD_EVENT_BEFORE_COMPACTION, &payload_, &bare);
  payload_.messages = {nullptr, 0, sizeof(agentd_message)};
  if (!outcome) return false;
  const Gauge gauge = session_.gauge();
  // Past the force line the third veto in a row is one too many.
  const bool forced = request_.automatic() && request_.phase != AGENTD_PHASE_OVERFLOW &&
                      gauge.force_at != 0 && gauge.used >= gauge.force_at &&
                      session_.vetoes_ + 1 >= kVetoesMax;
  if (outcome->blocked && !forced) {
    author_ = outcome->blocked_by.hook;
    hook_summary_ = outcome->reason;
    return true;
  }
  take_settings(*outcome);
  return false;
}

void Compaction::take_settings(const Outcome& outcome) {
  for (const Outcome::Attributed& set : outcome.sets) {
    if (set.action.target == AGENTD_KEY_CUSTOM_INSTRUCTIONS)
      request_.instructions.push_back(set.action.text);
    if (set.action.target == AGENTD_KEY_STRATEGY)
      request_.strategy = static_cast<std::uint32_t>(set.action.number);
    if (set.action.target == AGENTD_KEY_KEEP_TOKENS) request_.keep_tokens = set.action.number;
    if (set.action.target == AGENTD_KEY_MODEL) request_.model = set.action.text;
  }
  const Action* const action = outcome.exclusive_action();
  if (action == nullptr) return;
  author_ = outcome.exclusive[0].by.hook;
  if (action->kind == AGENTD_ACT_SUMMARY) hook_summary_ = action->text;
  if (action->kind == AGENTD_ACT_REPLACE_MESSAGES) replacement_ = outcome.exclusive;
}

CompactionReport Compaction::plan_only() {
  const Gauge gauge = session_.gauge();
  const Rows& rows = session_.conversation_->rows();
  plan_ = plan_compaction(rows, session_.conversation_->state().ranges(), request_, gauge,
                          session_.options_.budget);
  CompactionReport report;
  report.outcome = AGENTD_RESULT_NOOP;
  report.messages_before = rows.size();
  report.messages_after = rows.size() - plan_.split + (plan_.nothing_to_do() ? 0 : 1);
  report.pre_tokens = gauge.used;
  report.text = "would summarise " + std::to_string(plan_.split) + " of " + std::to_string(rows.size()) +
                " messages (" + with_commas(plan_.summarized_tokens) + " tokens, strategy " +
                std::string(strategy_name(plan_.strategy)) + ") and keep " +
                std::to_string(rows.size() - plan_.split) + " (" + with_commas(plan_.kept_tokens) +
                " tokens)";
  return report;
}

Result<CompactionReport, RunError> Compaction::attempt() {
  started_ns_ = parts_.clock.monotonic_ns();
  if (auto done = session_.commit(); !done) return done.error();
  const Rows& rows = session_.conversation_->rows();
  pre_tokens_ = session_.gauge().used;
  before_ = session_.conversation_->usage();
  const auto plan = [&] {
    plan_ = plan_compaction(rows, session_.conversation_->state().ranges(), request_, session_.gauge(),
                            session_.options_.budget);
  };
  plan();
  if (plan_.nothing_to_do()) {
    session_.failed_at_ = pre_tokens_;
    return finish(AGENTD_RESULT_NOOP, rows.empty() ? "the conversation is empty"
                                                   : "everything fits into what is kept");
  }
  instructions_ = request_.instructions.empty() ? "" : request_.instructions[0];
  if (vetoed(plan_)) {
    session_.vetoed_at_ = pre_tokens_;
    ++session_.vetoes_;
    return finish(AGENTD_RESULT_VETOED,
                  author_ + (hook_summary_.empty() ? std::string() : ": " + hook_summary_));
  }
  session_.vetoes_ = 0;
  plan();
  // Hooks may have changed model, strategy and instructions: the record borrows their texts.
  payload_ = payload_of(plan_);
  RunEvent told{RunEvent::Type::kStatus};
  told.text = "compacting";
  session_.tell(told);
  if (!replacement_.empty()) {
    auto placed = put_in_place(replacement_[0], session_.conversation_->revision());
    if (!placed) return placed.error();
    if (*placed) return **placed;
    RunEvent refused{RunEvent::Type::kHookFailure};
    refused.name = author_;
    refused.detail = "before_compaction";
    refused.text = placed->error().message;
    session_.tell(refused);
    author_.clear();
  }
  auto summary = summarise(plan_);
  if (summary) return apply_summary(plan_, std::move(*summary));
  const bool cancelled = summary.error().code == Code::kCancelled;
  if (request_.automatic() && request_.reason != AGENTD_REASON_HOOK && !cancelled)
    return degrade(plan_, summary.error());
  return finish(AGENTD_RESULT_FAILED, summary.error().message);
}

Result<Compaction::Summary> Compaction::summarise(const CompactionPlan& plan) {
  if (!is_blank(hook_summary_)) return Summary{hook_summary_, {}, AGENTD_METHOD_HOOK};
  const Rows& rows = session_.conversation_->rows();
  const SummaryRequest ask{session_.conversation_id(),
                           session_.services_.summary_model(request_.model), request_.instructions,
                           {rows.begin(), plan.split}, request_.max_summary_tokens};
  auto summary = ask_summary(parts_, ask, session_.cancel_, spent_);
  session_.charge(spent_, "summary");
  if (!summary) return summary.error();
  return Summary{std::move(*summary), spent_, AGENTD_METHOD_SUMMARY};
}

Result<CompactionReport, RunError> Compaction::apply_summary(const CompactionPlan& plan,
                                                             Summary summary) {
  BoundaryRecord boundary = boundary_of(plan);
  boundary.method = method_name(summary.method);
  boundary.model = summary.method == AGENTD_METHOD_HOOK
                       ? std::string()
                       : session_.services_.summary_model(request_.model);
  const std::string rendered = render_summary(summary.text);
  session_.add(write_message(
      {Message::of_text(Role::kSummary, rendered), StopReason::kEndTurn, {}, author_}));
  boundary.summary_seq = session_.next_seq() - 1;
  return commit_boundary(std::move(boundary), 0, summary.text);
}

// No summary could be had, and the next request must fit: what is cut is marked, and the log keeps it.
Result<CompactionReport, RunError> Compaction::degrade(const CompactionPlan& plan, const Error& why) {
  session_.warn("no summary could be made (" + why.message +
                "); older messages are left out of the view, the log keeps them");
  const Truncation cut = plan_truncation(session_.conversation_->rows(),
                                         session_.conversation_->state().ranges(), plan);
  BoundaryRecord boundary = boundary_of(plan);
  boundary.method = method_name(AGENTD_METHOD_TRUNCATE);
  boundary.result = result_name(AGENTD_RESULT_DEGRADED);
  boundary.kept = cut.kept;
  session_.add(write_message(
      {Message::of_text(Role::kSummary, cut.marker), StopReason::kEndTurn, {}, "truncation"}));
  boundary.summary_seq = session_.next_seq() - 1;
  return commit_boundary(std::move(boundary), 0, cut.marker);
}

Result<CompactionReport, RunError> Compaction::commit_boundary(BoundaryRecord boundary, std::uint32_t,
                                                               std::string_view summary) {
  CompactionReport report;
  report.messages_before = session_.conversation_->rows().size();
  boundary.duration_ms =
      static_cast<std::int64_t>((parts_.clock.monotonic_ns() - started_ns_) / 1'000'000);
  // What the new view will hold, counted before it exists, so that the record can say it.
  std::uint64_t kept = 0;
  for (const agentd_message& row : session_.conversation_->rows())
    for (const SeqRange& range : boundary.kept)
      if (row.seq >= range.first && row.seq <= range.last) kept += row.tokens;
  Rows fresh(session_.services_.row_count());
  for (const Record& literal : session_.pending_)
    if (auto message = read_message(literal)) fresh.append(message->message, 0, 0);
  boundary.post_tokens = session_.floor_tokens() + kept + fresh.tokens();
  session_.add(write_boundary(boundary));
  const std::uint64_t seq = session_.next_seq() - 1;
  if (auto done = session_.commit(); !done) {
    // A later commit must not bring what was told as failed.
    std::erase_if(session_.pending_, [](const Record& record) {
      return record.type == RecordType::kBoundary || carries_message(record.type);
    });
    finish(AGENTD_RESULT_FAILED, done.error().message);
    return done.error();
  }
  session_.failed_at_ = 0;
  session_.vetoed_at_ = 0;
  session_.above_checkpoint_ = false;
  const bool degraded = boundary.result != result_name(AGENTD_RESULT_APPLIED);
  report.outcome = degraded ? AGENTD_RESULT_DEGRADED : AGENTD_RESULT_APPLIED;
  report.messages_after = session_.conversation_->rows().size();
  report.pre_tokens = pre_tokens_;
  report.post_tokens = session_.gauge().used;
  report.summary = std::string(summary);
  report.boundary_id = boundary.id;
  const std::string json = boundary_json(boundary, seq);
  const Gauge gauge = session_.gauge();
  RunEvent told{RunEvent::Type::kCompactBoundary};
  told.boundary_json = json;
  told.text = boundary.id;
  told.detail = boundary.method;
  told.gauge = &gauge;
  session_.tell(told);
  after(boundary, report, summary);
  CompactionReport outcome = finish(report.outcome, {});
  report.text = outcome.text;
  return report;
}

void Compaction::after(const BoundaryRecord& boundary, const CompactionReport& report,
                       std::string_view summary) {
  if (session_.wants(AGENTD_EVENT_AFTER_COMPACTION)) {
    const agentd_usage before = to_abi(before_);
    const agentd_usage spent = to_abi(spent_);
    agentd_after_compaction payload{};
    payload.size = sizeof payload;
    payload.result = static_cast<std::uint16_t>(report.outcome);
    for (std::uint16_t method = AGENTD_METHOD_SUMMARY; method <= AGENTD_METHOD_TRUNCATE; ++method)
      if (method_name(method) == boundary.method) payload.method = method;
    payload.request = &payload_;
    payload.pre_tokens = report.pre_tokens;
    payload.post_tokens = report.post_tokens;
    payload.duration_ns = parts_.clock.monotonic_ns() - started_ns_;
    payload.boundary_seq = session_.conversation_->revision();
    payload.revision = session_.conversation_->revision();
    payload.usage_before = &before;
    payload.usage_spent = &spent;
    payload.boundary_id = to_abi(boundary.id);
    payload.summary = to_abi(summary);
    if (const auto outcome = session_.fire(AGENTD_EVENT_AFTER_COMPACTION, &payload))
      session_.add_contexts(*outcome);
  }
  if (!session_.wants(AGENTD_EVENT_SESSION_START)) return;
  agentd_session_start start{};
  start.size = sizeof start;
  start.source = AGENTD_SOURCE_COMPACT;
  if (const auto outcome = session_.fire(AGENTD_EVENT_SESSION_START, &start))
    session_.take_session_start(*outcome);
}

CompactionReport Compaction::finish(std::uint32_t outcome, std::string text) {
  CompactionReport report;
  report.outcome = outcome;
  report.messages_before = report.messages_after = session_.conversation_->rows().size();
  report.pre_tokens = report.post_tokens = pre_tokens_;
  report.text = std::move(text);
  const bool changed = outcome == AGENTD_RESULT_APPLIED || outcome == AGENTD_RESULT_DEGRADED;
  if (!changed) {
    CompactionAttemptRecord attempt;
    attempt.trigger = trigger_name(request_.trigger);
    attempt.reason = reason_name(request_.reason);
    attempt.phase = phase_name(request_.phase);
    attempt.outcome = result_name(outcome);
    attempt.error = one_line(report.text, 500);
    session_.add(write_compaction_attempt(attempt));
    if (outcome == AGENTD_RESULT_FAILED && request_.automatic()) session_.failed_at_ = pre_tokens_;
    if (auto done = session_.commit(); !done)
      parts_.log.write(LogLevel::kError, "agent", done.error().message);
  }
  RunEvent told{RunEvent::Type::kCompactionOutcome};
  told.detail = result_name(outcome);
  told.text = report.text;
  session_.tell(told);
  if (outcome == AGENTD_RESULT_FAILED)
    session_.fire_error("compaction_failed", report.text, "compaction", false);
  return report;
}

Result<CompactionReport, RunError> Compaction::replace(const Outcome::Attributed& asked) {
  started_ns_ = parts_.clock.monotonic_ns();
  author_ = asked.by.hook;
  const std::uint64_t seen = session_.conversation_->revision();
  if (auto done = session_.commit(); !done) return done.error();
  pre_tokens_ = session_.gauge().used;
  before_ = session_.conversation_->usage();
  payload_ = payload_of(plan_);
  auto placed = put_in_place(asked, seen);
  if (!placed) return placed.error();
  if (*placed) return **placed;
  return finish(AGENTD_RESULT_FAILED, placed->error().message);
}

Result<Result<CompactionReport>, RunError> Compaction::put_in_place(const Outcome::Attributed& asked,
                                                                    std::uint64_t seen) {
  using Placed = Result<CompactionReport>;
  const auto refuse = [&](const std::string& why) {
    return Placed(Error{Code::kInvalid, "the replacement of " + author_ + " was refused: " + why});
  };
  if (asked.action.base_revision != seen)
    return refuse("it was made from revision " + std::to_string(asked.action.base_revision) +
                  ", the conversation is at " + std::to_string(seen));
  auto planned = plan_replacement(session_.conversation_->rows(),
                                  session_.conversation_->state().ranges(), asked.action, author_);
  if (!planned) return refuse(planned.error().message);
  BoundaryRecord boundary = boundary_of(plan_);
  boundary.strategy = "full";
  boundary.method = method_name(AGENTD_METHOD_REPLACE);
  boundary.kept.clear();
  const std::uint64_t first_literal = session_.next_seq();
  for (const Replacement::Piece& piece : planned->pieces) {
    const std::uint64_t seq = first_literal + piece.index;
    boundary.kept.push_back(piece.literal ? SeqRange{seq, seq} : piece.range);
  }
  std::uint64_t tokens = 0;
  std::string text;
  for (const ReplacePart& part : asked.action.parts) {
    if (!part.is_literal()) continue;
    tokens += parts_.estimator.count_text(part.literal.text());
    if (text.empty()) text = part.literal.text();
  }
  // A replacement that frees nothing would be asked for again at the next stop.
  if (tokens + session_.floor_tokens() >= pre_tokens_ && planned->pieces.size() == planned->literals.size())
    return refuse("it is not smaller than what it replaces");
  for (Record& literal : planned->literals) session_.add(std::move(literal));
  auto done = commit_boundary(std::move(boundary), 0, text);
  if (!done) return done.error();
  return Placed(std::move(*done));
}

}  // namespace agentd
