// SPDX-License-Identifier: Apache-2.0
#pragma once
// resources.h - what all sessions of a process work with, what those of one client do, and what follows from both
// about models, tokens and accounts. Private to this room.
//
// Threading: thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/agent/agent.h"
#include "core/agent/token_factors.h"
#include "core/conversation/view.h"

namespace agentd {

// The process's part.
class RuntimeResources {
 public:
  RuntimeResources(RuntimeParts parts, RuntimeSettings settings);

  const RuntimeParts& parts() const { return parts_; }
  const RuntimeSettings& settings() const { return settings_; }

  // The table's entry for a model, with the window in its place that `settings` have for their own.
  ModelInfo model_info(std::string_view model, const ModelSettings& settings) const;
  // The model that is meant by a name which a hook or a plugin gives.
  std::string real_model(std::string_view name) const;
  // The model that writes summaries for an agent with these settings; `asked` by a hook, or empty.
  std::string summary_model(std::string_view asked, const ModelSettings& settings) const;

  // The corrections of estimates; what rows and estimators count is without them.
  TokenFactors& factors() const { return factors_; }
  Rows::Count row_count() const;
  // An estimate as the model would count; empty = the model in force.
  std::uint64_t corrected(std::string_view model, std::uint64_t estimated) const;

  // For what is asked on behalf of no conversation, unless the limits name one.
  std::shared_ptr<Account> open_account(AccountLimits limits) const;

 private:
  const RuntimeParts parts_;
  const RuntimeSettings settings_;
  mutable TokenFactors factors_;
};

// One client's part. The process's part outlives it.
class AgentResources {
 public:
  AgentResources(const RuntimeResources& runtime, AgentParts parts, AgentOptions options);

  const AgentParts& parts() const { return parts_; }
  const AgentOptions& options() const { return options_; }
  const RuntimeSettings& runtime_settings() const { return runtime_.settings(); }
  // The options of an agent at that depth; 0 is the user's.
  const AgentOptions& options_at(std::uint32_t depth) const {
    return depth != 0 && options_.of_subagents ? *options_.of_subagents : options_;
  }

  // With the user's window in the place of the table's.
  ModelInfo model_info(std::string_view model) const { return runtime_.model_info(model, options_); }
  std::string real_model(std::string_view name) const { return runtime_.real_model(name); }
  std::string summary_model(std::string_view asked, const AgentOptions& agent) const {
    return runtime_.summary_model(asked, agent);
  }
  // As the user wishes; a model that only summarises, in the place of the conversation's own, thinks as
  // little as it can.
  Thinking thinking_for(std::string_view model, std::uint64_t max_output_tokens, bool summarises) const;

  TokenFactors& factors() const { return runtime_.factors(); }
  Rows::Count row_count() const { return runtime_.row_count(); }
  std::uint64_t corrected(std::string_view model, std::uint64_t estimated) const;

  // For one run of an agent with these options, in this conversation.
  std::shared_ptr<Account> open_account(const AgentOptions& agent, const Conversation& conversation) const;

 private:
  const RuntimeResources& runtime_;
  const AgentParts parts_;
  const AgentOptions options_;
};

}  // namespace agentd
