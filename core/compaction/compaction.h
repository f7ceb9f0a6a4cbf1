// SPDX-License-Identifier: Apache-2.0
#pragma once
// compaction.h - what to summarise and what to keep; pure: the agent makes the model call and commits.
//
// plan() never parts a tool call from its result, parallel batches included; what it keeps is kept as
// it is, by sequence. Prompt, model and clock come through interfaces.
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

// Where the prompt of a compaction comes from: the `compact` recipe.
class PromptSource {
 public:
  virtual ~PromptSource() = default;
  // kInvalid: the user's own prompt cannot be used ("FILE:LINE: what"), and compaction_prompt()
  // gives the built-in one in its place.
  virtual Result<void> check_compaction_prompt() const = 0;
  // `instructions` are appended, in order.
  virtual Result<std::string> compaction_prompt(std::string_view conversation_id,
                                                const std::vector<std::string>& instructions) const = 0;
  // The text of another recipe, its variables filled in; kNotFound, kInvalid.
  virtual Result<std::string> recipe_prompt(std::string_view name,
                                            const std::map<std::string, std::string>& values) const = 0;
};

struct CompactionRequest {
  std::uint32_t trigger = AGENTD_TRIGGER_AUTO;
  std::uint32_t reason = AGENTD_REASON_THRESHOLD;
  std::uint32_t phase = AGENTD_PHASE_PRE_REQUEST;
  std::uint32_t strategy = AGENTD_STRATEGY_DEFAULT;
  std::uint64_t keep_tokens = 0;         // 0 = keep_percent of the window
  std::uint32_t max_summary_tokens = 0;  // 0 = what AgentOptions::summary_tokens says
  std::uint64_t refused_tokens = 0;      // at an overflow: what the gauge said of the request; 0 otherwise
  std::string model;
  std::vector<std::string> instructions;

  bool automatic() const {
    return phase == AGENTD_PHASE_PRE_REQUEST || phase == AGENTD_PHASE_MID_TURN || phase == AGENTD_PHASE_OVERFLOW;
  }
  // Nobody asked and nobody can be asked again: what can be done is done, down to a marked cut.
  bool must_succeed() const { return automatic() && reason != AGENTD_REASON_HOOK; }
};

// What a compaction works towards, all as the gauge counts.
struct CompactionTarget {
  std::uint64_t limit = 0;        // what fits; at an overflow less than what was refused
  std::uint64_t used = 0;         // at an overflow more than fits
  std::uint64_t tokens = 0;       // the new view: under the threshold by a twentieth of the limit
  std::uint64_t summary_max = 0;  // of the summary
};
CompactionTarget target_of(const CompactionRequest& request, const Gauge& gauge, const BudgetPolicy& policy);

struct CompactionPlan {
  std::uint32_t strategy = AGENTD_STRATEGY_FULL;
  std::uint32_t split = 0;                                  // rows before it are summarised, rows from it on are kept
  std::uint64_t summarized_first = 0, summarized_last = 0;  // sequences; 0 = none
  std::uint64_t kept_first = 0, kept_last = 0;
  std::uint64_t summarized_tokens = 0, kept_tokens = 0;  // as rows count
  std::uint64_t expected_tokens = 0;                     // of the new view, its summary guessed, as the gauge counts
  std::vector<SeqRange> kept;                            // for the boundary
  bool nothing_to_do() const { return split == 0; }
};

// Splits the rows. FULL summarises all of them; TAIL keeps the newest within keep_tokens (or
// keep_percent of the window), snapped so that no pair is parted; USERS keeps user texts before the tail,
// the first and the newest, and gives each half of the budget. A door that must succeed keeps no more than
// the floor leaves room for, at the least the newest message. An automatic door with everything inside the
// budget plans nothing; a manual one or a hook's then plans everything. `view` are the ranges that the
// rows come from (ViewState::ranges): what is kept of one of them in a row stays one range. A split of
// TAIL reads the tail alone.
CompactionPlan plan_compaction(const Rows& rows, std::span<const SeqRange> view, const CompactionRequest& request,
                               const Gauge& gauge, const BudgetPolicy& policy);

// The first row at or after `index` where a split parts no tool call from its result: moves back to the
// call, at most to 0.
std::uint32_t snap_split(const Rows& rows, std::uint32_t index);

// Every TOOL_USE stands in an assistant's message and has its result in the rows of the user that follow
// directly, and no result stands without its call.
// kInvalid names the first call id that breaks it. `complete` false: calls at the very end may be open.
Result<void> check_pairs(const agentd_list& messages, bool complete);

// The truncation fallback: rows to keep when no summary can be had: the last summary, the first user
// message and the tail of the plan, and the text that marks the gap.
struct Truncation {
  std::vector<SeqRange> kept;
  std::string marker;
  std::uint64_t kept_tokens = 0;
};
Truncation plan_truncation(const Rows& rows, std::span<const SeqRange> view, const CompactionPlan& plan);

// Texts to be shown shortened; the log keeps them whole.
struct PrunePlan {
  std::vector<Prune> prunes;  // all that will hold, those that did before included
  std::uint64_t freed = 0;    // as rows count
};
// Old tool results: those over 1,000 characters before the last 10 messages keep their first 200.
PrunePlan plan_prunes(const Rows& rows, std::span<const Prune> before, const TokenEstimator& estimator);
// The longest texts of the rows that `kept` names, tool results first, as far as it takes to free
// `excess` tokens; frees less when there is no more to shorten. The user's last words stay while they wait for an
// answer.
PrunePlan plan_squeeze(const Rows& rows, std::span<const SeqRange> kept, std::span<const Prune> before,
                       std::uint64_t excess, const TokenEstimator& estimator);

// The messages as text, for a summariser whose window cannot hold them as they are: in pieces of about
// `tokens` at most, in order, each a run of whole messages. A message that is longer is cut between two
// characters; the pieces of it overlap, so that nothing is torn in two. Tool calls come with their
// arguments, thinking and results as text, an image as its type.
std::vector<std::string> render_pieces(std::span<const agentd_message> rows, std::uint64_t tokens,
                                       const TokenEstimator& estimator);
// The same for texts that belong together; a piece holds whole texts where it can.
std::vector<std::string> join_pieces(std::span<const std::string> texts, std::uint64_t tokens,
                                     const TokenEstimator& estimator);

// The text under which a summary goes to the model.
std::string render_summary(std::string_view summary);

// A replacement that a hook asked for, checked: parts name rows of the view in their order, roles and
// pairs hold, the result is not empty. kInvalid says what is wrong. `view` as for plan_compaction: a kept
// part becomes as many ranges as it takes to name the rows of the view and nothing between them.
struct Replacement {
  std::vector<Record> literals;  // to be appended before the boundary, in order of appearance
  // Ranges in order; a literal is {0, index into literals}.
  struct Piece {
    bool literal = false;
    SeqRange range;
    std::size_t index = 0;
  };
  std::vector<Piece> pieces;
  Rows rows;  // the result: kept rows as they are, literals with sequence 0
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
