// SPDX-License-Identifier: Apache-2.0
#include "core/agent/resources.h"

#include <utility>

namespace agentd {

AgentResources::AgentResources(AgentParts parts, AgentOptions options)
    : parts_(std::move(parts)),
      options_(std::move(options)),
      factors_(parts_.store, parts_.log, parts_.estimator.name()) {}

ModelInfo AgentResources::model_info(std::string_view model) const {
  ModelInfo info = parts_.models.find(model);
  if (options_.window_override && model == options_.model) info.window = *options_.window_override;
  return info;
}

std::string AgentResources::real_model(std::string_view name) const {
  return options_.real_model ? options_.real_model(name) : std::string(name);
}

std::string AgentResources::summary_model(std::string_view asked, const AgentOptions& agent) const {
  if (!asked.empty()) return real_model(asked);
  if (!agent.summary_model.empty()) return agent.summary_model;
  const ModelInfo info = parts_.models.find(agent.model);
  const bool same_provider = info.provider.empty() || info.provider == agent.provider;
  if (info.summary_model.empty() || !same_provider) return agent.model;
  // If the model is named with its vendor, so is its cheap one.
  const std::string vendor = agent.provider + "/";
  return (agent.model.starts_with(vendor) ? vendor : std::string()) + info.summary_model;
}

Thinking AgentResources::thinking_for(std::string_view model, std::uint64_t max_output_tokens, bool summarises) const {
  const ModelInfo info = parts_.models.find(model);
  return summarises && model != options_.model ? least_thinking(info, max_output_tokens)
                                               : plan_thinking(info, options_.thinking, max_output_tokens);
}

Rows::Count AgentResources::row_count() const {
  const TokenEstimator& estimator = parts_.estimator;
  return [&estimator](const agentd_message& row) { return estimator.count_row(row); };
}

std::uint64_t AgentResources::corrected(std::string_view model, std::uint64_t estimated) const {
  const double factor = factors_.of(model.empty() ? std::string_view(options_.model) : model);
  return static_cast<std::uint64_t>(static_cast<double>(estimated) * factor + 0.5);
}

std::shared_ptr<Account> AgentResources::open_account(const AgentOptions& agent,
                                                      const Conversation& conversation) const {
  const Usage& before = conversation.usage();
  return open_account({agent.run_limits, conversation.id(), {before.total(), before.cost_nano_usd}});
}

std::shared_ptr<Account> AgentResources::open_account(AccountLimits limits) const {
  return std::make_shared<Account>(AccountParts{parts_.provider, parts_.models, parts_.estimator, parts_.clock,
                                                parts_.log, parts_.ledger, parts_.conversations},
                                   limits, options_.retries_per_run);
}

}  // namespace agentd
