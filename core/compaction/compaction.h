// SPDX-License-Identifier: Apache-2.0
#pragma once
// compaction.h - decides what to summarise and what to keep; pure: the agent calls the model and commits.
//
// A plan never separates a tool call from its result, parallel batches included. Kept messages stay unchanged, named by
// sequence. Prompt, model and clock come through interfaces.
//
// Threading: pure functions and immutable values.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/conversation/record.h"
#include "core/conversation/rows.h"
#include "core/hooks/action.h"
#include "core/hooks/services.h"
#include "core/tokens/tokens.h"

namespace agentd {

// The source of a compaction's prompt: the `compact` recipe.
class PromptSource {
 public:
  virtual ~PromptSource() = default;
  // kInvalid: the user's own prompt cannot be used ("FILE:LINE: what"), and compaction_prompt() returns the built-in
  // one instead.
  virtual Result<void> check_compaction_prompt() const = 0;
  // `instructions` are appended, in order.
  virtual Result<std::string> compaction_prompt(std::string_view conversation_id,
                                                const std::vector<std::string>& instructions) const = 0;
  // The text of another recipe with its variables filled in; kNotFound, kInvalid.
  virtual Result<std::string> recipe_prompt(std::string_view name,
                                            const std::map<std::string, std::string>& values) const = 0;
};

struct CompactionRequest {
  std::uint32_t trigger = AGENTD_TRIGGER_AUTO;
  std::uint32_t reason = AGENTD_REASON_THRESHOLD;
  std::uint32_t phase = AGENTD_PHASE_PRE_REQUEST;
  std::uint32_t strategy = AGENTD_STRATEGY_DEFAULT;
  std::uint64_t keep_tokens = 0;         // 0 = keep_percent of the window
  std::uint32_t max_summary_tokens = 0;  // 0 = AgentOptions::summary_tokens
  std::uint64_t refused_tokens = 0;      // at an overflow: the gauge's count of the request; 0 otherwise
  std::string model;
  std::vector<std::string> instructions;

