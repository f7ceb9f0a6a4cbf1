// SPDX-License-Identifier: Apache-2.0
#pragma once
// tokens.h - counting tokens, the budget of a window, and what is known of each model.
//
// Threading: values; estimators are immutable.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/conversation/message.h"
#include "core/tokens/prices.h"

namespace agentd {

class TokenEstimator {
 public:
  virtual ~TokenEstimator() = default;
  // What a correction is learned for beside the model: "simple", "cl100k_base", "o200k_base".
  virtual std::string_view name() const = 0;
  virtual std::uint64_t count_text(std::string_view text) const = 0;
  // A row with its overhead: text, thinking, tool names and arguments, results.
  virtual std::uint64_t count_row(const agentd_message& row) const = 0;
};

// About how many tokens an image or a document has for a model; 0 for other blocks. An image is taken for
// one of about a megapixel, 1,600; a document has at least that, and a token for ten of its bytes:
// providers read the text of its pages and look at them.
std::uint64_t media_tokens(const agentd_block& block);

// Bytes / 4, rounded up, and 4 for every message; media_tokens() for what is no text.
class SimpleEstimator final : public TokenEstimator {
 public:
  std::string_view name() const override { return "simple"; }
  std::uint64_t count_text(std::string_view text) const override;
  std::uint64_t count_row(const agentd_message& row) const override;
};

// How a model can be made to think before it answers.
enum class ThinkingKind : std::uint8_t {
  kNone,      // it does not think
  kBudget,    // as many tokens as the request grants; without a budget it does not think
  kAdaptive,  // as much as it sees fit, guided by an effort; can be switched off
  kAlways,    // the same, and cannot be switched off
};
std::string_view name_of(ThinkingKind kind);  // none, budget, adaptive, always
std::optional<ThinkingKind> parse_thinking_kind(std::string_view name);

// What the table says of a model.
struct ModelInfo {
  std::string pattern;  // begins the model's name; empty = the default, no pattern fits
  std::string provider;
  std::uint64_t window = 200'000;  // with the active beta, if there is one
  std::uint64_t max_output = 16'384;
  std::optional<std::uint64_t> output_reserve;                // in place of the policy's
  std::optional<double> checkpoint_at, compact_at, force_at;  // in place of the policy's
  std::map<std::string, std::uint64_t> betas{};               // name -> the window that it opens
  std::string beta{};                                         // the one that `window` comes from; empty = none
  std::uint64_t base_window = 200'000;                        // without betas
  std::string summary_model{};                                // the provider's cheap one; empty = the model itself
  std::string encoding{};                                     // cl100k_base, o200k_base; empty = not known
  std::string origin{};                                       // "FILE:LINE" of the user's entry; empty = built in
  ThinkingKind thinking = ThinkingKind::kBudget;
  std::vector<std::string> efforts{};  // that it takes, the least first; empty = it takes none
  std::string default_effort{};        // the provider's, when a request names none
  // Of kAdaptive: the provider's word that switches thinking off. "omit": it is off unless asked for.
  std::string thinking_off{};
  bool sampling = true;     // takes temperature and its kin
  bool images = true;       // sees images
  bool documents = false;   // reads PDF
  std::string retires{};    // YYYY-MM-DD, the first day on which requests fail; empty = not announced
  std::string successor{};  // what to use in its place
  bool assumed = false;     // the entry stands for names that the table does not know
  bool retired = false;     // built in, and gone from the provider's own service
  // The provider's standard rates in its own service; absent = not known. ModelTable::prices_of says for
  // which names they hold.
  std::optional<Prices> prices{};
  bool prices_are_the_users = false;  // from models.yaml
  bool metered = true;                // false: an answer is played, nobody is asked and nothing is counted
};

// The first day on which a model is gone, in days from the wall time's day (UTC): 0 = today, negative
// = gone. Absent when no date is known.
std::optional<std::int64_t> days_until_retired(const ModelInfo& model, std::int64_t wall_ms);
// A date as the table writes them, YYYY-MM-DD, that is in the calendar.
bool is_date(std::string_view text);

// The model table: embedded data (core/tokens/models.json), overlaid by the user's own file. Names
// are found with what providers put around them: us.anthropic.claude-sonnet-4-5-20250929-v1:0,
// models/gemini-2.5-pro, anthropic/claude-sonnet-4.5. docs/reference/models.md states the rules.
class ModelTable {
 public:
  // The embedded table.
  static ModelTable embedded();
  static Result<ModelTable> parse(std::string_view json);
  // Lays a YAML text over the table: an entry with a known pattern changes the keys that it names,
  // a new one takes what it leaves out from the entry that its pattern would have found. On failure
  // the table is as it was. kInvalid: "FILE:LINE:COLUMN: what is wrong".
  Result<void> overlay(std::string_view yaml, std::string_view file);
  // Betas whose windows count from here on.
  void activate(std::vector<std::string> betas) { active_ = std::move(betas); }
  // The longest pattern that starts the name; for an unknown model the stated default (200,000
  // tokens). An unknown name of a known provider finds what is assumed of its newest line.
  ModelInfo find(std::string_view model) const;
  // What the model costs at that provider. A built-in price holds for the entry's own name, and that name
  // with a date or a version behind it, at the entry's provider alone; one of the user's entries for every
  // name that finds the entry. Absent = not known.
  std::optional<Prices> prices_of(std::string_view provider, std::string_view model) const;
  bool knows(std::string_view model) const { return match(model) != nullptr; }
  const std::vector<ModelInfo>& models() const { return models_; }
  // The model that a provider is asked for when nobody has named one; empty = there is none.
  std::string default_of(const std::string& provider) const;
  const std::map<std::string, std::string>& defaults() const { return defaults_; }
  // What an unknown model is taken for.
  const ModelInfo& otherwise() const { return otherwise_; }

