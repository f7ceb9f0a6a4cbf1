// SPDX-License-Identifier: Apache-2.0
#pragma once
// model_setup.h - what the configuration makes of the model table: the user's entries, the active
// betas, the budget of the model in use, and what counts its tokens.
//
// Threading: functions over values.

#include <memory>
#include <string>
#include <vector>

#include "core/agent/thinking.h"
#include "core/base/result.h"
#include "core/config/config.h"
#include "core/tokens/tokens.h"

namespace agentd {

// models.yaml in the home directory.
std::string model_table_file(const std::string& home);
// The built-in table under the user's own, with the configured betas. kInvalid: "FILE:LINE:COLUMN:
// ...".
Result<ModelTable> load_model_table(const std::string& home, const Config& config);

// The ladder and the reserve for a model: what its entry says beats what the files say of all
// models; environment and flags beat both. kInvalid when force_at comes to lie below compact_at.
Result<BudgetPolicy> budget_of(const Config& config, const ModelInfo& model);

// What counts tokens for the model, by tokens.counter.
std::unique_ptr<TokenEstimator> make_estimator(const Config& config, const ModelInfo& model);

// What the user wishes of the model's thinking.
ThinkingWish thinking_wish(const Config& config);

// Warnings about the model in use, `name`, a sentence each: it is not in the table, it retires within
// 60 days, it takes another form of thinking than was configured, or a configured beta does not widen
// its window.
std::vector<std::string> model_warnings(const ModelTable& table, const Config& config, const std::string& name,
                                        const std::string& home, std::int64_t wall_ms);

}  // namespace agentd
