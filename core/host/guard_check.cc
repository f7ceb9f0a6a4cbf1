// SPDX-License-Identifier: Apache-2.0
#include "core/host/guard_check.h"

#include "core/hooks/contract.h"

namespace agentd {

void each_named_guard(const HookHostOptions& options,
                      const std::function<void(const std::string& name, const std::string& place)>& take) {
  for (const std::string& name : options.guards) take(name, "hooks.guards");
  for (const auto& [name, settings] : options.settings)
    if (settings.on_failure == FailurePolicy::kClosed) take(name, "hooks." + name + ".on_failure: closed");
}

void GuardCheck::add(std::uint32_t event, bool heard, bool shadow, FailurePolicy on_failure) {
  const EventTraits* const traits = find_event(event);
  const bool bites = traits != nullptr && fails_closed(*traits);
  const bool closed = !shadow && on_failure == FailurePolicy::kClosed;
  guards_ = guards_ || (bites && heard && closed);
  keeps_ = keeps_ && (!bites || !heard || closed);
  any_ = true;
  shadow_ = shadow_ || shadow;
  hears_ = hears_ || heard;
}

std::string GuardCheck::mistake() const {
  if (!any_ || (guards_ && keeps_)) return {};
  return std::string(guards_ ? " guards only some of its events: " : " guards nothing: ") +
         (shadow_   ? "it runs in shadow mode, where its answers are ignored"
          : !hears_ ? "it only observes, and its answers are ignored"
                    : "it fails open, or has only events that cannot be blocked") +
         "; fix that, or remove it from this setting";
}

}  // namespace agentd
