// SPDX-License-Identifier: Apache-2.0
#include "core/agent/hook_budget.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/saturating.h"
#include "core/hooks/slot.h"

namespace agentd {
namespace {

constexpr std::uint64_t kAnswerMin = 1;  // tokens; with less left nothing is sent

struct Scope {
  std::string_view name, key;
};
constexpr Scope kCall{"call", "budget.hook_call_tokens"}, kRun{"run", "budget.hook_run_tokens"};

Error refusal(const ServiceCaller& caller, const Scope& scope, std::uint64_t limit, std::uint64_t spent,
              std::uint64_t held, std::uint64_t prompt) {
  std::string text = std::string(caller.plugin_id) + " has spent " + with_commas(spent) + " of the " +
                     with_commas(limit) + " tokens that a plugin may spend in one " + std::string(scope.name);
  if (held != 0) text += ", its requests under way may take " + with_commas(held);
  return {Code::kDenied, text + ", and the next request takes about " + with_commas(prompt) + " before its answer; " +
                             std::string(scope.key) + " sets the limit"};
}

}  // namespace

// A slot has another token in each call.
HookBudget::Spent& HookBudget::of_call(const ServiceCaller& caller) {
  Call& call = calls_[caller.call & ((1u << CallSlot::kIndexBits) - 1)];
  if (call.token != caller.call) call = {caller.call, {}};
  return call.spent;
}

HookBudget::Spent& HookBudget::of_run(const ServiceCaller& caller, const std::shared_ptr<Account>& run) {
  std::erase_if(runs_, [](const Run& each) { return each.account.expired(); });
  auto found = std::find_if(runs_.begin(), runs_.end(), [&](const Run& each) { return each.account.lock() == run; });
  if (found == runs_.end()) found = runs_.insert(runs_.end(), {run, {}});
  return found->spent[std::string(caller.plugin_id)];
}

Result<HookBudget::Hold> HookBudget::hold(const ServiceCaller& caller, const std::shared_ptr<Account>& run, Wish wish) {
  const MutexLock lock(mutex_);
  Spent& in_call = of_call(caller);
  Spent& in_run = of_run(caller, run);
  wish.answer = std::max(wish.answer, kAnswerMin);
  std::string_view bounded_by;
  const auto bound = [&](const Scope& scope, std::uint64_t limit, const Spent& so_far) -> Result<void> {
    if (limit == 0) return {};
    const std::uint64_t left = saturating_subtract(limit, saturating_add(so_far.tokens, so_far.held));
    if (left < saturating_add(wish.prompt, kAnswerMin))
      return refusal(caller, scope, limit, so_far.tokens, so_far.held, wish.prompt);
    if (wish.answer <= left - wish.prompt) return {};
    wish.answer = left - wish.prompt;
    bounded_by = scope.key;
    return {};
  };
  AGENTD_TRY_VOID(bound(kCall, limits_.call_tokens, in_call));
  AGENTD_TRY_VOID(bound(kRun, limits_.run_tokens, in_run));
  const std::uint64_t both = saturating_add(wish.prompt, wish.answer);
  in_call.held = saturating_add(in_call.held, both);
  in_run.held = saturating_add(in_run.held, both);
  return Hold(*this, caller, run, wish, bounded_by);
}

void HookBudget::settle(const ServiceCaller& caller, const std::shared_ptr<Account>& run, std::uint64_t held,
                        std::uint64_t took) {
  const MutexLock lock(mutex_);
  const auto take = [&](Spent& spent) {
    spent.held = saturating_subtract(spent.held, held);
    spent.tokens = saturating_add(spent.tokens, took);
  };
  take(of_call(caller));
  take(of_run(caller, run));
}

}  // namespace agentd
