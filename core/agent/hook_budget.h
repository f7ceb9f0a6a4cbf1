// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_budget.h - how many tokens one plugin may spend by its model calls: in one call of it, and in one run.
//
// Before a request is sent, its prompt and its longest answer are set aside; what it took counts afterwards. Hence
// threads of the plugin that ask at the same time share one budget. The longest answer is what is left after the
// prompt; when nothing is left for one, the request is refused.
//
// Threading: thread-safe; a Hold belongs to one thread.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/account/account.h"
#include "core/base/mutex.h"
#include "core/base/saturating.h"
#include "core/hooks/services.h"

namespace agentd {

class HookBudget {
 public:
  struct Limits {
    std::uint64_t call_tokens = 0, run_tokens = 0;  // 0 = none
  };
  explicit HookBudget(Limits limits) : limits_(limits) {}

  // The tokens of a request: those that it sends, and the longest answer, thinking included.
  struct Wish {
    std::uint64_t prompt = 0, answer = 0;
  };
  // The part of the budgets that a running request holds. Tokens that it took are said before it ends.
  class Hold {
   public:
    Hold(HookBudget& budget, ServiceCaller caller, std::shared_ptr<Account> run, Wish granted,
         std::string_view bounded_by)
        : budget_(&budget),
          caller_(std::move(caller)),
          run_(std::move(run)),
          granted_(granted),
          bounded_by_(bounded_by) {}
    Hold(Hold&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          caller_(std::move(other.caller_)),
          run_(std::move(other.run_)),
          granted_(other.granted_),
          took_(other.took_),
          bounded_by_(other.bounded_by_) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (budget_ != nullptr) budget_->settle(caller_, run_, saturating_add(granted_.prompt, granted_.answer), took_);
    }
    // The tokens that the answer may have; never 0.
    std::uint64_t answer() const { return granted_.answer; }
    // The key of the budget that allows no longer answer; empty = the answer is as long as wished.
    std::string_view bounded_by() const { return bounded_by_; }
    void took(std::uint64_t tokens) { took_ = tokens; }

   private:
    HookBudget* budget_;
    ServiceCaller caller_;
    std::shared_ptr<Account> run_;
    Wish granted_;
    std::uint64_t took_ = 0;
    std::string_view bounded_by_;
  };

  // `run`: the account that pays, which stands for its run. kDenied: a budget does not cover the prompt and one token
  // of an answer; one sentence with the key that holds it.
  Result<Hold> hold(const ServiceCaller& caller, const std::shared_ptr<Account>& run, Wish wish);

 private:
  struct Spent {
    std::uint64_t tokens = 0, held = 0;  // held: of requests under way
  };
  struct Run {
    std::weak_ptr<Account> account;
    std::map<std::string, Spent, std::less<>> spent;  // by plugin
  };
  struct Call {
    agentd_token token = 0;
    Spent spent;
  };
  Spent& of_call(const ServiceCaller& caller) REQUIRES(mutex_);
  Spent& of_run(const ServiceCaller& caller, const std::shared_ptr<Account>& run) REQUIRES(mutex_);
  void settle(const ServiceCaller& caller, const std::shared_ptr<Account>& run, std::uint64_t held, std::uint64_t took);

  const Limits limits_;
  Mutex mutex_;
  std::unordered_map<std::uint64_t, Call> calls_ GUARDED_BY(mutex_);  // by slot, which has one call at a time
  std::vector<Run> runs_ GUARDED_BY(mutex_);
};

}  // namespace agentd
