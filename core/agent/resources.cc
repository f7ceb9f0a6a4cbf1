// SPDX-License-Identifier: Apache-2.0
#include "core/agent/resources.h"

#include <utility>

#include "core/tokens/retirement.h"

namespace agentd {

// ---- the process

RuntimeResources::RuntimeResources(RuntimeParts parts, RuntimeSettings settings)
    : parts_(parts), settings_(std::move(settings)), factors_(parts_.store, parts_.log, parts_.estimator.name()) {}

ModelInfo RuntimeResources::model_info(std::string_view model, const ModelSettings& settings) const {
  ModelInfo info = parts_.models.find(model);
  if (settings.window_override && model == settings.model) info.window = *settings.window_override;
  return info;
}

std::string RuntimeResources::real_model(std::string_view name) const {
  return settings_.real_model ? settings_.real_model(name) : std::string(name);
}

std::string RuntimeResources::summary_model(std::string_view asked, const ModelSettings& settings) const {
  if (!asked.empty()) return real_model(asked);
  if (!settings.summary_model.empty()) return settings.summary_model;
  const ModelInfo info = parts_.models.find(settings.model);
  const bool same_provider = info.provider.empty() || info.provider == settings.provider;
  const std::string own = summariser_in_service(parts_.models, info, parts_.clock.wall_ms());
  if (own.empty() || !same_provider) return settings.model;
  // Where the model is asked for by its vendor's name, so is its cheap one.
  const std::string vendor = settings.provider + "/";
  return (settings.model.starts_with(vendor) ? vendor : std::string()) + own;
}

Rows::Count RuntimeResources::row_count() const {
  const TokenEstimator& estimator = parts_.estimator;
  return [&estimator](const agentd_message& row) { return estimator.count_row(row); };
}

std::uint64_t RuntimeResources::corrected(std::string_view model, std::uint64_t estimated) const {
  const double factor = factors_.of(model.empty() ? std::string_view(settings_.model) : model);
  return static_cast<std::uint64_t>(static_cast<double>(estimated) * factor + 0.5);
}

std::shared_ptr<Account> RuntimeResources::open_account(AccountLimits limits) const {
  return std::make_shared<Account>(AccountParts{parts_.provider, parts_.models, parts_.estimator, parts_.clock,
                                                parts_.log, parts_.ledger, parts_.conversations},
                                   limits, settings_.retries_per_run);
}

// ---- a client

AgentResources::AgentResources(const RuntimeResources& runtime, AgentParts parts, AgentOptions options)
    : runtime_(runtime), parts_(std::move(parts)), options_(std::move(options)) {}

Thinking AgentResources::thinking_for(std::string_view model, std::uint64_t max_output_tokens, bool summarises) const {
  const ModelInfo info = parts_.models.find(model);
  return summarises && model != options_.model ? least_thinking(info, max_output_tokens)
                                               : plan_thinking(info, options_.thinking, max_output_tokens);
}

std::uint64_t AgentResources::corrected(std::string_view model, std::uint64_t estimated) const {
  return runtime_.corrected(model.empty() ? std::string_view(options_.model) : model, estimated);
}

std::shared_ptr<Account> AgentResources::open_account(const AgentOptions& agent,
                                                      const Conversation& conversation) const {
  const Usage& before = conversation.usage();
  return runtime_.open_account({agent.run_limits, conversation.id(), {before.total(), before.cost_nano_usd}});
}

}  // namespace agentd
