// SPDX-License-Identifier: Apache-2.0
#pragma once
// guard_check.h - whether what the configuration calls a guard can block anything.
//
// Threading: thread-compatible.

#include <cstdint>
#include <functional>
#include <string>

#include "core/hooks/dispatcher.h"
#include "core/host/hook_host.h"

namespace agentd {

// Every name that hooks.guards or hooks.NAME.on_failure: closed takes for a guard, with the setting
// for people.
void each_named_guard(const HookHostOptions& options,
                      const std::function<void(const std::string& name, const std::string& place)>& take);

// The events of one name, one after another.
class GuardCheck {
 public:
  // `heard`: its answer counts (it does not only observe).
  void add(std::uint32_t event, bool heard, bool shadow, FailurePolicy on_failure);
  // The end of a sentence that begins with the name; empty = it guards what it can, or has no event
  // at all.
  std::string mistake() const;

 private:
  bool any_ = false, shadow_ = false, hears_ = false, guards_ = false, keeps_ = true;
};

}  // namespace agentd
