// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_budget.h - how many tokens one plugin may spend by its model calls: in one call of it, and in one run.
//
// The tokens that a request will send are set aside before it is sent, those that it took count afterwards,
// so threads of the plugin that ask at the same time share one budget. A request that is let through may
// pass the limit by its own answer.
//
// Threading: thread-safe; a Hold belongs to one thread.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/account/account.h"
#include "core/base/mutex.h"
#include "core/hooks/services.h"

namespace agentd {

class HookBudget {
 public:
  struct Limits {
    std::uint64_t call_tokens = 0, run_tokens = 0;  // 0 = none
  };
  explicit HookBudget(Limits limits) : limits_(limits) {}

  // The part of the budgets that a running request holds. Tokens that it took are said before it ends.
  class Hold {
   public:
    Hold(HookBudget& budget, ServiceCaller caller, std::shared_ptr<Account> run, std::uint64_t tokens)
        : budget_(&budget), caller_(std::move(caller)), run_(std::move(run)), held_(tokens) {}
    Hold(Hold&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          caller_(std::move(other.caller_)),
          run_(std::move(other.run_)),
          held_(other.held_),
          took_(other.took_) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (budget_ != nullptr) budget_->settle(caller_, run_, held_, took_);
    }
    void took(std::uint64_t tokens) { took_ = tokens; }

   private:
    HookBudget* budget_;
    ServiceCaller caller_;
    std::shared_ptr<Account> run_;
    std::uint64_t held_, took_ = 0;
  };

  // `run`: the account that pays, which stands for its run. kDenied: the request would pass a limit; one sentence
  // with the key that holds it.
  Result<Hold> hold(const ServiceCaller& caller, const std::shared_ptr<Account>& run, std::uint64_t tokens);

 private:
  struct Run {
    std::weak_ptr<Account> account;
    std::map<std::string, std::uint64_t, std::less<>> spent;  // by plugin
  };
  struct Call {
    agentd_token token = 0;
    std::uint64_t spent = 0;
  };
  std::uint64_t& of_call(const ServiceCaller& caller) REQUIRES(mutex_);
  std::uint64_t& of_run(const ServiceCaller& caller, const std::shared_ptr<Account>& run) REQUIRES(mutex_);
  void settle(const ServiceCaller& caller, const std::shared_ptr<Account>& run, std::uint64_t held, std::uint64_t took);

  const Limits limits_;
  Mutex mutex_;
  std::unordered_map<std::uint64_t, Call> calls_ GUARDED_BY(mutex_);  // by slot, which has one call at a time
  std::vector<Run> runs_ GUARDED_BY(mutex_);
};

}  // namespace agentd
