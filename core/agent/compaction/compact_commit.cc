// SPDX-License-Identifier: Apache-2.0
// compact_commit.cc - from a draft to a durable boundary, and what is told of it.
#include <algorithm>

#include "core/agent/compaction/compact.h"
#include "core/agent/summariser.h"
#include "core/base/bytes.h"
#include "core/codec/json.h"

namespace agentd {
namespace {

// Each try reads what came since and appends at once: somebody who appends without a pause still cannot
// win for ever.
constexpr int kTriesMax = 1'000;

// The compact_boundary message, in the shape that the Claude Agent SDK documents.
std::string uuid_of(const std::string& id) {
  const auto parsed = Ulid::parse(id);
  return parsed ? parsed->uuid() : id;
}

// `rows`: the view behind the boundary. A message has the UUID of its sequence in the conversation.
std::string boundary_json(const BoundaryRecord& boundary, std::uint64_t seq, const std::string& conversation_id,
                          const Rows& rows) {
  const Ulid conversation = Ulid::parse(conversation_id).value_or(Ulid{});
  JsonWriter out;
  out.begin_object().member("type", "system").member("subtype", "compact_boundary");
  out.key("compact_metadata").begin_object().member("id", boundary.id);
  out.member("trigger", boundary.trigger).member("pre_tokens", boundary.pre_tokens);
  out.member("post_tokens", boundary.post_tokens).member("duration_ms", boundary.duration_ms);
  out.member("method", boundary.method).member("reason", boundary.reason);
  out.member("phase", boundary.phase).member("strategy", boundary.strategy);
  out.member("result", boundary.result).member("seq", seq);
  out.key("preserved_messages").begin_object();
  out.member("anchor_uuid", boundary.summary_seq != 0 ? conversation.uuid(boundary.summary_seq) : uuid_of(boundary.id));
  out.key("uuids").begin_array();
  for (std::uint32_t i = 0; i < rows.size(); ++i)
    if (rows[i].seq != boundary.summary_seq) out.string(conversation.uuid(rows[i].seq));
  out.end_array().key("ranges").begin_array();
  for (const SeqRange& range : boundary.kept) out.begin_array().number(range.first).number(range.last).end_array();
  out.end_array().end_object().end_object();
  out.member("uuid", uuid_of(boundary.id)).member("session_id", boundary.session_id).end_object();
  return std::string(out.text());
}

bool changes_the_view(RecordType type) { return type == RecordType::kBoundary || type == RecordType::kRevert; }

}  // namespace

Compaction::Draft Compaction::draft_of(std::uint32_t method) const {
  Draft draft;
  BoundaryRecord& out = draft.boundary;
  out.id = parts_.ids.next().text();
  out.session_id = session_.session_id_;
  out.trigger = trigger_name(request_.trigger);
  out.reason = reason_name(request_.reason);
  out.phase = phase_name(request_.phase);
  out.strategy = strategy_name(plan_.strategy);
  out.method = method_name(method);
  out.result = result_name(AGENTD_RESULT_APPLIED);
  out.instructions = instructions_;
  out.author = author_;
  // What was shortened stays so.
  out.prunes = session_.shared_.conversation().state().prunes();
  out.pre_tokens = pre_tokens_;
  return draft;
}

// Adds the records of the draft behind what is pending, at the sequences that they will have.
void Compaction::write(Draft& draft) {
  BoundaryRecord& boundary = draft.boundary;
  boundary.base_seq = session_.shared_.conversation().revision();
  Rows fresh(session_.resources_.row_count());
  const std::uint64_t first_literal = session_.next_seq();
  for (const Record& literal : draft.literals) {
    if (auto message = read_message(literal)) fresh.append(message->message, 0, 0);
    session_.add(literal);
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
    session_.add(write_message({summary, StopReason::kEndTurn, {}, author_}));
    boundary.summary_seq = session_.next_seq() - 1;
  }
  const Gauge gauge = session_.gauge();
  boundary.post_tokens = gauge.floor + gauge.scaled(draft.kept_tokens + fresh.tokens());
  boundary.aimed = target().tokens;
  boundary.hidden = session_.shared_.conversation().hidden_tokens();
  boundary.useless_before = session_.shared_.conversation().compaction_history().useless;
  boundary.useless = boundary.is_useless(boundary.post_tokens) ? boundary.useless_before + 1 : 0;
  boundary.duration_ms = static_cast<std::int64_t>((parts_.clock.monotonic_ns() - started_ns_) / 1'000'000);
  session_.add(write_boundary(boundary));
}

// What others appended stays in the view, behind what is kept. False when they changed the view itself:
// the draft was made for another one.
bool Compaction::absorb(Draft& draft, const std::vector<StoredRecord>& fresh) const {
  for (const StoredRecord& record : fresh) {
    if (changes_the_view(record.record.type)) return false;
    if (!carries_message(record.record.type) || record.record.type == RecordType::kSummary) continue;
    draft.appended.push_back({record.seq, record.seq});
    const std::uint32_t row = session_.shared_.conversation().rows().index_of(record.seq);
    if (row < session_.shared_.conversation().rows().size())
      draft.kept_tokens += session_.shared_.conversation().rows()[row].tokens;
  }
  return true;
}

Result<CompactionReport, RunError> Compaction::commit(Draft draft) {
  for (int tries = 1;; ++tries) {
    const auto from = static_cast<std::ptrdiff_t>(session_.pending_.size());
    write(draft);
    const auto to = static_cast<std::ptrdiff_t>(session_.pending_.size());
    const auto done = session_.try_commit();
    if (done) break;
    // A later commit must not bring what was told as failed.
    session_.pending_.erase(session_.pending_.begin() + from, session_.pending_.begin() + to);
    if (done.error().code != Code::kConflict || tries == kTriesMax) {
      finish(AGENTD_RESULT_FAILED, done.error().message);
      return store_error(done.error());
    }
    const auto fresh = session_.catch_up();
    if (!fresh) {
      finish(AGENTD_RESULT_FAILED, fresh.error().message);
      return fresh.error();
    }
    if (!absorb(draft, *fresh))
      return finish(AGENTD_RESULT_FAILED,
                    "the conversation was compacted by somebody else meanwhile, and is as they left it");
  }
  return applied(draft, session_.shared_.conversation().state().boundary_seq());
}

CompactionReport Compaction::applied(const Draft& draft, std::uint64_t seq) {
  const BoundaryRecord& boundary = draft.boundary;
  closed_ = true;
  CompactionReport report;
  const bool degraded = boundary.result != result_name(AGENTD_RESULT_APPLIED);
  report.outcome = degraded ? AGENTD_RESULT_DEGRADED : AGENTD_RESULT_APPLIED;
  report.method = boundary.method;
  report.messages_before = messages_before_;
  report.messages_after = session_.shared_.conversation().rows().size();
  report.pre_tokens = pre_tokens_;
  const Gauge gauge = session_.gauge();
  report.post_tokens = gauge.used;
  session_.note_threshold(session_.above_checkpoint_ && gauge.used >= gauge.checkpoint_at);
  report.summary = draft.told;
  report.boundary_id = boundary.id;
  const std::string json =
      boundary_json(boundary, seq, session_.shared_.conversation().id(), session_.shared_.conversation().rows());
  RunEvent told{RunEvent::Type::kCompactBoundary};
  told.boundary_json = json;
  told.text = boundary.id;
  told.detail = boundary.method;
  told.gauge = &gauge;
  session_.tell(told);
  after(boundary, report, draft.told);
  report.text = finish(report.outcome, draft.degraded).text;
  if (!draft.degraded.empty()) session_.warn(draft.degraded);
  if (boundary.useless >= kUselessMax) tell_paused();
  return report;
}

void Compaction::tell_paused() {
  session_.told_paused_ = true;
  session_.warn(std::to_string(session_.shared_.conversation().compaction_history().useless) +
                " compactions in a row have freed less than a tenth: automatic compaction pauses until the "
                "window is nearly full. It is filled by " +
                fillers() + " tokens");
}

void Compaction::after(const BoundaryRecord& boundary, const CompactionReport& report, std::string_view summary) {
  if (session_.wants(AGENTD_EVENT_AFTER_COMPACTION)) {
    const agentd_usage before = to_abi(before_);
    const agentd_usage spent = to_abi(spent_);
    agentd_after_compaction payload{};
    payload.size = sizeof payload;
    payload.result = static_cast<std::uint16_t>(report.outcome);
    for (std::uint16_t method = AGENTD_METHOD_SUMMARY; method <= AGENTD_METHOD_TRUNCATE; ++method)
      if (method_name(method) == boundary.method) payload.method = method;
    payload.request = &lend_payload();
    payload.pre_tokens = report.pre_tokens;
    payload.post_tokens = report.post_tokens;
    payload.duration_ns = parts_.clock.monotonic_ns() - started_ns_;
    payload.boundary_seq = session_.shared_.conversation().state().boundary_seq();
    payload.revision = session_.shared_.conversation().revision();
    payload.usage_before = &before;
    payload.usage_spent = &spent;
    payload.boundary_id = to_abi(boundary.id);
    payload.summary = to_abi(summary);
    if (const auto outcome = session_.fire(AGENTD_EVENT_AFTER_COMPACTION, &payload)) session_.add_contexts(*outcome);
  }
  if (!session_.wants(AGENTD_EVENT_SESSION_START)) return;
  agentd_session_start start{};
  start.size = sizeof start;
  start.source = AGENTD_SOURCE_COMPACT;
  if (const auto outcome = session_.fire(AGENTD_EVENT_SESSION_START, &start)) session_.take_session_start(*outcome);
}

CompactionReport Compaction::finish(std::uint32_t outcome, std::string text, std::string_view refused_by) {
  closed_ = true;
  CompactionReport report;
  report.outcome = outcome;
  report.messages_before = report.messages_after = session_.shared_.conversation().rows().size();
  report.pre_tokens = report.post_tokens = pre_tokens_;
  report.text = std::move(text);
  // A log starts with its genesis: what was tried of a conversation in which nothing was said is no record.
  if (!report.changed() && session_.shared_.conversation().revision() != 0) {
    CompactionAttemptRecord attempt;
    attempt.trigger = trigger_name(request_.trigger);
    attempt.reason = reason_name(request_.reason);
    attempt.phase = phase_name(request_.phase);
    attempt.outcome = result_name(outcome);
    attempt.method = std::string(refused_by);
    attempt.error = one_line(report.text, 500);
    attempt.tokens = pre_tokens_;
    session_.add(write_compaction_attempt(attempt));
    if (auto done = session_.commit_behind(); !done) parts_.log.write(LogLevel::kError, "agent", done.error().message);
  }
  RunEvent told{RunEvent::Type::kCompactionOutcome};
  told.detail = result_name(outcome);
  told.text = report.text;
  session_.tell(told);
  if (outcome == AGENTD_RESULT_FAILED)
    session_.fire_error("compaction_failed", report.text, "compaction", refused_by == CompactionAttemptRecord::kPutOff);
  return report;
}

// ---- replacements

Result<CompactionReport, RunError> Compaction::replace(const Outcome::Attributed& asked) {
  author_ = asked.by.hook;
  const std::uint64_t seen = session_.shared_.conversation().revision();
  if (auto begun = begin(); !begun) return begun.error();
  payload_ = payload_of(plan_);
  auto placed = put_in_place(asked, seen);
  if (!placed) return placed.error();
  if (*placed) return **placed;
  return finish(AGENTD_RESULT_FAILED, placed->error().message);
}

namespace {

// A replacement by one summary: it stays one, so that it is no turn of the user.
const std::string* lone_summary(const Action& action, std::string& text) {
  if (action.parts.size() != 1 || !action.parts[0].is_literal()) return nullptr;
  if (action.parts[0].literal.role != Role::kSummary) return nullptr;
  text = action.parts[0].literal.text();
  return &text;
}

}  // namespace

Result<Result<CompactionReport>, RunError> Compaction::put_in_place(const Outcome::Attributed& asked,
                                                                    std::uint64_t seen) {
  using Placed = Result<CompactionReport>;
  const auto refuse = [&](const std::string& why) {
    return Placed(Error{Code::kInvalid, "the replacement of " + author_ + " was refused: " + why});
  };
  if (asked.action.base_revision != seen)
    return refuse("it was made from revision " + std::to_string(asked.action.base_revision) +
                  ", the conversation is at " + std::to_string(seen));
  Draft draft = draft_of(AGENTD_METHOD_REPLACE);
  draft.boundary.strategy = strategy_name(AGENTD_STRATEGY_FULL);
  std::string text;
  if (lone_summary(asked.action, text) != nullptr) {
    if (is_blank(text)) return refuse("its summary is empty");
    draft.summary = render_summary(text);
    draft.told = text;
  } else {
    auto planned = plan_replacement(session_.shared_.conversation().rows(),
                                    session_.shared_.conversation().state().ranges(), asked.action, author_);
    if (!planned) return refuse(planned.error().message);
    std::uint64_t literals = 0;
    for (const ReplacePart& part : asked.action.parts) {
      if (!part.is_literal()) continue;
      literals += parts_.estimator.count_text(part.literal.text());
      if (draft.told.empty()) draft.told = part.literal.text();
    }
    const Gauge gauge = session_.gauge();
    // A replacement that frees nothing would be asked for again at the next stop.
    if (gauge.floor + gauge.scaled(literals) >= pre_tokens_ && planned->pieces.size() == planned->literals.size())
      return refuse("it is not smaller than what it replaces");
    for (const Replacement::Piece& piece : planned->pieces) {
      if (piece.literal) continue;
      for (const agentd_message& row : session_.shared_.conversation().rows())
        if (row.seq >= piece.range.first && row.seq <= piece.range.last) draft.kept_tokens += row.tokens;
    }
    draft.literals = std::move(planned->literals);
    draft.pieces = std::move(planned->pieces);
  }
  auto done = commit(std::move(draft));
  if (!done) return done.error();
  return Placed(std::move(*done));
}

}  // namespace agentd
