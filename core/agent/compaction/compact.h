// SPDX-License-Identifier: Apache-2.0
#pragma once
// compact.h - one attempt to compact, whichever door asked. Private to this room.
//
// Order: before_compaction - status compacting - summary - boundary (durable) - after_compaction -
// session_start{compact}. The view changes only after the boundary is committed; what others append
// meanwhile is kept behind it. Every attempt reports exactly one compaction_outcome.
//
// A door that must succeed goes down a ladder: old tool results shortened - a summary - a summary in
// parts - a marked cut. Any other door fails and leaves the view as it was.
//
// Threading: the session's thread.

#include <optional>
#include <string>
#include <vector>

#include "core/agent/session/parts.h"

namespace agentd {

// After this many compactions in a row that free less than a tenth, automatic compaction pauses.
inline constexpr std::uint32_t kUselessMax = 2;

class Compaction {
 public:
  Compaction(const SessionParts& session, CompactionRequest request);

  // An Error is a store that failed; everything else is an outcome.
  Result<CompactionReport, RunError> attempt();
  // The result of attempt(), without calling hooks or the model.
  CompactionReport plan_only();
  // True if a compaction would save too little now; calls neither hooks nor the model.
  bool wins_nothing() {
    plan();
    return wins_too_little();
  }
  // Warns that the automatic doors stay shut, and names what fills the window.
  void tell_paused();
  // The conversation has no messages.
  CompactionReport nothing() { return finish(AGENTD_RESULT_NOOP, nothing_text()); }
  // The replace action of agent_stop: no before_compaction, an undoable boundary.
  Result<CompactionReport, RunError> replace(const Outcome::Attributed& asked);

  // ---- a run that writes the summary itself, in the words of a recipe

  // Before its first request: asks the hooks. A report when it is over already: refused, nothing to do, or
  // a hook brought the summary.
  Result<std::optional<CompactionReport>, RunError> open_run();
  // Instructions for the summary by the user and the hooks, in this order.
  const std::vector<std::string>& instructions() const { return request_.instructions; }
  // The summary as the recipe's prompt asks for it when the conversation does not fit the window.
  Result<std::string> summarise_instead(std::string_view prompt);
  // Puts the answer in the history's place.
  Result<CompactionReport, RunError> close_run(std::string_view summary, std::string_view author);
  // The run ended without an answer that could be put there.
  CompactionReport fail_run(std::string why) { return finish(AGENTD_RESULT_FAILED, std::move(why)); }
  bool closed() const { return closed_; }
  const std::string& model() const { return model_; }
  // The model that the request was sent to, if hooks of the run chose another.
  void set_model(std::string model) { request_.model = model_ = std::move(model); }

 private:
  // The records to commit; rebuilt if the log has grown in the meantime.
  struct Draft {
    BoundaryRecord boundary;  // all but what write() fills in
    std::vector<SeqRange> kept;
    std::vector<Record> literals;            // of a replacement
    std::vector<Replacement::Piece> pieces;  // instead of `kept`, when there are literals between
    std::vector<SeqRange> appended;          // messages appended by other processes
    std::string summary;                     // as the model reads it; empty = none
    std::string told;                        // the text for hooks and reports
    std::string degraded;                    // the dropped parts, for people; empty = none
    std::uint64_t kept_tokens = 0;           // as rows count
  };

  // A hook's replacement: in place, with its report, or refused.
  struct Placement {
    std::optional<CompactionReport> report;
    std::string refusal;  // a sentence; empty if there is a report
  };

  Result<void, RunError> begin();
  void plan();
  CompactionTarget target() const;
  bool wins_too_little() const;
  std::string nothing_text() const;
  std::string fillers() const;
  bool vetoed();
  bool is_final(const Outcome& outcome) const;
  void take_settings(const Outcome& outcome);
  void tell_start(std::string_view detail = {});
  Result<std::optional<CompactionReport>, RunError> prepare();
  Result<CompactionReport, RunError> carry_out();
  bool can_wait() const;
  Result<CompactionReport, RunError> apply_summary(const std::string& text, std::uint32_t method);

  // ---- the rungs, in the order of carry_out()'s list; no report = the next one's turn
  Result<std::optional<CompactionReport>, RunError> take_hook_summary();
  Result<std::optional<CompactionReport>, RunError> shorten_results();
  Result<std::optional<CompactionReport>, RunError> shorten_view();
  Result<CompactionReport, RunError> replace_by_summary();

  std::optional<Draft> prune() const;
  Result<void> check_prompt();
  Result<std::string> summarise();
  Result<std::string> ask_summary(const std::string& model, const std::string& prompt, std::uint32_t rows);
  std::uint64_t tokens_of(const Draft& draft) const;
  Draft summary_draft(const std::string& text, std::uint32_t method, bool may_squeeze);
  std::optional<Draft> cut(const std::string& why);
  Result<CompactionReport, RunError> cut_or_fail(const std::string& why);
  std::optional<Draft> squeeze_view() const;
  bool squeeze(Draft& draft, std::uint64_t tokens) const;

  // Commits the boundary of a replacement, unless it is refused.
  Result<Placement, RunError> put_in_place(const Outcome::Attributed& asked, std::uint64_t seen);
  Draft draft_of(std::uint32_t method) const;
  void write(Draft& draft);
  Result<CompactionReport, RunError> commit(Draft draft);
  bool absorb(Draft& draft, const std::vector<StoredRecord>& fresh) const;
  CompactionReport applied(const Draft& draft, std::uint64_t seq);
  void after(const BoundaryRecord& boundary, const CompactionReport& report, std::string_view summary);
  CompactionReport finish(std::uint32_t outcome, std::string text, std::string_view refused_by = {});
  agentd_before_compaction payload_of(const CompactionPlan& plan);
  const agentd_before_compaction& lend_payload();

  const SessionParts& session_;
  const AgentParts& parts_;
  CompactionRequest request_;
  CompactionPlan plan_;
  std::uint64_t pre_tokens_ = 0;
  std::uint64_t messages_before_ = 0;
  std::uint64_t started_ns_ = 0;
  bool forced_ = false;
  bool passes_ = false;  // true if the last summary failed temporarily
  bool cut_ = false;     // the last summary
  bool closed_ = false;
  Usage spent_;
  std::uint32_t method_ = AGENTD_METHOD_SUMMARY;
  std::string hook_summary_, author_, reason_, instructions_;
  std::string model_;                             // that is to write the summary
  std::vector<Outcome::Attributed> replacement_;  // at most one, of before_compaction
  Usage before_;
  agentd_gauge gauge_{};
  agentd_before_compaction payload_{};  // without its texts, which lend_payload() fills in
};

}  // namespace agentd
