// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "core/compaction/compaction.h"

namespace agentd {
namespace {

bool has_block(const agentd_message& row, std::uint16_t kind) {
  for (std::uint32_t i = 0; i < row.blocks.count; ++i)
    if (blocks_of(row)[i].kind == kind) return true;
  return false;
}

bool is_user_text(const agentd_message& row) {
  return row.role == AGENTD_ROLE_USER && has_block(row, AGENTD_BLOCK_TEXT) &&
         !has_block(row, AGENTD_BLOCK_TOOL_RESULT) && (row.flags & AGENTD_MESSAGE_CONTEXT) == 0;
}

std::uint32_t default_strategy(const CompactionRequest& request) {
  return request.automatic() ? AGENTD_STRATEGY_TAIL : AGENTD_STRATEGY_FULL;
}

// The first row of the newest rows that fit the budget; touches the tail alone.
std::uint32_t tail_within(const Rows& rows, std::uint64_t budget) {
  std::uint64_t tokens = 0;
  std::uint32_t first = rows.size();
  while (first > 0 && tokens + rows[first - 1].tokens <= budget) tokens += rows[--first].tokens;
  return first;
}

// Collects kept sequences. Between two neighbours of one range of the view lie only records that carry
// no message, so that the range may span them.
class Kept {
 public:
  explicit Kept(std::span<const SeqRange> view) : view_(view) {}

  void add(std::uint64_t seq, bool neighbour) {
    if (neighbour && !ranges_.empty() && same_range(ranges_.back().last, seq))
      ranges_.back().last = seq;
    else
      ranges_.push_back({seq, seq});
  }
  std::vector<SeqRange> take() { return std::move(ranges_); }

 private:
  bool same_range(std::uint64_t a, std::uint64_t b) {
    // Rows come in the order of the ranges: the search goes on where the last one ended.
    while (at_ < view_.size() && !(a >= view_[at_].first && a <= view_[at_].last)) ++at_;
    return at_ < view_.size() && b > a && b <= view_[at_].last;
  }

