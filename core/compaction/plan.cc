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

// The first of the newest rows that fit the budget; reads only the tail.
std::uint32_t tail_within(const Rows& rows, std::uint64_t budget) {
  std::uint64_t tokens = 0;
  std::uint32_t first = rows.size();
  while (first > 0 && tokens + rows[first - 1].tokens <= budget) tokens += rows[--first].tokens;
  return first;
}

// Collects kept sequences. Between two consecutive rows of one range of the view are only records without a message, so
// that the range may span them.
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
    // Rows come in the order of the ranges, so the search continues where the last one ended.
    while (at_ < view_.size() && !(a >= view_[at_].first && a <= view_[at_].last)) ++at_;
    return at_ < view_.size() && b > a && b <= view_[at_].last;
  }

  const std::span<const SeqRange> view_;
  std::size_t at_ = 0;
  std::vector<SeqRange> ranges_;
};

// Sets the sequences of the first `split` rows in the plan.
void name_summarized(CompactionPlan& plan, const Rows& rows, std::span<const SeqRange> view) {
  const std::uint64_t end = rows[plan.split - 1].seq;
  const auto include = [&](std::uint64_t first, std::uint64_t last) {
    if (first == 0) return;
    if (plan.summarized_first == 0 || first < plan.summarized_first) plan.summarized_first = first;
    plan.summarized_last = std::max(plan.summarized_last, last);
  };
  for (const SeqRange& range : view) {
    const bool last = end >= range.first && end <= range.last;
    include(range.first, last ? end : range.last);
    if (last) return;
  }
  for (std::uint32_t i = 0; view.empty() && i < plan.split; ++i) include(rows[i].seq, rows[i].seq);
}

// User texts before the split that fit the budget: the first, then the newest.
std::vector<std::uint32_t> users_within(const Rows& rows, std::uint32_t split, std::uint64_t budget) {
  std::vector<std::uint32_t> found;
  std::uint32_t first = 0;
  while (first < split && !is_user_text(rows[first])) ++first;
  const auto take = [&](std::uint32_t index) {
    if (rows[index].tokens > budget) return false;
    budget -= rows[index].tokens;
    found.push_back(index);
    return true;
  };
  if (first < split) take(first);
  for (std::uint32_t i = split; i-- > first + 1;)
    if (is_user_text(rows[i]) && !take(i)) break;
  std::sort(found.begin(), found.end());
  return found;
}

void fill_plan(CompactionPlan& plan, const Rows& rows, std::span<const SeqRange> view, std::uint64_t users_budget) {
  if (plan.split == 0) return;
  Kept kept(view);
  std::uint64_t tail = 0;
  std::uint32_t next = rows.size() + 1;  // the row after the last kept one
  const auto keep = [&](std::uint32_t index) {
    kept.add(rows[index].seq, index == next);
    plan.kept_tokens += rows[index].tokens;
    next = index + 1;
  };
  if (plan.strategy == AGENTD_STRATEGY_USERS)
    for (const std::uint32_t index : users_within(rows, plan.split, users_budget)) keep(index);
  for (std::uint32_t i = plan.split; i < rows.size(); ++i) {
    tail += rows[i].tokens;
    keep(i);
  }
  plan.kept = kept.take();
  plan.summarized_tokens = rows.tokens() - tail;
  name_summarized(plan, rows, view);
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

// Where the part starts that the next request must answer: a call with its results, or the user's text with the context
// that hooks added to it.
std::uint32_t newest_message(const Rows& rows) {
  std::uint32_t first = rows.empty() ? 0 : rows.size() - 1;
  while (first > 0 && (rows[first].flags & AGENTD_MESSAGE_CONTEXT) != 0) --first;
  return snap_split(rows, first);
}

// A call of the newest answer has no result yet: it waits for a person.
bool ends_with_open_call(const Rows& rows) {
  std::uint32_t calls = 0, results = 0;
  for (std::uint32_t i = newest_message(rows); i < rows.size(); ++i)
    for (std::uint32_t j = 0; j < rows[i].blocks.count; ++j) {
      calls += blocks_of(rows[i])[j].kind == AGENTD_BLOCK_TOOL_USE;
      results += blocks_of(rows[i])[j].kind == AGENTD_BLOCK_TOOL_RESULT;
    }
  return calls > results;
}

}  // namespace

