// SPDX-License-Identifier: Apache-2.0
#pragma once
// model_setup.h - the model table with the configuration applied: the user's entries, the active betas, the budget
// of the model in use, and its token counter.
//
// Threading: functions over values.

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/thinking.h"
#include "core/base/result.h"
#include "core/config/config.h"
#include "core/model/router.h"
#include "core/tokens/tokens.h"

namespace agentd {

// models.yaml in the home directory.
std::string model_table_file(const std::string& home);
// The built-in table under the user's own, with the configured betas. kInvalid: "FILE:LINE:COLUMN:
// ...".
Result<ModelTable> load_model_table(const std::string& home, const Config& config);

// The thresholds and the reserve for a model: its entry overrides the files' settings for all models; environment
// and flags override both. kInvalid if force_at is below compact_at.
Result<BudgetPolicy> budget_of(const Config& config, const ModelInfo& model);

// The token counter for the model, by tokens.counter.
std::unique_ptr<TokenEstimator> make_estimator(const Config& config, const ModelInfo& model);

// The user's settings for the model's thinking.
ThinkingWish thinking_wish(const Config& config);

// The warning about a provider that is misspelt in front of a model's name, which the provider `own` is asked for
// instead: the part before the first slash is neither a provider nor the beginning of an entry of the table. Empty =
// none. A server whose own names may have slashes is asked without a warning, unless the rest of the name is a model of
// the provider that was probably meant. `model` is a real_model().
std::string misspelt_provider(const ModelTable& table, const Config& config, std::string_view own,
                              const std::string& model);
// The models that the settings name, by their real_model(): the one in use and all others, used or not.
std::set<std::string> models_of_settings(const Config& config, const ModelRoute& in_force);

// Warnings about the model in use, a sentence each: it is not in the table, it retires within 60 days, it
// does not accept the configured form of thinking, or a configured beta does not widen its window. Also about each
// misspelt_provider() of the settings.
std::vector<std::string> model_warnings(const ModelTable& table, const Config& config, const ModelRoute& in_force,
                                        const std::string& home, std::int64_t wall_ms);

}  // namespace agentd
