// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_account.h - an account as the requests of one plugin draw from it: within the plugin's own budgets as well.
// Private to this room.
//
// Threading: one request at a time.

#include <memory>
#include <string_view>
#include <utility>

#include "core/agent/hook_budget.h"
#include "core/agent/resources.h"

namespace agentd {

class HookAccount final : public ModelProvider {
 public:
  // `runtime` and `budget` outlive it, and the caller's texts do.
  HookAccount(const RuntimeResources& runtime, HookBudget& budget, ServiceCaller caller,
              std::shared_ptr<Account> account)
      : runtime_(runtime), budget_(budget), caller_(std::move(caller)), account_(std::move(account)) {}

  std::string_view name() const override { return account_->name(); }
  std::string_view api() const override { return account_->api(); }
  Origin origin_of(std::string_view model) const override { return account_->origin_of(model); }
  // The answer is no longer than the budgets allow. kLimit: they do not cover the request, and nothing was sent.
  ModelResult complete(const ModelRequest& request, ModelSink& sink, const CancelToken& cancel,
                       Deadline deadline) override;

  // The key of the budget that has shortened an answer; empty = none was.
  std::string_view bounded_by() const { return bounded_by_; }

 private:
  const RuntimeResources& runtime_;
  HookBudget& budget_;
  const ServiceCaller caller_;
  const std::shared_ptr<Account> account_;
  std::string_view bounded_by_;
};

}  // namespace agentd