namespace {

constexpr double kDefaultThreshold = 0.8;  // when automatic compaction is off
constexpr double kMargin = 0.05;           // below the threshold

// The guessed size of a summary of that many row tokens, in the gauge's tokens: hardly ever more than a quarter, and
// never less than the one before.
std::uint64_t guess_summary(const Rows& rows, std::uint64_t summarized, const Gauge& gauge,
                            const CompactionTarget& target) {
  const bool again = !rows.empty() && rows[0].role == AGENTD_ROLE_SUMMARY;
  const std::uint64_t guess = std::max(summarized / 4, again ? std::uint64_t{rows[0].tokens} : 0);
  return std::min(target.summary_max, gauge.scaled(guess));
}

// The budget of the newest messages, in the rows' tokens.
std::uint64_t keep_budget(const Rows& rows, const CompactionRequest& request, const Gauge& gauge,
                          const BudgetPolicy& policy, const CompactionTarget& target) {
  if (request.keep_tokens != 0) return request.keep_tokens;
  const std::uint64_t window =
      request.refused_tokens == 0 ? gauge.window : std::min(gauge.window, request.refused_tokens);
  const std::uint64_t share = gauge.unscaled(window * policy.keep_percent / 100);
  if (!request.must_succeed()) return share;
  const std::uint64_t summarized = rows.tokens() - std::min(rows.tokens(), share);
  const std::uint64_t taken = gauge.floor + guess_summary(rows, summarized, gauge, target);
  return std::min(share, gauge.unscaled(target.tokens > taken ? target.tokens - taken : 0));
}

CompactionPlan split_rows(const Rows& rows, std::span<const SeqRange> view, const CompactionRequest& request,
                          std::uint64_t budget) {
  CompactionPlan plan;
  plan.strategy = request.strategy == AGENTD_STRATEGY_DEFAULT ? default_strategy(request) : request.strategy;
  const std::uint64_t tail = plan.strategy == AGENTD_STRATEGY_USERS ? budget / 2 : budget;
  plan.split = rows.size();
  if (plan.strategy != AGENTD_STRATEGY_FULL) {
    plan.split = snap_split(rows, tail_within(rows, tail));
    // Everything fits: an automatic compaction does nothing, a requested one compacts everything.
    if (plan.split == 0 && !request.must_succeed()) plan.split = rows.size();
  }
  if (request.automatic() || ends_with_open_call(rows)) plan.split = std::min(plan.split, newest_message(rows));
  // Summarising only a summary would cost a call and save nothing.
  if (plan.split == 1 && rows[0].role == AGENTD_ROLE_SUMMARY) plan.split = 0;
  fill_plan(plan, rows, view, budget - std::min(budget, tail));
  return plan;
}

void expect(CompactionPlan& plan, const Rows& rows, const Gauge& gauge, const CompactionTarget& target) {
  plan.expected_tokens =
      gauge.floor + gauge.scaled(plan.kept_tokens) + guess_summary(rows, plan.summarized_tokens, gauge, target);
}

}  // namespace

CompactionTarget target_of(const CompactionRequest& request, const Gauge& gauge, const BudgetPolicy& policy) {
  CompactionTarget out;
  out.limit = gauge.limit;
  out.used = gauge.used;
  if (request.refused_tokens != 0) {
    // This did not fit, whatever the model table says.
    out.used = request.refused_tokens;
    out.limit = std::min(gauge.limit, request.refused_tokens - request.refused_tokens / 10);
  }
  const double threshold = policy.compact_at == 0 ? kDefaultThreshold : policy.compact_at;
  out.tokens = static_cast<std::uint64_t>(std::max(0.0, threshold - kMargin) * static_cast<double>(out.limit));
  // In a small window a long summary would fill the space that it just freed.
  out.summary_max = std::min<std::uint64_t>(request.max_summary_tokens, gauge.window / 4);
  return out;
}

