// SPDX-License-Identifier: Apache-2.0
#pragma once
// hook_ledger.h - the use that hooks make of one run: their calls, their time, the tokens of the models that they
// ask, the processes that they leave, and whether one of them has had its share.
//
// A subagent's ledger stands below that of the run which started it: its entries count there, too, and so do the
// limits.
//
// Threading: thread-safe.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/agent.h"
#include "core/base/mutex.h"
#include "core/conversation/hook_use.h"
#include "core/hooks/dispatcher.h"

namespace agentd {

class HookLedger {
 public:
  // `limits` outlives it.
  explicit HookLedger(const HookLimitTable& limits, std::shared_ptr<HookLedger> above = nullptr)
      : limits_(limits), above_(std::move(above)) {}

  void count_call(const HookTrace& call);
  // The use by a plugin's threads and compactions.
  void count_usage(std::string_view plugin, const Usage& usage);
  void count_thread(std::string_view plugin);

  // "it has used its 3 calls of this run (hooks.max_calls)"; empty = it may be called. `file`: what the limits call
  // all hooks of its file, which each of them may use; empty = it has no such name.
  std::string refusal(std::string_view hook, std::string_view file = {}) const;

  // In the order of their first entries.
  std::vector<HookUse> uses() const;

 private:
  HookUse& of_hook(std::string_view hook, std::string_view plugin) REQUIRES(mutex_);
  HookUse& of_plugin(std::string_view plugin) REQUIRES(mutex_);
  const HookLimits& limits_of(std::string_view hook, std::string_view file) const;

  const HookLimitTable& limits_;
  const std::shared_ptr<HookLedger> above_;
  mutable Mutex mutex_;
  std::vector<HookUse> rows_ GUARDED_BY(mutex_);
};

}  // namespace agentd
