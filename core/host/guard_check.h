// SPDX-License-Identifier: Apache-2.0
#pragma once
// guard_check.h - checks that a guard of the configuration can block anything.
//
// Threading: thread-compatible.

#include <cstdint>
#include <functional>
#include <string>

#include "core/hooks/dispatcher.h"
#include "core/host/hook_host.h"

namespace agentd {

// Calls `take` for every name that hooks.guards or hooks.NAME.on_failure: closed makes a guard, with the setting in
// readable form.
void each_named_guard(const HookHostOptions& options,
                      const std::function<void(const std::string& name, const std::string& place)>& take);

// Collects the events of one name.
class GuardCheck {
 public:
  // `heard`: its answer is used (it does not only observe).
  void add(std::uint32_t event, bool heard, bool shadow, FailurePolicy on_failure);
  // Completes a sentence that begins with the name; empty = it guards all it can, or has no events.
  std::string mistake() const;

 private:
  bool any_ = false, shadow_ = false, hears_ = false, guards_ = false, keeps_ = true;
};

}  // namespace agentd
