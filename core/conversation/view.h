// SPDX-License-Identifier: Apache-2.0
#pragma once
// view.h - the messages of the next model request: a pure function of the log up to a revision.
//
// ViewState folds records into ordered ranges of sequences; Conversation keeps the rows of those ranges, so that a
// request or a hook reads them without copying.
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

// Appended to a text that the view shortens.
inline constexpr std::string_view kPrunedMark = "\n[... shortened; the log keeps the whole text ...]";

// The records of the view, in order.
class ViewState {
 public:
  // Records must come in order of sequence, starting at or before the lowest sequence that the last boundary names.
  // kCorrupt: an unknown critical record, or an unreadable one.
  Result<void> apply(const StoredRecord& record);

  const std::vector<SeqRange>& ranges() const { return ranges_; }
  // In order of sequence.
  const std::vector<Prune>& prunes() const { return prunes_; }
  // Sequence of the boundary that made the view; 0 = none.
  std::uint64_t boundary_seq() const { return hidden_.empty() ? 0 : hidden_.back().boundary_seq; }
  std::uint32_t compactions() const { return static_cast<std::uint32_t>(hidden_.size()); }
  // The prunes of the view that the last boundary hid.
  const std::vector<Prune>& prunes_before() const { return hidden_.empty() ? prunes_ : hidden_.back().prunes; }
  // The record that reverts the last boundary. REQUIRES: boundary_seq() != 0, and the log was applied from its first
  // record on.
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
  std::vector<Hidden> hidden_;  // what each boundary in effect has hidden, oldest first
  std::uint64_t start_ = 0;     // sequence of the first applied record
  bool extends_ = false;        // the last range ends with the newest message and may grow
};

// Shortens the blocks of the message at `seq` as the view shows them, and marks them. `prunes` as from
// ViewState::prunes, in order of sequence.
void shorten(Message& message, const std::vector<Prune>& prunes, std::uint64_t seq);

// Attempts since the last boundary and what boundaries saved: an automatic compaction checks them before it tries
// again.
struct CompactionHistory {
  std::uint64_t tokens_at_last = 0;          // after an automatic attempt that saved little; 0 = none did
  std::uint32_t vetoes = 0;                  // consecutive vetoes
  bool too_high_floor = false;               // the last attempt was refused because of what cannot be compacted
  bool stuck = false;                        // it had no summary, and nothing could be left out
  std::uint32_t put_off = 0;                 // consecutive attempts with a temporary failure
  std::uint32_t answers = 0;                 // model answers since the last automatic attempt
  std::uint32_t useless = 0;                 // consecutive boundaries that freed less than a tenth
  std::optional<BoundaryRecord> unjudged{};  // the last one, until a report shows what it freed
};

// A question to a person that a conversation waits for, with its answer if it has one.
struct OpenWait {
  WaitRecord wait;
  std::uint64_t seq = 0;
  std::optional<AnswerRecord> answer{};
  std::int64_t answered_ms = 0;
  bool begun = false;  // the call itself, after its answer; a wait on a subagent's never is
};

// A conversation in a running process.
class Conversation {
 public:
  // `id` is the ULID's text. `count` estimates the tokens of a row.
  Conversation(std::string id, Rows::Count count);

  // Loads a complete log, or its end from ConversationInfo::view_first_seq on; once, before any other call. Ranges are
  // folded first, and rows made only for the view's messages.
  Result<void> load(const std::vector<StoredRecord>& records);

  // Applies newly committed records, in order. A boundary replaces the rows; pinned rows stay unchanged. kConflict
  // after a revert, or when a boundary weakens a prune: the restored texts are not in memory, so load the conversation
  // again. The same after an erasure: texts in memory must go.
  Result<void> apply(const std::vector<StoredRecord>& records);

  // Totals of the complete log, when only its end was read: call it after the first apply().
  void restore_totals(const Usage& usage, std::uint32_t runs, std::uint32_t compactions);

  const std::string& id() const { return id_; }
  // Boundaries in effect in the complete log.
  std::uint32_t compactions() const { return compactions_before_ + state_.compactions(); }
  std::uint64_t revision() const { return revision_; }
  const Rows& rows() const { return rows_; }
  // A copy that stays valid whatever happens to the conversation; constant time.
  Rows pin() const { return rows_; }
  const ViewState& state() const { return state_; }
  // The models of the rows' answers, and where runs were interrupted.
  const Origins& origins() const { return origins_; }
  // Totals of all applied usage records, and of the last turn.
  const Usage& usage() const { return usage_; }
  // The provider's last possible report, and the sequence of its answer; 0 = none in this view.
  const Usage& last_report() const { return last_report_; }
  std::uint64_t reported_seq() const { return reported_seq_; }
  std::uint32_t runs() const { return runs_; }
  // Tokens of every request that its content does not explain, by the last report.
  std::uint64_t hidden_tokens() const { return hidden_; }
  // True if the view has passed the checkpoint threshold, and that was told or became a checkpoint.
  bool above_threshold() const { return above_threshold_; }
  const CompactionHistory& compaction_history() const { return history_; }
  // The wait whose call has no result yet; null = none.
  const OpenWait* wait() const { return wait_ ? &*wait_ : nullptr; }
  // The newest call that waits in the log waits in another conversation, of which this one is a fork.
  bool waits_elsewhere() const { return waits_elsewhere_; }
  // Tool calls of the view without a result, in order: call id and tool name.
  std::vector<std::pair<std::string, std::string>> open_calls() const;
  // The same of calls without a model that have begun.
  const std::map<std::string, std::string>& open_direct_calls() const { return direct_calls_; }

 private:
  Result<void> apply_one(const StoredRecord& record);
  Result<void> apply_totals(const StoredRecord& record);
  Result<void> follow_run(const StoredRecord& record);
  Result<void> follow_calls(const StoredRecord& record);
  void take_report(const UsageRecord& report);
  Result<void> add_row(Rows& rows, const StoredRecord& record);
  Result<void> rebuild();
  Result<void> keep_row(Rows& rows, const agentd_message& row) const;

  const std::string id_;
  const Rows::Count count_;
  ViewState state_;
  Rows rows_;
  Origins origins_;
  std::map<std::uint64_t, StoredRecord> recent_;  // messages since the last boundary that are in no range yet
  Usage usage_, last_report_;
  std::uint64_t reported_seq_ = 0;
  std::uint64_t hidden_ = 0;
  std::string model_;  // of the last run, with its provider
  bool above_threshold_ = false;
  CompactionHistory history_;
  std::optional<OpenWait> wait_;
  bool waits_elsewhere_ = false;
  std::map<std::string, std::string> direct_calls_;
  std::uint64_t revision_ = 0;
  std::uint32_t runs_ = 0;
  std::uint32_t compactions_before_ = 0;
  struct Run {
    std::uint32_t number = 0;
    std::uint64_t last_seq = 0;  // of its messages before its end; 0 = none
    bool ended = false;
  };
  Run last_run_;
};

}  // namespace agentd
