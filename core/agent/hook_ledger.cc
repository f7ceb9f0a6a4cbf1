// SPDX-License-Identifier: Apache-2.0
#include "core/agent/hook_ledger.h"

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/saturating.h"

namespace agentd {

HookUse& HookLedger::of_hook(std::string_view hook, std::string_view plugin) {
  const auto mine = [&](const HookUse& row) {
    // Its plugin may have asked a model before its first call has ended.
    return row.hook == hook || (row.hook.empty() && row.plugin == plugin);
  };
  auto found = std::find_if(rows_.begin(), rows_.end(), mine);
  if (found == rows_.end()) found = rows_.emplace(rows_.end());
  found->hook = hook;
  found->plugin = plugin;
  return *found;
}

HookUse& HookLedger::of_plugin(std::string_view plugin) {
  auto found = std::find_if(rows_.begin(), rows_.end(), [&](const HookUse& row) { return row.plugin == plugin; });
  if (found == rows_.end()) found = rows_.emplace(rows_.end());
  found->plugin = plugin;
  return *found;
}

void HookLedger::count_call(const HookTrace& call) {
  if (above_) above_->count_call(call);
  if (call.effect == AnswerEffect::kSkipped && !call.refused) return;
  const MutexLock lock(mutex_);
  HookUse& use = of_hook(call.hook, call.plugin);
  if (call.refused) {
    ++use.refused;
    return;
  }
  ++use.calls;
  if (call.status < 0) ++use.failures;
  use.duration_ns = saturating_add(use.duration_ns, call.duration_ns);
  use.children += call.children;
}

void HookLedger::count_usage(std::string_view plugin, const Usage& usage) {
  if (above_) above_->count_usage(plugin, usage);
  const MutexLock lock(mutex_);
  HookUse& use = of_plugin(plugin);
  use.tokens = saturating_add(use.tokens, usage.total());
  use.cost_nano_usd = saturating_add(use.cost_nano_usd, usage.cost_nano_usd);
}

void HookLedger::count_thread(std::string_view plugin) {
  if (above_) above_->count_thread(plugin);
  const MutexLock lock(mutex_);
  ++of_plugin(plugin).threads;
}

const HookLimits& HookLedger::limits_of(std::string_view hook, std::string_view file) const {
  static constexpr HookLimits kNone;
  auto found = limits_.find(hook);
  if (found == limits_.end()) found = limits_.find(file);
  if (found == limits_.end()) found = limits_.find(std::string_view());
  return found == limits_.end() ? kNone : found->second;
}

std::string HookLedger::refusal(std::string_view hook, std::string_view file) const {
  if (above_) return above_->refusal(hook, file);
  const HookLimits& limits = limits_of(hook, file);
  const MutexLock lock(mutex_);
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const HookUse& use) { return use.hook == hook; });
  if (found == rows_.end()) return {};
  struct Limit {
    std::uint64_t used, most;
    const char *one, *many, *key;
  };
  constexpr std::uint64_t kNsInSecond = 1'000'000'000;
  const Limit all[] = {{found->calls, limits.calls, "call", "calls", "max_calls"},
                       {found->duration_ns / kNsInSecond, limits.seconds, "second", "seconds", "max_seconds"},
                       {found->children, limits.children, "child process", "child processes", "max_children"}};
  for (const Limit& limit : all)
    if (limit.most != 0 && limit.used >= limit.most)
      return "it has used its " + with_commas(limit.most) + " " + (limit.most == 1 ? limit.one : limit.many) +
             " of this run (hooks." + limit.key + ")";
  return {};
}

std::vector<HookUse> HookLedger::uses() const {
  const MutexLock lock(mutex_);
  return rows_;
}

}  // namespace agentd
