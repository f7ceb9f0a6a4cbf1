// SPDX-License-Identifier: Apache-2.0
#pragma once
// tokens.h - counting tokens, the budget of a window, and what is known of each model.
//
// Threading: values; estimators are immutable.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/conversation/message.h"

namespace agentd {

class TokenEstimator {
 public:
  virtual ~TokenEstimator() = default;
  virtual std::uint64_t count_text(std::string_view text) const = 0;
  // A row with its overhead: text, thinking, tool names and arguments, results.
  virtual std::uint64_t count_row(const agentd_message& row) const = 0;
};

// Bytes / 4, rounded up, and 4 for every message. An image counts 1,600.
class SimpleEstimator final : public TokenEstimator {
 public:
  std::uint64_t count_text(std::string_view text) const override;
  std::uint64_t count_row(const agentd_message& row) const override;
};

struct ModelInfo {
  std::string pattern;          // prefix of the model's name
  std::string provider;
  std::uint64_t window = 200'000;
  std::uint64_t max_output = 16'384;
  std::string summary_model;    // the provider's cheap one
  std::string beta;             // name of a beta that changes the window
  std::uint64_t beta_window = 0;
};

// The model table: embedded data (core/tokens/models.json), overlaid by the user's config.
class ModelTable {
 public:
  // The embedded table.
  static ModelTable embedded();
  static Result<ModelTable> parse(std::string_view json);
  // The longest pattern that starts the name; for an unknown model the stated default (200,000 tokens).
  ModelInfo find(std::string_view model) const;
  bool knows(std::string_view model) const;
  const std::vector<ModelInfo>& models() const { return models_; }

 private:
  std::vector<ModelInfo> models_;
};

// Ladder of PRODUCT: fractions of the limit, all ">=".
struct BudgetPolicy {
  double checkpoint_at = 0.70;
  double compact_at = 0.80;  // 0 = no automatic compaction
  double force_at = 0.95;
  std::uint32_t keep_percent = 40;  // of the window
  std::uint64_t output_reserve = 16'384;
};

struct Gauge {
  std::uint64_t used = 0;
  std::uint64_t limit = 0;   // window - reserve; 0 = unknown
  std::uint64_t window = 0;
  std::uint64_t floor = 0;   // system prompt, tools, instructions
  std::uint64_t compact_at = 0, force_at = 0, checkpoint_at = 0;  // tokens; 0 = off
  bool reported = false;     // from the provider's report
  std::uint32_t compactions = 0;

  double fraction() const { return limit == 0 ? 0 : static_cast<double>(used) / static_cast<double>(limit); }
  unsigned percent() const { return static_cast<unsigned>(fraction() * 100 + 0.5); }
};
agentd_gauge to_abi(const Gauge& gauge);

// reserve = min(policy, the model's max output, window / 4).
Gauge make_gauge(const BudgetPolicy& policy, std::uint64_t window, std::uint64_t max_output,
                 std::uint64_t used, std::uint64_t floor);

}  // namespace agentd