  bool automatic() const {
    return phase == AGENTD_PHASE_PRE_REQUEST || phase == AGENTD_PHASE_MID_TURN || phase == AGENTD_PHASE_OVERFLOW;
  }
  // No user requested it and none can be asked again, so every step is tried, down to a marked cut.
  bool must_succeed() const { return automatic() && reason != AGENTD_REASON_HOOK; }
};

// The targets of a compaction, in the gauge's tokens.
struct CompactionTarget {
  std::uint64_t limit = 0;        // the tokens that fit; at an overflow less than the refused request
  std::uint64_t used = 0;         // at an overflow more than fits
  std::uint64_t tokens = 0;       // the new view: a twentieth of the limit below the threshold
  std::uint64_t summary_max = 0;  // of the summary
};
CompactionTarget target_of(const CompactionRequest& request, const Gauge& gauge, const BudgetPolicy& policy);

struct CompactionPlan {
  std::uint32_t strategy = AGENTD_STRATEGY_FULL;
  std::uint32_t split = 0;                                  // rows before it are summarised, rows from it on are kept
  std::uint64_t summarized_first = 0, summarized_last = 0;  // sequences; 0 = none
  std::uint64_t kept_first = 0, kept_last = 0;
  std::uint64_t summarized_tokens = 0, kept_tokens = 0;  // in the rows' tokens
  std::uint64_t expected_tokens = 0;  // of the new view with a guessed summary, in the gauge's tokens
  std::vector<SeqRange> kept;         // for the boundary
  bool nothing_to_do() const { return split == 0; }
};

// Splits the rows. FULL summarises all of them. TAIL keeps the newest within keep_tokens (or keep_percent of the
// window), moved so that no pair is separated. USERS also keeps user texts before the tail, the first and the newest,
// and gives each half of the budget. A compaction that must succeed keeps only what the uncompactable part leaves room
// for, at least the newest message. An automatic one with everything inside the budget plans nothing; a manual one or a
// hook's then plans everything. `view` is the ranges of the rows (ViewState::ranges): consecutive kept rows of one
// range stay one range. A split of TAIL reads only the tail.
CompactionPlan plan_compaction(const Rows& rows, std::span<const SeqRange> view, const CompactionRequest& request,
                               const Gauge& gauge, const BudgetPolicy& policy);

// The last row at or before `index` where a split separates no tool call from its result: moves back to the call, at
// most to 0.
std::uint32_t snap_split(const Rows& rows, std::uint32_t index);

// Checks that every TOOL_USE is in an assistant message and has its result in the user rows that directly follow, and
// that no result lacks its call. kInvalid names the first call id that violates it. `complete` false: the last calls
// may be open.
Result<void> check_pairs(const agentd_list& messages, bool complete);

// The truncation fallback when no summary can be made: keeps the last summary, the first user message and the tail of
// the plan, with a text that marks the gap.
struct Truncation {
  std::vector<SeqRange> kept;
  std::string marker;
  std::uint64_t kept_tokens = 0;
};
Truncation plan_truncation(const Rows& rows, std::span<const SeqRange> view, const CompactionPlan& plan);

// Texts to shorten in the view; the log keeps them complete.
struct PrunePlan {
  std::vector<Prune> prunes;  // all prunes of the new view, including earlier ones
  std::uint64_t freed = 0;    // in the rows' tokens
};
// Old tool results: those over 1,000 characters before the last 10 messages keep their first 200.
PrunePlan plan_prunes(const Rows& rows, std::span<const Prune> before, const TokenEstimator& estimator);
// Shortens the longest texts of the rows that `kept` names, tool results first, until `excess` tokens are freed; frees
// less when nothing more can be shortened. An unanswered last user message stays complete.
PrunePlan plan_squeeze(const Rows& rows, std::span<const SeqRange> kept, std::span<const Prune> before,
                       std::uint64_t excess, const TokenEstimator& estimator);

// The messages as text, for a summariser whose window cannot hold them: in order, in pieces of at most about `tokens`,
// each of complete messages. A longer message is cut between two characters, and its pieces overlap, so that no word is
// lost at a cut. Tool calls come with their arguments, thinking and results as text, an image as its type.
std::vector<std::string> render_pieces(std::span<const agentd_message> rows, std::uint64_t tokens,
                                       const TokenEstimator& estimator);
// The same for related texts; a piece holds complete texts where it can.
std::vector<std::string> join_pieces(std::span<const std::string> texts, std::uint64_t tokens,
                                     const TokenEstimator& estimator);

// The text that presents a summary to the model.
std::string render_summary(std::string_view summary);

// A hook's replacement, checked: parts name rows of the view in their order, roles and pairs are valid, the result is
// not empty. kInvalid says what is wrong. `view` as for plan_compaction: a kept part becomes as many ranges as needed
// to name the rows of the view and nothing between them.
struct Replacement {
  std::vector<Record> literals;  // to append before the boundary, in order of appearance
  // Ranges in order; a literal is {0, index into literals}.
  struct Piece {
    bool literal = false;
    SeqRange range;
    std::size_t index = 0;
  };
  std::vector<Piece> pieces;
  Rows rows;  // the result: kept rows unchanged, literals with sequence 0
};
Result<Replacement> plan_replacement(const Rows& rows, std::span<const SeqRange> view, const Action& action,
                                     std::string_view author);

std::string_view trigger_name(std::uint32_t trigger);
std::string_view reason_name(std::uint32_t reason);
std::string_view phase_name(std::uint32_t phase);
std::string_view strategy_name(std::uint32_t strategy);
std::string_view result_name(std::uint32_t result);
std::string_view method_name(std::uint32_t method);
// AGENTD_STRATEGY_; kInvalid lists the names.
Result<std::uint32_t> parse_strategy(std::string_view name);

}  // namespace agentd
