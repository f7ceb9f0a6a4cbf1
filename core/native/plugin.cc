// SPDX-License-Identifier: Apache-2.0
#include "core/native/plugin.h"

namespace agentd {

std::uint16_t subscription_flags(const Manifest& manifest, std::uint16_t flags) {
  const bool hears = (flags & AGENTD_HOOK_OBSERVES) != 0 && manifest.abi_minor >= 1;
  return static_cast<std::uint16_t>(flags | (hears ? kHearsDenials : 0) |
                                    (manifest.abi_minor == 0 ? kSeesCallsApart : 0));
}

FailurePolicy failure_policy(const Manifest& manifest, std::uint16_t flags,
                             const std::optional<FailurePolicy>& configured) {
  if (configured) return *configured;
  const bool guards = (flags & (AGENTD_HOOK_GATES | AGENTD_HOOK_REDACTS)) != 0 || manifest.has_capability("gate") ||
                      manifest.has_capability("redact");
  return guards ? FailurePolicy::kClosed : FailurePolicy::kOpen;
}

void tell_refusal(const PluginConfig& config, const std::string& name, const Error& why) {
  if (!config.refused) return;
  const std::string prefix = name + ": ";
  config.refused(why.message.starts_with(prefix) ? why.message.substr(prefix.size()) : why.message);
}

}  // namespace agentd