 private:
  const ModelInfo* match(std::string_view model) const;

  ModelInfo otherwise_;
  std::vector<ModelInfo> models_;
  std::map<std::string, std::string> defaults_;  // by provider
  std::vector<std::string> active_;
};

// The model's own name without what gateways put in front: "us.anthropic.claude-3-haiku-v1:0" is
// "claude-3-haiku-v1:0", "models/gemini-2.5-pro" is "gemini-2.5-pro".
std::string_view bare_model_name(std::string_view model);

// Ladder of PRODUCT: fractions of the limit, all ">=".
struct BudgetPolicy {
  double checkpoint_at = 0.70;
  double compact_at = 0.80;  // 0 = no automatic compaction
  double force_at = 0.95;
  std::uint32_t keep_percent = 40;  // of the window
  std::uint64_t output_reserve = 16'384;
  // With the fractions and the reserve that the model's entry names in place of its own.
  BudgetPolicy of(const ModelInfo& model) const;
};

struct Gauge {
  std::uint64_t used = 0;
  std::uint64_t limit = 0;  // window - reserve; 0 = unknown
  std::uint64_t window = 0;
  std::uint64_t floor = 0;  // system prompt, tools, instructions, what the provider adds
  std::uint64_t compact_at = 0, force_at = 0, checkpoint_at = 0;  // tokens; 0 = off
  bool reported = false;                                          // from the provider's report
  std::uint32_t compactions = 0;
  double scale = 1;  // what the model's tokenizer makes of an estimated token (calibration.h)

  // An estimate, as `used` counts.
  std::uint64_t scaled(std::uint64_t estimated) const {
    return static_cast<std::uint64_t>(static_cast<double>(estimated) * scale + 0.5);
  }
  // What is used, as an estimate counts.
  std::uint64_t unscaled(std::uint64_t tokens) const {
    return static_cast<std::uint64_t>(static_cast<double>(tokens) / scale);
  }
  double fraction() const { return limit == 0 ? 0 : static_cast<double>(used) / static_cast<double>(limit); }
  unsigned percent() const { return static_cast<unsigned>(fraction() * 100 + 0.5); }
};
agentd_gauge to_abi(const Gauge& gauge);

// reserve = min(policy, the model's max output, window / 4).
Gauge make_gauge(const BudgetPolicy& policy, std::uint64_t window, std::uint64_t max_output, std::uint64_t used,
                 std::uint64_t floor);

}  // namespace agentd
