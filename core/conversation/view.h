// SPDX-License-Identifier: Apache-2.0
#pragma once
// view.h - what the next model request will see: a pure function of the log up to a revision.
//
// ViewState folds records into ordered ranges of sequences; Conversation keeps the rows that those
// ranges name, so that a request or a hook reads them without copying.
//
// Threading: thread-compatible; pinned rows may be read on any thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/conversation/record.h"
#include "core/conversation/rows.h"

namespace agentd {

// What stands behind a text that the view shortens.
inline constexpr std::string_view kPrunedMark = "\n[... shortened; the log keeps the whole text ...]";

// Which records the view consists of, in order.
class ViewState {
 public:
  // Records must come in order of sequence, starting anywhere at or before the lowest sequence that the
  // last boundary names. kCorrupt: an unknown critical record, or one that does not read.
  Result<void> apply(const StoredRecord& record);

  const std::vector<SeqRange>& ranges() const { return ranges_; }
  // In order of sequence.
  const std::vector<Prune>& prunes() const { return prunes_; }
  // Sequence of the boundary that made the view; 0 = none.
  std::uint64_t boundary_seq() const { return hidden_.empty() ? 0 : hidden_.back().boundary_seq; }
  std::uint32_t compactions() const { return static_cast<std::uint32_t>(hidden_.size()); }
  // Those of the view that the last boundary hid.
  const std::vector<Prune>& prunes_before() const { return hidden_.empty() ? prunes_ : hidden_.back().prunes; }
  // The record that cancels the last boundary.
  // REQUIRES: boundary_seq() != 0, and the log was applied from its first record on.
  RevertRecord revert_of_last() const;

 private:
  struct Hidden {
    std::uint64_t boundary_seq = 0;
    std::vector<SeqRange> ranges;
    std::vector<Prune> prunes;
  };
  void append(std::uint64_t seq);
  void apply_boundary(std::uint64_t seq, const BoundaryRecord& boundary);
  Result<void> apply_revert(std::uint64_t seq, const RevertRecord& revert);

  std::vector<SeqRange> ranges_;
  std::vector<Prune> prunes_;
  std::vector<Hidden> hidden_;  // what each boundary that still counts has hidden, oldest first
  std::uint64_t start_ = 0;     // sequence of the first record that was applied
  bool extends_ = false;        // the last range ends with the newest message, and may grow
};

// Cuts the blocks of the message at `seq` as the view shows them, and marks them. `prunes` as
// ViewState::prunes gives them, in order of sequence.
void shorten(Message& message, const std::vector<Prune>& prunes, std::uint64_t seq);

// What the attempts since the last boundary came to, and what boundaries have won: what an automatic
// compaction looks at before it tries again.
struct CompactionHistory {
  std::uint64_t tokens_at_last = 0;          // after an automatic attempt that won little; 0 = none did
  std::uint32_t vetoes = 0;                  // in a row
  bool too_high_floor = false;               // the last attempt was refused for what cannot be removed
  bool stuck = false;                        // it had no summary, and nothing to leave out
  std::uint32_t put_off = 0;                 // attempts in a row that failed for trouble that passes
  std::uint32_t answers = 0;                 // of the model, since the last automatic attempt
  std::uint32_t useless = 0;                 // boundaries in a row that freed less than a tenth
  std::optional<BoundaryRecord> unjudged{};  // the last one, until a report says what it has freed
};

// A conversation as a running process holds it.
class Conversation {
 public:
  // `id` the ULID's text. `count` estimates the tokens of a row.
  Conversation(std::string id, Rows::Count count);

  // Takes a whole log, or its end from ConversationInfo::view_first_seq on; once, before anything else.
  // The ranges are folded first and rows made only for what the view names.
  Result<void> load(const std::vector<StoredRecord>& records);

  // Takes records that were just committed, in order. A boundary puts new rows in place;
  // rows that were pinned stay as they were. kConflict after a revert, or when a boundary takes a prune
  // back: what it brings back is not here, load the conversation again.
  Result<void> apply(const std::vector<StoredRecord>& records);

  // Totals of the whole log, when only its end was read: call it after the first apply().
  void restore_totals(const Usage& usage, std::uint32_t runs, std::uint32_t compactions);

  const std::string& id() const { return id_; }
  // Boundaries that count, of the whole log.
  std::uint32_t compactions() const { return compactions_before_ + state_.compactions(); }
  std::uint64_t revision() const { return revision_; }
  const Rows& rows() const { return rows_; }
  // A copy that stays whole whatever happens to the conversation; constant time.
  Rows pin() const { return rows_; }
  const ViewState& state() const { return state_; }
  // Which models the rows' answers came from, and where runs were interrupted.
  const Origins& origins() const { return origins_; }
  // Totals of all usage records that were applied, and of the last turn.
  const Usage& usage() const { return usage_; }
  // The last report of the provider that can be true, and the sequence of its answer; 0 = none in
  // this view.
  const Usage& last_report() const { return last_report_; }
  std::uint64_t reported_seq() const { return reported_seq_; }
  std::uint32_t runs() const { return runs_; }
  // Tokens of every request that nothing in it explains, as the last report shows them.
  std::uint64_t hidden_tokens() const { return hidden_; }
  // Hooks have heard that the view is above the checkpoint's line.
  bool above_threshold() const { return above_threshold_; }
  const CompactionHistory& compaction_history() const { return history_; }
  // Tool calls of the view that have no result, in order: call id and tool name.
  std::vector<std::pair<std::string, std::string>> open_calls() const;

 private:
  Result<void> apply_one(const StoredRecord& record);
  Result<void> apply_totals(const StoredRecord& record);
  Result<void> follow_run(const StoredRecord& record);
  void take_report(const UsageRecord& report);
  Result<void> add_row(Rows& rows, const StoredRecord& record);
  Result<void> rebuild();
  Result<void> keep_row(Rows& rows, const agentd_message& row) const;

  const std::string id_;
  const Rows::Count count_;
  ViewState state_;
  Rows rows_;
  Origins origins_;
  std::map<std::uint64_t, StoredRecord> recent_;  // messages since the last boundary that no range names yet
  Usage usage_, last_report_;
  std::uint64_t reported_seq_ = 0;
  std::uint64_t hidden_ = 0;
  std::string model_;  // of the last run, with its provider
  bool above_threshold_ = false;
  CompactionHistory history_;
  std::uint64_t revision_ = 0;
  std::uint32_t runs_ = 0;
  std::uint32_t compactions_before_ = 0;
  struct Run {
    std::uint32_t number = 0;
    std::uint64_t last_seq = 0;  // of its messages before its end; 0 = it has none
    bool ended = false;
  };
  Run last_run_;
};

}  // namespace agentd