  const std::span<const SeqRange> view_;
  std::size_t at_ = 0;
  std::vector<SeqRange> ranges_;
};

void fill_ranges(CompactionPlan& plan, const Rows& rows, std::span<const SeqRange> view) {
  Kept kept(view);
  bool neighbour = false;
  std::uint64_t summarized = 0;
  for (std::uint32_t i = 0; i < plan.split; ++i) {
    const agentd_message& row = rows[i];
    summarized += row.tokens;
    if (plan.summarized_first == 0 && row.seq != 0) plan.summarized_first = row.seq;
    if (row.seq != 0) plan.summarized_last = std::max(plan.summarized_last, row.seq);
    const bool keep = plan.strategy == AGENTD_STRATEGY_USERS && is_user_text(row);
    if (keep) kept.add(row.seq, neighbour);
    neighbour = keep;
  }
  plan.summarized_tokens = summarized;
  for (std::uint32_t i = plan.split; i < rows.size(); ++i) {
    plan.kept_tokens += rows[i].tokens;
    kept.add(rows[i].seq, neighbour);
    neighbour = true;
  }
  plan.kept = kept.take();
  if (plan.split < rows.size()) {
    plan.kept_first = rows[plan.split].seq;
    plan.kept_last = rows[rows.size() - 1].seq;
  }
}

}  // namespace

std::uint32_t snap_split(const Rows& rows, std::uint32_t index) {
  // A row of results belongs to the call before it; a batch's results follow their call directly.
  std::uint32_t split = std::min(index, rows.size());
  while (split > 0 && split < rows.size() && has_block(rows[split], AGENTD_BLOCK_TOOL_RESULT)) --split;
  return split;
}

namespace {

// Where the message starts that the next request is to answer: a call with its results, or what the user
// wrote, with the context that hooks added to it.
std::uint32_t newest_message(const Rows& rows) {
  std::uint32_t first = rows.empty() ? 0 : rows.size() - 1;
  while (first > 0 && (rows[first].flags & AGENTD_MESSAGE_CONTEXT) != 0) --first;
  return snap_split(rows, first);
}

}  // namespace

CompactionPlan plan_compaction(const Rows& rows, std::span<const SeqRange> view,
                               const CompactionRequest& request, const Gauge& gauge,
                               const BudgetPolicy& policy) {
  CompactionPlan plan;
  plan.strategy = request.strategy == AGENTD_STRATEGY_DEFAULT ? default_strategy(request)
                                                              : request.strategy;
  plan.split = rows.size();
  if (plan.strategy != AGENTD_STRATEGY_FULL) {
    const std::uint64_t budget =
        request.keep_tokens != 0 ? request.keep_tokens : gauge.window * policy.keep_percent / 100;
    plan.split = snap_split(rows, tail_within(rows, budget));
    // Everything fits: an automatic door has nothing to do, a request compacts everything.
    const bool asked = !request.automatic() || request.reason == AGENTD_REASON_HOOK;
    if (plan.split == 0 && asked) plan.split = rows.size();
  }
  const bool answering =
      request.phase == AGENTD_PHASE_PRE_REQUEST || request.phase == AGENTD_PHASE_MID_TURN;
  if (answering && plan.split == rows.size()) plan.split = newest_message(rows);
  // To summarise a summary alone costs a call and wins nothing.
  if (plan.split == 1 && rows.size() == 1 && rows[0].role == AGENTD_ROLE_SUMMARY) plan.split = 0;
  fill_ranges(plan, rows, view);
  return plan;
}

Result<void> check_pairs(const agentd_list& messages, bool complete) {
  std::set<std::string_view> open;
  const auto* const rows = messages_of(messages);
  for (std::uint32_t i = 0; i < messages.count; ++i) {
    const agentd_message& row = rows[i];
    bool results = false;
    for (std::uint32_t b = 0; b < row.blocks.count; ++b) {
      const agentd_block& block = blocks_of(row)[b];
      if (block.kind != AGENTD_BLOCK_TOOL_RESULT) continue;
      if (row.role != AGENTD_ROLE_USER)
        return Error{Code::kInvalid, "the tool result " + std::string(view_of(block.call_id)) +
                                         " stands in a message that is not the user's"};
      results = true;
      if (open.erase(view_of(block.call_id)) == 0)
        return Error{Code::kInvalid, "the tool result " + std::string(view_of(block.call_id)) +
                                         " stands without its call"};
    }
    if (!results && !open.empty())
      return Error{Code::kInvalid,
                   "the tool call " + std::string(*open.begin()) + " has no result"};
    for (std::uint32_t b = 0; b < row.blocks.count; ++b) {
      const agentd_block& block = blocks_of(row)[b];
      if (block.kind != AGENTD_BLOCK_TOOL_USE) continue;
      if (row.role != AGENTD_ROLE_ASSISTANT)
        return Error{Code::kInvalid, "the tool call " + std::string(view_of(block.call_id)) +
                                         " stands in a message that is not the assistant's"};
      if (!open.insert(view_of(block.call_id)).second)
        return Error{Code::kInvalid,
                     "the tool call " + std::string(view_of(block.call_id)) + " stands twice"};
    }
  }
  if (complete && !open.empty())
    return Error{Code::kInvalid, "the tool call " + std::string(*open.begin()) + " has no result"};
  return {};
}

Truncation plan_truncation(const Rows& rows, std::span<const SeqRange> view,
                           const CompactionPlan& plan) {
  Truncation out;
  Kept kept(view);
  std::uint64_t dropped = 0;
  bool first_user = false;
  bool neighbour = false;
  for (std::uint32_t i = 0; i < plan.split; ++i) {
    neighbour = !first_user && is_user_text(rows[i]);
    first_user = first_user || neighbour;
    if (neighbour)
      kept.add(rows[i].seq, false);
    else
      ++dropped;
  }
  for (std::uint32_t i = plan.split; i < rows.size(); ++i) {
    kept.add(rows[i].seq, neighbour);
    neighbour = true;
  }
  out.kept = kept.take();
  out.marker = "[" + std::to_string(dropped) +
               " earlier messages were left out here because no summary of them could be made. The "
               "conversation's log keeps them.]";
  return out;
}

std::string render_summary(std::string_view summary) {
  return "[Summary of the conversation so far; the messages it stands for are no longer shown.]\n\n" +
         std::string(summary);
}

namespace {

Result<void> add_kept(const Rows& rows, std::span<const SeqRange> view, const ReplacePart& part,
                      std::uint32_t& next, Replacement& out) {
  const std::uint32_t first = rows.index_of(part.first);
  const std::uint32_t last = rows.index_of(part.last);
  const std::string range = std::to_string(part.first) + ".." + std::to_string(part.last);
  if (first == rows.size() || last == rows.size())
    return Error{Code::kInvalid, "the range " + range + " is not in the view"};
  if (first < next || last < first)
    return Error{Code::kInvalid, "the kept range " + range + " is not in the order of the view"};
  Kept kept(view);
  for (std::uint32_t i = first; i <= last; ++i) {
    kept.add(rows[i].seq, i > first);
    out.rows.append_copy(rows[i]);
  }
  for (const SeqRange& piece : kept.take()) out.pieces.push_back({false, piece, 0});
  next = last + 1;
  return {};
}

Result<void> add_literal(const ReplacePart& part, std::string_view author, Replacement& out) {
  Message message = part.literal;
  if (message.role == Role::kSummary) message.role = Role::kUser;
  if (message.blocks.empty() ||
      (message.text().empty() && message.blocks[0].kind == BlockKind::kText))
    return Error{Code::kInvalid, "a literal message is empty"};
  out.rows.append(message, 0, 0);
  if (message.role == Role::kUser) message.flags |= AGENTD_MESSAGE_CONTEXT;
  out.pieces.push_back({true, {}, out.literals.size()});
  out.literals.push_back(write_message({message, StopReason::kEndTurn, "hook", std::string(author)}));
  return {};
}

}  // namespace

Result<Replacement> plan_replacement(const Rows& rows, std::span<const SeqRange> view,
                                     const Action& action, std::string_view author) {
  if (action.parts.empty()) return Error{Code::kInvalid, "the replacement has no parts"};
  Replacement out;
  std::uint32_t next = 0;  // index of the first row that may still be kept
  for (const ReplacePart& part : action.parts) {
    if (part.is_literal())
      AGENTD_TRY_VOID(add_literal(part, author, out));
    else
      AGENTD_TRY_VOID(add_kept(rows, view, part, next, out));
  }
  if (out.rows[0].role == AGENTD_ROLE_ASSISTANT)
    return Error{Code::kInvalid, "the replacement begins with an assistant message"};
  AGENTD_TRY_VOID(check_pairs(out.rows.list(), true));
  return out;
}

}  // namespace agentd
