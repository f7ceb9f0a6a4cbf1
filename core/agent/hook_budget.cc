// SPDX-License-Identifier: Apache-2.0
#include "core/agent/hook_budget.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/saturating.h"
#include "core/hooks/slot.h"

namespace agentd {
namespace {

Error refusal(const ServiceCaller& caller, std::string_view scope, std::string_view key, std::uint64_t spent,
              std::uint64_t limit, std::uint64_t tokens) {
  return {Code::kDenied, std::string(caller.plugin_id) + " has spent " + with_commas(spent) + " of the " +
                             with_commas(limit) + " tokens that a plugin may spend in one " + std::string(scope) +
                             ", and the next request takes about " + with_commas(tokens) + "; " + std::string(key) +
                             " sets the limit"};
}

bool passes(std::uint64_t limit, std::uint64_t spent, std::uint64_t tokens) {
  return limit != 0 && (spent >= limit || tokens > limit - spent);
}

}  // namespace

// A slot has another token in each call.
std::uint64_t& HookBudget::of_call(const ServiceCaller& caller) {
  Call& call = calls_[caller.call & ((1u << CallSlot::kIndexBits) - 1)];
  if (call.token != caller.call) call = {caller.call, 0};
  return call.spent;
}

std::uint64_t& HookBudget::of_run(const ServiceCaller& caller, const std::shared_ptr<Account>& run) {
  std::erase_if(runs_, [](const Run& each) { return each.account.expired(); });
  auto found = std::find_if(runs_.begin(), runs_.end(), [&](const Run& each) { return each.account.lock() == run; });
  if (found == runs_.end()) found = runs_.insert(runs_.end(), {run, {}});
  return found->spent[std::string(caller.plugin_id)];
}

Result<HookBudget::Hold> HookBudget::hold(const ServiceCaller& caller, const std::shared_ptr<Account>& run,
                                          std::uint64_t tokens) {
  const MutexLock lock(mutex_);
  std::uint64_t& in_call = of_call(caller);
  std::uint64_t& in_run = of_run(caller, run);
  if (passes(limits_.call_tokens, in_call, tokens))
    return refusal(caller, "call", "budget.hook_call_tokens", in_call, limits_.call_tokens, tokens);
  if (passes(limits_.run_tokens, in_run, tokens))
    return refusal(caller, "run", "budget.hook_run_tokens", in_run, limits_.run_tokens, tokens);
  in_call = saturating_add(in_call, tokens);
  in_run = saturating_add(in_run, tokens);
  return Hold(*this, caller, run, tokens);
}

void HookBudget::settle(const ServiceCaller& caller, const std::shared_ptr<Account>& run, std::uint64_t held,
                        std::uint64_t took) {
  const MutexLock lock(mutex_);
  const auto take = [&](std::uint64_t& spent) { spent = saturating_add(saturating_subtract(spent, held), took); };
  take(of_call(caller));
  take(of_run(caller, run));
}

}  // namespace agentd
