// SPDX-License-Identifier: Apache-2.0
#pragma once
// tokens.h - counting tokens, the budget of a window, and the model table.
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
  // The name under which corrections are learned: "simple", "cl100k_base", "o200k_base".
  virtual std::string_view name() const = 0;
  virtual std::uint64_t count_text(std::string_view text) const = 0;
  // A row with its overhead: text, thinking, tool names and arguments, results.
  virtual std::uint64_t count_row(const agentd_message& row) const = 0;
};

// The approximate tokens of an image or a document; 0 for other blocks. An image counts as about a megapixel, 1,600. A
// document has at least that, and a token per ten bytes: providers read the text of its pages and look at them.
std::uint64_t media_tokens(const agentd_block& block);

// Bytes / 4, rounded up, and 4 for every message; media_tokens() for images and documents.
class SimpleEstimator final : public TokenEstimator {
 public:
  std::string_view name() const override { return "simple"; }
  std::uint64_t count_text(std::string_view text) const override;
  std::uint64_t count_row(const agentd_message& row) const override;
};

// How a model can be made to think before it answers.
enum class ThinkingKind : std::uint8_t {
  kNone,      // it does not think
  kBudget,    // up to the request's budget; without a budget it does not think
  kAdaptive,  // as much as it decides, guided by an effort; can be disabled
  kAlways,    // the same, and cannot be disabled
};
std::string_view name_of(ThinkingKind kind);  // none, budget, adaptive, always
std::optional<ThinkingKind> parse_thinking_kind(std::string_view name);

// The table's entry for a model.
struct ModelInfo {
  std::string pattern;  // the beginning of the model's name; empty = the default entry
  std::string provider;
  std::uint64_t window = 200'000;  // with the active beta, if any
  std::uint64_t max_output = 16'384;
  std::optional<std::uint64_t> output_reserve;                // replaces the policy's
  std::optional<double> checkpoint_at, compact_at, force_at;  // replaces the policy's
  std::map<std::string, std::uint64_t> betas{};               // name -> the window that it enables
  std::string beta{};                                         // the source of `window`; empty = none
  std::uint64_t base_window = 200'000;                        // without betas
  std::string summary_model{};                                // the provider's cheap one; empty = the model itself
  bool summary_model_is_the_users = false;                    // from models.yaml
  std::string encoding{};                                     // cl100k_base, o200k_base; empty = unknown
  std::string origin{};                                       // "FILE:LINE" of the user's entry; empty = built in
  ThinkingKind thinking = ThinkingKind::kBudget;
  std::vector<std::string> efforts{};  // supported efforts, the lowest first; empty = none
  std::string default_effort{};        // the provider's, when a request names none
  // For kAdaptive: the provider's word that disables thinking. "omit": thinking is off unless requested.
  std::string thinking_off{};
  // The model wants its thinking back with each of its answers; absent = its server knows. ModelTable::find() fills in
  // what the model's family is known for.
  std::optional<bool> thinking_back{};
  bool sampling = true;     // accepts temperature and similar settings
  bool images = true;       // sees images
  bool documents = false;   // reads PDF
  std::string retires{};    // YYYY-MM-DD, the first day on which requests fail; empty = not announced
  std::string successor{};  // its replacement
  bool assumed = false;     // the entry is for names that the table does not know
  // The provider's standard rates in its own service; absent = unknown. ModelTable::prices_of says which names they
  // apply to.
  std::optional<Prices> prices{};
  bool prices_are_the_users = false;  // from models.yaml
  bool metered = true;                // false: answers are played back, so no provider is called and nothing is counted
};

// The first day without the model, in days from the wall time's day (UTC): 0 = today, negative = already gone. Absent
// when no date is known.
std::optional<std::int64_t> days_until_retired(const ModelInfo& model, std::int64_t wall_ms);
// True from that day on. Nothing else marks a retired model: an entry retires on its day in a program that was built
// long before. What follows it, says retirement.h.
bool is_retired(const ModelInfo& model, std::int64_t wall_ms);
// True for an existing date in the table's form, YYYY-MM-DD.
bool is_date(std::string_view text);