CompactionPlan plan_compaction(const Rows& rows, std::span<const SeqRange> view, const CompactionRequest& request,
                               const Gauge& gauge, const BudgetPolicy& policy) {
  const CompactionTarget target = target_of(request, gauge, policy);
  CompactionPlan plan = split_rows(rows, view, request, keep_budget(rows, request, gauge, policy, target));
  expect(plan, rows, gauge, target);
  const bool too_much = plan.expected_tokens > target.tokens && plan.split < rows.size();
  if (!request.must_succeed() || plan.nothing_to_do() || !too_much) return plan;
  // The kept part exceeds the available space: keep only the newest message.
  CompactionPlan least = split_rows(rows, view, request, 0);
  expect(least, rows, gauge, target);
  return least.expected_tokens < plan.expected_tokens && !least.nothing_to_do() ? least : plan;
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
                                         " is in a message that is not the user's"};
      results = true;
      if (open.erase(view_of(block.call_id)) == 0)
        return Error{Code::kInvalid, "the tool result " + std::string(view_of(block.call_id)) + " has no tool call"};
    }
    if (!results && !open.empty())
      return Error{Code::kInvalid, "the tool call " + std::string(*open.begin()) + " has no result"};
    for (std::uint32_t b = 0; b < row.blocks.count; ++b) {
      const agentd_block& block = blocks_of(row)[b];
      if (block.kind != AGENTD_BLOCK_TOOL_USE) continue;
      if (row.role != AGENTD_ROLE_ASSISTANT)
        return Error{Code::kInvalid, "the tool call " + std::string(view_of(block.call_id)) +
                                         " is in a message that is not the assistant's"};
      if (!open.insert(view_of(block.call_id)).second)
        return Error{Code::kInvalid, "the tool call " + std::string(view_of(block.call_id)) + " is repeated"};
    }
  }
  if (complete && !open.empty())
    return Error{Code::kInvalid, "the tool call " + std::string(*open.begin()) + " has no result"};
  return {};
}

Truncation plan_truncation(const Rows& rows, std::span<const SeqRange> view, const CompactionPlan& plan) {
  Truncation out;
  Kept kept(view);
  std::uint64_t dropped = 0;
  bool first_user = false;
  bool neighbour = false;
  for (std::uint32_t i = 0; i < plan.split; ++i) {
    const bool first = !first_user && is_user_text(rows[i]);
    first_user = first_user || first;
    // The last summary is all that the view has of earlier messages.
    const bool keep = first || rows[i].role == AGENTD_ROLE_SUMMARY;
    if (keep) {
      kept.add(rows[i].seq, neighbour);
      out.kept_tokens += rows[i].tokens;
    } else {
      ++dropped;
    }
    neighbour = keep;
  }
  for (std::uint32_t i = plan.split; i < rows.size(); ++i) {
    kept.add(rows[i].seq, neighbour);
    out.kept_tokens += rows[i].tokens;
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

Result<void> add_kept(const Rows& rows, std::span<const SeqRange> view, const ReplacePart& part, std::uint32_t& next,
                      Replacement& out) {
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
  if (message.blocks.empty() || (message.text().empty() && message.blocks[0].kind == BlockKind::kText))
    return Error{Code::kInvalid, "a literal message is empty"};
  out.rows.append(message, 0, 0);
  if (message.role == Role::kUser) message.flags |= AGENTD_MESSAGE_CONTEXT;
  out.pieces.push_back({true, {}, out.literals.size()});
  out.literals.push_back(write_message({message, StopReason::kEndTurn, "hook", std::string(author)}));
  return {};
}

}  // namespace

Result<Replacement> plan_replacement(const Rows& rows, std::span<const SeqRange> view, const Action& action,
                                     std::string_view author) {
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
