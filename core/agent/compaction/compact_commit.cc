// SPDX-License-Identifier: Apache-2.0
// compact_commit.cc - from a draft to a durable boundary, and its reports.
#include <algorithm>

#include "core/agent/compaction/boundary_message.h"
#include "core/agent/compaction/compact.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

// Each try reads what came since and appends at once: somebody who appends without a pause still cannot
// win for ever.
constexpr int kCompactTriesMax = 1'000;

std::uint16_t method_of(const BoundaryRecord& boundary) {
#define AGENTD_WHEN(NUMBER, name) \
  if (boundary.method == #name) return AGENTD_##NUMBER;
  AGENTD_METHOD_LIST(AGENTD_WHEN)
#undef AGENTD_WHEN
  return 0;
}

bool changes_the_view(RecordType type) { return type == RecordType::kBoundary || type == RecordType::kRevert; }

}  // namespace

Compaction::Draft Compaction::draft_of(std::uint32_t method) const {
  Draft draft;
  BoundaryRecord& out = draft.boundary;
  out.id = parts_.ids.next().text();
  out.session_id = session_.position.session_id;
  out.trigger = trigger_name(request_.trigger);
  out.reason = reason_name(request_.reason);
  out.phase = phase_name(request_.phase);
  out.strategy = strategy_name(plan_.strategy);
  out.method = method_name(method);
  out.result = result_name(AGENTD_RESULT_APPLIED);
  out.instructions = instructions_;
  out.author = author_;
  // Shortened texts stay shortened.
  out.prunes = session_.conversation().state().prunes();
  out.pre_tokens = pre_tokens_;
  return draft;
}

// Adds the records of the draft behind what is pending, at the sequences that they will have.
void Compaction::write(Draft& draft) {
  BoundaryRecord& boundary = draft.boundary;
  boundary.base_seq = session_.conversation().revision();
  Rows fresh(session_.agent.row_count());
  const std::uint64_t first_literal = session_.log.next_seq();
  for (const Record& literal : draft.literals) {
    if (auto message = read_message(literal)) fresh.append(message->message, 0, 0);
    session_.log.add(literal);
  }
  boundary.kept = draft.pieces.empty() ? draft.kept : std::vector<SeqRange>();
  for (const Replacement::Piece& piece : draft.pieces) {
    const std::uint64_t seq = first_literal + piece.index;
    boundary.kept.push_back(piece.literal ? SeqRange{seq, seq} : piece.range);
  }
  boundary.kept.insert(boundary.kept.end(), draft.appended.begin(), draft.appended.end());
  std::erase_if(boundary.prunes, [&](const Prune& prune) {
    return std::none_of(boundary.kept.begin(), boundary.kept.end(),
                        [&](const SeqRange& range) { return prune.seq >= range.first && prune.seq <= range.last; });
  });
  boundary.summary_seq = 0;
  if (!draft.summary.empty()) {
    const Message summary = Message::of_text(Role::kSummary, draft.summary);
    fresh.append(summary, 0, 0);
    session_.log.add(write_message({summary, StopReason::kEndTurn, {}, author_}));
    boundary.summary_seq = session_.log.next_seq() - 1;
  }
  const Gauge gauge = session_.context.gauge();
  boundary.post_tokens = gauge.floor + gauge.scaled(draft.kept_tokens + fresh.tokens());
  boundary.aimed = target().tokens;
  boundary.hidden = session_.conversation().hidden_tokens();
  boundary.useless_before = session_.conversation().compaction_history().useless;
  boundary.useless = boundary.is_useless(boundary.post_tokens) ? boundary.useless_before + 1 : 0;
  boundary.duration_ms = static_cast<std::int64_t>((parts_.clock.monotonic_ns() - started_ns_) / 1'000'000);
  session_.log.add(write_boundary(boundary));
}

// Messages appended by others stay in the view, after the kept ones. False if they changed the view itself: the
// draft was made for another one.
bool Compaction::absorb(Draft& draft, const std::vector<StoredRecord>& fresh) const {
  for (const StoredRecord& record : fresh) {
    if (changes_the_view(record.record.type)) return false;
    if (!carries_message(record.record.type) || record.record.type == RecordType::kSummary) continue;
    draft.appended.push_back({record.seq, record.seq});
    const std::uint32_t row = session_.conversation().rows().index_of(record.seq);
    if (row < session_.conversation().rows().size()) draft.kept_tokens += session_.conversation().rows()[row].tokens;
  }
  return true;
}

