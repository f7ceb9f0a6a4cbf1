// SPDX-License-Identifier: Apache-2.0
// replace.cc - a view that a hook has written itself, put in the place of the history.
#include "core/agent/compaction/compact.h"
#include "core/base/bytes.h"

namespace agentd {

Result<CompactionReport, RunError> Compaction::replace(const Outcome::Attributed& asked) {
  author_ = asked.by.hook;
  const std::uint64_t seen = session_.conversation().revision();
  if (auto begun = begin(); !begun) return begun.error();
  payload_ = payload_of(plan_);
  auto placed = put_in_place(asked, seen);
  if (!placed) return placed.error();
  if (placed->report) return std::move(*placed->report);
  return finish(AGENTD_RESULT_FAILED, std::move(placed->refusal));
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

Result<Compaction::Placement, RunError> Compaction::put_in_place(const Outcome::Attributed& asked, std::uint64_t seen) {
  const auto refuse = [&](const std::string& why) {
    return Placement{{}, "the replacement of " + author_ + " was refused: " + why};
  };
  if (asked.action.base_revision != seen)
    return refuse("it was made for revision " + std::to_string(asked.action.base_revision) +
                  ", but the conversation is at " + std::to_string(seen));
  Draft draft = draft_of(AGENTD_METHOD_REPLACE);
  draft.boundary.strategy = strategy_name(AGENTD_STRATEGY_FULL);
  std::string text;
  if (lone_summary(asked.action, text) != nullptr) {
    if (is_blank(text)) return refuse("its summary is empty");
    draft.summary = render_summary(text);
    draft.told = text;
  } else {
    auto planned = plan_replacement(session_.conversation().rows(), session_.conversation().state().ranges(),
                                    asked.action, author_);
    if (!planned) return refuse(planned.error().message);
    std::uint64_t literals = 0;
    for (const ReplacePart& part : asked.action.parts) {
      if (!part.is_literal()) continue;
      literals += parts_.estimator.count_text(part.literal.text());
      if (draft.told.empty()) draft.told = part.literal.text();
    }
    const Gauge gauge = session_.context.gauge();
    // A replacement that frees nothing would be asked for again at the next stop.
    if (gauge.floor + gauge.scaled(literals) >= pre_tokens_ && planned->pieces.size() == planned->literals.size())
      return refuse("it is not smaller than what it replaces");
    for (const Replacement::Piece& piece : planned->pieces) {
      if (piece.literal) continue;
      for (const agentd_message& row : session_.conversation().rows())
        if (row.seq >= piece.range.first && row.seq <= piece.range.last) draft.kept_tokens += row.tokens;
    }
    draft.literals = std::move(planned->literals);
    draft.pieces = std::move(planned->pieces);
  }
  auto done = commit(std::move(draft));
  if (!done) return done.error();
  return Placement{std::move(*done), {}};
}

}  // namespace agentd
