// SPDX-License-Identifier: Apache-2.0
#pragma once
// resources.h - what all sessions of an agent work with: its parts, its options, and what follows from both about
// models, tokens and accounts. Private to this room.
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

class AgentResources {
 public:
  AgentResources(AgentParts parts, AgentOptions options);

  const AgentParts& parts() const { return parts_; }
  const AgentOptions& options() const { return options_; }
  // The options of an agent at that depth; 0 is the user's.
  const AgentOptions& options_at(std::uint32_t depth) const {
    return depth != 0 && options_.of_subagents ? *options_.of_subagents : options_;
  }

  // The table's entry for a model, with the user's window in its place.
  ModelInfo model_info(std::string_view model) const;
  // The model that is meant by a name which a hook or a plugin gives.
  std::string real_model(std::string_view name) const;
  // The model that writes summaries for an agent with these options; `asked` by a hook, or empty.
  std::string summary_model(std::string_view asked, const AgentOptions& agent) const;
  // As the user wishes; a model that only summarises, in the place of the conversation's own, thinks as
  // little as it can.
  Thinking thinking_for(std::string_view model, std::uint64_t max_output_tokens, bool summarises) const;

  // The corrections of estimates; what rows and estimators count is without them.
  TokenFactors& factors() const { return factors_; }
  Rows::Count row_count() const;
  // An estimate as the model would count; empty = the conversations' model.
  std::uint64_t corrected(std::string_view model, std::uint64_t estimated) const;

  // For one run of an agent with these options, in this conversation.
  std::shared_ptr<Account> open_account(const AgentOptions& agent, const Conversation& conversation) const;
  // For what is asked on behalf of no conversation.
  std::shared_ptr<Account> open_account(AccountLimits limits) const;

 private:
  const AgentParts parts_;
  const AgentOptions options_;
  mutable TokenFactors factors_;
};

}  // namespace agentd
