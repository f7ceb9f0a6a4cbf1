// SPDX-License-Identifier: Apache-2.0
#include "core/conversation/view.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <utility>

#include "core/base/bytes.h"

namespace agentd {

void ViewState::append(std::uint64_t seq) {
  // Records without a message are between messages; a range may span them, the rows skip them.
  if (extends_)
    ranges_.back().last = seq;
  else
    ranges_.push_back({seq, seq});
  extends_ = true;
}

void ViewState::apply_boundary(std::uint64_t seq, const BoundaryRecord& boundary) {
  // Literal messages of a replacement are between its base and the boundary: they belong to the new view only, not to
  // what an undo restores.
  std::erase_if(ranges_, [&](const SeqRange& range) { return range.first > boundary.base_seq; });
  if (!ranges_.empty()) ranges_.back().last = std::min(ranges_.back().last, boundary.base_seq);
  hidden_.push_back({seq, std::move(ranges_), std::move(prunes_)});
  ranges_.clear();
  if (boundary.summary_seq != 0) ranges_.push_back({boundary.summary_seq, boundary.summary_seq});
  ranges_.insert(ranges_.end(), boundary.kept.begin(), boundary.kept.end());
  prunes_ = boundary.prunes;
  std::sort(prunes_.begin(), prunes_.end(), [](const Prune& a, const Prune& b) { return a.seq < b.seq; });
  extends_ = false;
}

Result<void> ViewState::apply_revert(std::uint64_t seq, const RevertRecord& revert) {
  // Its boundary was not read: a later one, which starts from nothing, made the view.
  if (hidden_.empty() && revert.to_seq < start_) return {};
  if (hidden_.empty() || hidden_.back().boundary_seq != revert.to_seq)
    return Error{Code::kCorrupt, "record " + std::to_string(seq) + " reverts boundary " +
                                     std::to_string(revert.to_seq) + ", which is not the last one"};
  std::vector<SeqRange> since;
  for (const SeqRange& range : ranges_)
    if (range.first > revert.to_seq) since.push_back(range);
  ranges_ = std::move(hidden_.back().ranges);
  prunes_ = std::move(hidden_.back().prunes);
  ranges_.insert(ranges_.end(), since.begin(), since.end());
  hidden_.pop_back();
  // The next message must not be joined to what was hidden: literals of the boundary are between them.
  extends_ = false;
  return {};
}

Result<void> ViewState::apply(const StoredRecord& record) {
  AGENTD_TRY_VOID(refuse_unknown(record));
  if (start_ == 0) start_ = record.seq;
  const RecordType type = record.record.type;
  if (type == RecordType::kBoundary) {
    AGENTD_TRY(const BoundaryRecord boundary, read_boundary(record.record));
    apply_boundary(record.seq, boundary);
  } else if (type == RecordType::kRevert) {
    AGENTD_TRY(const RevertRecord revert, read_revert(record.record));
    return apply_revert(record.seq, revert);
  } else if (carries_message(type) && type != RecordType::kSummary) {
    append(record.seq);
  }
  return {};
}

RevertRecord ViewState::revert_of_last() const {
  AGENTD_ASSERT(!hidden_.empty());
  RevertRecord out;
  out.to_seq = hidden_.back().boundary_seq;
  if (hidden_.size() > 1) out.boundary_seq = hidden_[hidden_.size() - 2].boundary_seq;
  // A boundary in effect is read again whenever the view is loaded: it says where the ranges begin.
  out.first_seq = out.boundary_seq != 0 ? out.boundary_seq : 1;
  for (const SeqRange& range : hidden_.back().ranges) out.first_seq = std::min(out.first_seq, range.first);
  return out;
}

Conversation::Conversation(std::string id, Rows::Count count)
    : id_(std::move(id)), count_(std::move(count)), rows_(count_) {}

void Conversation::restore_totals(const Usage& usage, std::uint32_t runs, std::uint32_t compactions) {
  usage_ = usage;
  runs_ = runs;
  compactions_before_ = compactions - std::min(compactions, state_.compactions());
}

Result<void> Conversation::apply(const std::vector<StoredRecord>& records) {
  // A boundary names literal messages and its summary, which precede it in the same batch: they are kept apart, because
  // as plain messages they are not part of the view that it replaces.
  const bool bounded = std::any_of(records.begin(), records.end(), [](const StoredRecord& record) {
    return record.record.type == RecordType::kBoundary;
  });
  recent_.clear();
  for (const StoredRecord& record : records) {
    if (bounded && carries_message(record.record.type)) recent_[record.seq] = record;
    AGENTD_TRY_VOID(apply_one(record));
  }
  return {};
}

namespace {

// Nothing for a normal end.
std::optional<Interruption> interruption_of(std::string_view outcome) {
  if (outcome == "cancelled") return Interruption::kEnded;
  if (outcome == "error") return Interruption::kError;
  if (outcome == "stopped" || outcome == "blocked") return Interruption::kHook;
  return std::nullopt;
}

}  // namespace

// A run without an end record before a later run ended with its process.
Result<void> Conversation::follow_run(const StoredRecord& record) {
  const std::uint32_t run = record.record.run;
  const RecordType type = record.record.type;
  const bool says = carries_message(type) && type != RecordType::kSummary;
  if (run == 0 || (!says && type != RecordType::kRunBegin && type != RecordType::kRunEnd)) return {};
  if (last_run_.number != run) {
    if (last_run_.last_seq != 0 && !last_run_.ended)
      origins_.note_interruption(last_run_.last_seq, Interruption::kEnded);
    last_run_ = {run, 0, false};
  }
  if (type == RecordType::kRunEnd) {
    AGENTD_TRY(const RunEndRecord end, read_run_end(record.record));
    const auto why = interruption_of(end.outcome);
    if (why && last_run_.last_seq != 0) origins_.note_interruption(last_run_.last_seq, *why);
    last_run_.ended = true;
  } else if (says && !last_run_.ended) {
    last_run_.last_seq = record.seq;
  }
  return {};
}

// The end of its call ends a wait; a later one takes its place.
Result<void> Conversation::follow_calls(const StoredRecord& record) {
  const RecordType type = record.record.type;
  if (type == RecordType::kWait) {
    AGENTD_TRY(WaitRecord wait, read_wait(record.record));
    waits_elsewhere_ = wait.conversation_id != id_;
    if (!waits_elsewhere_) wait_ = OpenWait{std::move(wait), record.seq};
  } else if (type == RecordType::kAnswer && wait_ && !wait_->answer) {
    AGENTD_TRY(AnswerRecord answer, read_answer(record.record));
    if (answer.wait != wait_->wait.id) return {};
    wait_->answer = std::move(answer);
    wait_->answered_ms = record.time_ms;
  } else if (type == RecordType::kToolIntent) {
    waits_elsewhere_ = false;
    // A call without a model is outside of runs, or has waited.
    if (!wait_ && record.record.run != 0) return {};
    AGENTD_TRY(ToolIntentRecord intent, read_tool_intent(record.record));
    if (wait_ && wait_->wait.child_wait.empty() && intent.call_id == wait_->wait.call_id) wait_->begun = true;
    if (intent.direct) direct_calls_.emplace(std::move(intent.call_id), std::move(intent.name));
  } else if (type == RecordType::kDirectResult) {
    AGENTD_TRY(const ToolResultRecord result, read_direct_result(record.record));
    direct_calls_.erase(result.call_id);
    if (wait_ && result.call_id == wait_->wait.call_id) wait_.reset();
  } else if (type == RecordType::kToolResult && wait_) {
    AGENTD_TRY(const ToolResultRecord result, read_tool_result(record.record));
    if (result.call_id == wait_->wait.call_id) wait_.reset();
  }
  return {};
}

Result<void> Conversation::apply_totals(const StoredRecord& record) {
  revision_ = std::max(revision_, record.seq);
  AGENTD_TRY_VOID(follow_run(record));
  AGENTD_TRY_VOID(follow_calls(record));
  if (record.record.type == RecordType::kUsage) {
    AGENTD_TRY(const UsageRecord usage, read_usage(record.record));
    usage_ += usage.usage;
    if (usage.for_seq != 0 && usage.usage.prompt_tokens() != 0) take_report(usage);
  } else if (record.record.type == RecordType::kAssistantMessage) {
    ++history_.answers;
  } else if (record.record.type == RecordType::kRunBegin) {
    runs_ = std::max(runs_, record.record.run);
    AGENTD_TRY(const RunBeginRecord begin, read_run_begin(record.record));
    // Another model adds other tokens, or none.
    std::string model = begin.provider + "/" + begin.model;
    if (!model_.empty() && model != model_) hidden_ = 0;
    model_ = std::move(model);
  } else if (record.record.type == RecordType::kMeta) {
    AGENTD_TRY(const MetaRecord meta, read_meta(record.record));
    above_threshold_ = meta.above_threshold.value_or(above_threshold_);
  } else if (record.record.type == RecordType::kCheckpoint) {
    AGENTD_TRY(const CheckpointRecord checkpoint, read_checkpoint(record.record));
    // A fork's copy as well: the view is the same.
    if (checkpoint.why == kThresholdCheckpoint) above_threshold_ = true;
  } else if (record.record.type == RecordType::kCompactionAttempt) {
    AGENTD_TRY(const CompactionAttemptRecord attempt, read_compaction_attempt(record.record));
    if (attempt.trigger == "auto") {
      history_.vetoes = attempt.outcome == "vetoed" ? history_.vetoes + 1 : 0;
      history_.too_high_floor = attempt.method == CompactionAttemptRecord::kFloor;
      history_.stuck = attempt.method == CompactionAttemptRecord::kStuck;
      const bool put_off = attempt.method == CompactionAttemptRecord::kPutOff;
      history_.put_off = put_off ? history_.put_off + 1 : 0;
      history_.answers = 0;
      history_.tokens_at_last = attempt.tokens;
    }
  } else if (record.record.type == RecordType::kBoundary || record.record.type == RecordType::kRevert) {
    // The provider's report was about the replaced view.
    reported_seq_ = 0;
    history_ = {};
    above_threshold_ = false;
  }
  if (record.record.type == RecordType::kBoundary) {
    AGENTD_TRY(BoundaryRecord boundary, read_boundary(record.record));
    hidden_ = boundary.hidden;
    history_.useless = boundary.useless;
    if (boundary.useless != 0) history_.tokens_at_last = boundary.post_tokens;
    if (boundary.aimed != 0) history_.unjudged = std::move(boundary);
  }
  return {};
}

// The first report after a boundary shows the real size of the new view: the excess of the request over its estimate is
// also the view's over post_tokens.
void Conversation::take_report(const UsageRecord& report) {
  last_report_ = report.usage;
  reported_seq_ = report.for_seq;
  if (report.estimated == 0) return;
  hidden_ = report.hidden;
  const auto boundary = std::exchange(history_.unjudged, std::nullopt);
  if (!boundary) return;
  const std::uint64_t reported = report.usage.prompt_tokens();
  const std::uint64_t more = reported - std::min(reported, report.estimated);
  const std::uint64_t less = report.estimated - std::min(reported, report.estimated);
  const std::uint64_t post = boundary->post_tokens - std::min(boundary->post_tokens, less) + more;
  history_.useless = boundary->is_useless(post) ? boundary->useless_before + 1 : 0;
  history_.tokens_at_last = history_.useless != 0 ? post : 0;
}

Result<void> Conversation::apply_one(const StoredRecord& record) {
  AGENTD_TRY_VOID(state_.apply(record));
  AGENTD_TRY_VOID(apply_totals(record));
  const RecordType type = record.record.type;
  if (type == RecordType::kRevert)
    return Error{Code::kConflict, "conversation " + id_ + " was reverted and must be reloaded"};
  if (type == RecordType::kErase)
    return Error{Code::kConflict, "something was erased from conversation " + id_ + ", which must be reloaded"};
  if (type == RecordType::kBoundary) return rebuild();
  if (carries_message(type) && type != RecordType::kSummary) return add_row(rows_, record);
  return {};
}

namespace {

// The prunes of one message; `prunes` in order of sequence.
std::span<const Prune> prunes_of(const std::vector<Prune>& prunes, std::uint64_t seq) {
  const auto first = std::lower_bound(prunes.begin(), prunes.end(), seq,
                                      [](const Prune& prune, std::uint64_t at) { return prune.seq < at; });
  auto last = first;
  while (last != prunes.end() && last->seq == seq) ++last;
  return {first, last};
}

void shorten(Message& message, std::span<const Prune> prunes) {
  for (const Prune& prune : prunes) {
    if (prune.block >= message.blocks.size()) continue;
    Block& block = message.blocks[prune.block];
    // A row of the previous view may be shortened already.
    const bool again = (block.flags & AGENTD_BLOCK_PRUNED) != 0 && block.text.ends_with(kPrunedMark);
    if (again) block.text.resize(block.text.size() - kPrunedMark.size());
    if (!again && block.text.size() <= prune.prefix_bytes) continue;
    block.text.resize(utf8_prefix(block.text, prune.prefix_bytes).size());
    block.text += kPrunedMark;
    block.parts.clear();
    block.flags |= AGENTD_BLOCK_PRUNED;
  }
}

// True if a row that `before` shortened can show what `now` says.
bool still_pruned(std::span<const Prune> before, std::span<const Prune> now) {
  return std::all_of(before.begin(), before.end(), [&](const Prune& old) {
    return std::any_of(now.begin(), now.end(), [&](const Prune& prune) {
      return prune.block == old.block && prune.prefix_bytes <= old.prefix_bytes;
    });
  });
}

}  // namespace

void shorten(Message& message, const std::vector<Prune>& prunes, std::uint64_t seq) {
  shorten(message, prunes_of(prunes, seq));
}

Result<void> Conversation::add_row(Rows& rows, const StoredRecord& record) {
  AGENTD_TRY(MessageRecord message, read_message(record.record));
  shorten(message.message, prunes_of(state_.prunes(), record.seq));
  rows.append(message.message, record.seq, record.time_ms, id_);
  origins_.note(record.seq, std::move(message.origin));
  return {};
}

Result<void> Conversation::load(const std::vector<StoredRecord>& records) {
  std::map<std::uint64_t, const StoredRecord*> messages;
  for (const StoredRecord& record : records) {
    AGENTD_TRY_VOID(state_.apply(record));
    AGENTD_TRY_VOID(apply_totals(record));
    if (carries_message(record.record.type)) messages[record.seq] = &record;
  }
  for (const SeqRange& range : state_.ranges()) {
    for (auto at = messages.lower_bound(range.first); at != messages.end() && at->first <= range.last; ++at) {
      // A stored summary that no boundary names is not part of the view.
      if (at->second->record.type == RecordType::kSummary && range.first != range.last) continue;
      AGENTD_TRY_VOID(add_row(rows_, *at->second));
    }
  }
  return {};
}

Result<void> Conversation::rebuild() {
  Rows fresh(count_);
  std::uint32_t next = 0;  // kept rows keep their order, so that one pass finds them all
  for (const SeqRange& range : state_.ranges()) {
    const auto found = recent_.find(range.first);
    if (found != recent_.end() && range.first == range.last) {
      AGENTD_TRY_VOID(add_row(fresh, found->second));
      continue;
    }
    const auto inside = [&](const agentd_message& row) { return row.seq >= range.first && row.seq <= range.last; };
    const auto first = std::find_if(rows_.begin() + next, rows_.end(), inside);
    if (first == rows_.end()) continue;
    next = static_cast<std::uint32_t>(first - rows_.begin());
    for (; next < rows_.size() && inside(rows_[next]); ++next) AGENTD_TRY_VOID(keep_row(fresh, rows_[next]));
  }
  rows_ = std::move(fresh);
  return {};
}

// A shortened row no longer has the text that a weaker prune would show.
Result<void> Conversation::keep_row(Rows& rows, const agentd_message& row) const {
  const auto prunes = prunes_of(state_.prunes(), row.seq);
  if (!still_pruned(prunes_of(state_.prunes_before(), row.seq), prunes))
    return Error{Code::kConflict, "conversation " + id_ + " shows complete texts again and must be reloaded"};
  if (prunes.empty()) {
    rows.append_copy(row);
    return {};
  }
  Message message = to_message(row);
  shorten(message, prunes);
  rows.append(message, row.seq, row.time_ms, id_);
  return {};
}

std::vector<std::pair<std::string, std::string>> Conversation::open_calls() const {
  std::vector<const agentd_block*> calls;                               // in order; null = has a result
  std::unordered_map<std::string_view, std::vector<std::size_t>> open;  // call id -> its indices in `calls`
  for (const agentd_message& row : rows_) {
    for (std::uint32_t i = 0; i < row.blocks.count; ++i) {
      const agentd_block& block = blocks_of(row)[i];
      if (block.kind == AGENTD_BLOCK_TOOL_USE) {
        open[view_of(block.call_id)].push_back(calls.size());
        calls.push_back(&block);
      } else if (block.kind == AGENTD_BLOCK_TOOL_RESULT) {
        if (const auto answered = open.extract(view_of(block.call_id)))
          for (const std::size_t place : answered.mapped()) calls[place] = nullptr;
      }
    }
  }
  std::vector<std::pair<std::string, std::string>> out;
  for (const agentd_block* const call : calls)
    if (call != nullptr) out.emplace_back(view_of(call->call_id), view_of(call->name));
  return out;
}

}  // namespace agentd