Result<CompactionReport, RunError> Compaction::commit(Draft draft) {
  for (int tries = 1;; ++tries) {
    const std::size_t first = session_.log.size();
    write(draft);
    const std::size_t last = session_.log.size();
    const auto done = session_.log.try_commit();
    if (done) break;
    // A later commit must not bring what was told as failed.
    session_.log.take_back(first, last);
    if (done.error().code != Code::kConflict || tries == kCompactTriesMax) {
      finish(AGENTD_RESULT_FAILED, done.error().message);
      return store_error(done.error());
    }
    const auto fresh = session_.log.catch_up();
    if (!fresh) {
      finish(AGENTD_RESULT_FAILED, fresh.error().message);
      return fresh.error();
    }
    if (!absorb(draft, *fresh))
      return finish(AGENTD_RESULT_FAILED,
                    "another process compacted the conversation first; this compaction was dropped");
  }
  return applied(draft, session_.conversation().state().boundary_seq());
}

CompactionReport Compaction::applied(const Draft& draft, std::uint64_t seq) {
  const BoundaryRecord& boundary = draft.boundary;
  closed_ = true;
  CompactionReport report;
  const bool degraded = boundary.result != result_name(AGENTD_RESULT_APPLIED);
  report.outcome = degraded ? AGENTD_RESULT_DEGRADED : AGENTD_RESULT_APPLIED;
  report.method = boundary.method;
  report.messages_before = messages_before_;
  report.messages_after = session_.conversation().rows().size();
  report.pre_tokens = pre_tokens_;
  const Gauge gauge = session_.context.gauge();
  report.post_tokens = gauge.used;
  session_.threshold.note_compaction(gauge);
  report.summary = draft.told;
  report.boundary_id = boundary.id;
  const std::string json = boundary_message(boundary, seq, session_.conversation());
  session_.surface.tell(told::Compacted{boundary.id, json, gauge});
  after(boundary, report, draft.told);
  report.text = finish(report.outcome, draft.degraded).text;
  if (!draft.degraded.empty()) session_.hooks.warn(draft.degraded);
  if (boundary.useless >= kUselessMax) tell_paused();
  return report;
}

void Compaction::tell_paused() {
  session_.notes.told_paused = true;
  session_.hooks.warn(std::to_string(session_.conversation().compaction_history().useless) +
                      " compactions in a row freed less than a tenth, so automatic compaction pauses until the window "
                      "is nearly full. The largest parts: " +
                      fillers() + " tokens");
}

void Compaction::after(const BoundaryRecord& boundary, const CompactionReport& report, std::string_view summary) {
  if (session_.hooks.wants(AGENTD_EVENT_AFTER_COMPACTION)) {
    const agentd_usage before = to_abi(before_);
    const agentd_usage spent = to_abi(spent_);
    agentd_after_compaction payload{};
    payload.size = sizeof payload;
    payload.result = static_cast<std::uint16_t>(report.outcome);
    payload.method = method_of(boundary);
    payload.request = &lend_payload();
    payload.pre_tokens = report.pre_tokens;
    payload.post_tokens = report.post_tokens;
    payload.duration_ns = parts_.clock.monotonic_ns() - started_ns_;
    payload.boundary_seq = session_.conversation().state().boundary_seq();
    payload.revision = session_.conversation().revision();
    payload.usage_before = &before;
    payload.usage_spent = &spent;
    payload.boundary_id = to_abi(boundary.id);
    payload.summary = to_abi(summary);
    const auto outcome = session_.hooks.fire(AGENTD_EVENT_AFTER_COMPACTION, &payload);
    // Nothing may stand between a call that waits and its result.
    const OpenWait* const open = session_.conversation().wait();
    if (outcome && (open == nullptr || open->wait.direct)) session_.messages.add_contexts(*outcome);
  }
  session_.messages.start_session(AGENTD_SOURCE_COMPACT);
}

CompactionReport Compaction::finish(std::uint32_t outcome, std::string text, std::string_view refused_by) {
  closed_ = true;
  CompactionReport report;
  report.outcome = outcome;
  report.messages_before = report.messages_after = session_.conversation().rows().size();
  report.pre_tokens = report.post_tokens = pre_tokens_;
  report.text = std::move(text);
  // A log starts with its genesis: what was tried of a conversation in which nothing was said is no record.
  if (!report.changed() && session_.conversation().revision() != 0) {
    CompactionAttemptRecord attempt;
    attempt.trigger = trigger_name(request_.trigger);
    attempt.reason = reason_name(request_.reason);
    attempt.phase = phase_name(request_.phase);
    attempt.outcome = result_name(outcome);
    attempt.method = std::string(refused_by);
    attempt.error = one_line(report.text, 500);
    attempt.tokens = pre_tokens_;
    session_.log.add(write_compaction_attempt(attempt));
    if (auto done = session_.log.commit_behind(); !done)
      parts_.log.write(LogLevel::kError, "agent", done.error().message);
  }
  session_.surface.tell(told::CompactionEnded{outcome, report.text});
  if (outcome == AGENTD_RESULT_FAILED)
    session_.hooks.fire_error("compaction_failed", report.text, "compaction",
                              refused_by == CompactionAttemptRecord::kPutOff);
  return report;
}

}  // namespace agentd