// The model table: embedded data (core/tokens/models.json), overlaid by the user's own file. A lookup ignores what
// providers put around names: us.anthropic.claude-sonnet-4-5-20250929-v1:0, models/gemini-2.5-pro,
// anthropic/claude-sonnet-4.5. docs/reference/models.md states the rules.
class ModelTable {
 public:
  // The embedded table.
  static ModelTable embedded();
  static Result<ModelTable> parse(std::string_view json);
  // Lays a YAML text over the table: an entry with a known pattern changes the keys that it names; a new one takes
  // missing keys from the entry that its pattern would have found. On failure the table is unchanged. kInvalid:
  // "FILE:LINE:COLUMN: what is wrong".
  Result<void> overlay(std::string_view yaml, std::string_view file);
  // Sets the betas whose windows apply from now on.
  void activate(std::vector<std::string> betas) { active_ = std::move(betas); }
  // The entry of the longest pattern that starts the name; for an unknown model the stated default (200,000 tokens). An
  // unknown name of a known provider gets the assumed entry of its newest line.
  ModelInfo find(std::string_view model) const;
  // The model's price at that provider. A built-in price applies to the entry's own name, also with a date or a version
  // after it, and only at the entry's provider; a user's price to every name that finds the entry. Absent = unknown.
  std::optional<Prices> prices_of(std::string_view provider, std::string_view model) const;
  bool knows(std::string_view model) const { return match(model).has_value(); }
  // All of them, which reads each.
  std::vector<ModelInfo> models() const;
  // The model for requests that name none, retired or not (retirement.h); empty = the provider has no default.
  std::string default_of(const std::string& provider) const;
  const std::map<std::string, std::string>& defaults() const { return defaults_; }
  // The entry for unknown models.
  const ModelInfo& otherwise() const { return otherwise_; }

 private:
  // An entry of the embedded table, which is read when its model is asked for: a start needs one of them.
  struct Row {
    std::string_view pattern, json;
  };
  ModelInfo read(const Row& row) const;
  void read_rows();
  std::optional<ModelInfo> match(std::string_view model) const;
  bool wants_thinking_back(std::string_view model) const;
  // The entry of the longest pattern that fits; null in both = none.
  struct Best {
    const ModelInfo* info = nullptr;
    const Row* row = nullptr;
  };
  Best best(std::string_view name) const;

  ModelInfo otherwise_;
  std::vector<ModelInfo> models_;
  std::vector<Row> rows_;                        // instead of models_, until the table is changed
  std::map<std::string, std::string> defaults_;  // by provider
  std::vector<std::string> thinking_back_;       // beginnings of the names of families
  std::vector<std::string> active_;
};

// The model's own name without the prefixes of gateways: "us.anthropic.claude-3-haiku-v1:0" is "claude-3-haiku-v1:0",
// "models/gemini-2.5-pro" is "gemini-2.5-pro".
std::string_view bare_model_name(std::string_view model);

// The ladder of compaction: fractions of the limit, all ">=".
struct BudgetPolicy {
  double checkpoint_at = 0.70;
  double compact_at = 0.80;  // 0 = no automatic compaction
  double force_at = 0.95;
  std::uint32_t keep_percent = 40;  // of the window
  std::uint64_t output_reserve = 16'384;
  // This policy with the fractions and the reserve that the model's entry overrides.
  BudgetPolicy of(const ModelInfo& model) const;
};

struct Gauge {
  std::uint64_t used = 0;
  std::uint64_t limit = 0;  // window - reserve; 0 = unknown
  std::uint64_t window = 0;
  std::uint64_t floor = 0;  // system prompt, tools, instructions, the provider's additions
  std::uint64_t compact_at = 0, force_at = 0, checkpoint_at = 0;  // tokens; 0 = off
  bool reported = false;                                          // from the provider's report
  std::uint32_t compactions = 0;
  double scale = 1;  // the model's tokens per estimated token (calibration.h)

  // Converts an estimate to the units of `used`.
  std::uint64_t scaled(std::uint64_t estimated) const {
    return static_cast<std::uint64_t>(static_cast<double>(estimated) * scale + 0.5);
  }
  // Converts used tokens to the units of estimates.
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
