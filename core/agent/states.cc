// SPDX-License-Identifier: Apache-2.0
#include "core/agent/states.h"

#include <cstddef>
#include <iterator>

namespace agentd {
namespace {

// In the order of the enumerators.
constexpr std::string_view kToolStatus[] = {"ok", "error", "denied", "invalid", "cancelled", "unknown"};
constexpr std::string_view kMessageSource[] = {"user", "hook", "recipe", "agent", "schema"};
constexpr std::string_view kHookEffect[] = {"block", "rewrite", "stop_run"};
constexpr std::string_view kUsagePurpose[] = {"turn", "summary", "thread", "subagent", "interrupted"};
constexpr std::string_view kPermissionDecision[] = {"allow", "deny"};
constexpr std::string_view kWaitDecision[] = {"allow", "deny", "expired", "superseded"};

template <class State>
constexpr bool ends_with(std::size_t size, State last) {
  return size == static_cast<std::size_t>(last) + 1;
}
static_assert(ends_with(std::size(kToolStatus), ToolStatus::kUnknown));
static_assert(ends_with(std::size(kMessageSource), MessageSource::kSchema));
static_assert(ends_with(std::size(kHookEffect), HookEffect::kStopRun));
static_assert(ends_with(std::size(kUsagePurpose), UsagePurpose::kInterrupted));
static_assert(ends_with(std::size(kPermissionDecision), PermissionDecision::kDeny));
static_assert(ends_with(std::size(kWaitDecision), WaitDecision::kSuperseded));

}  // namespace

std::string_view name_of(ToolStatus status) { return kToolStatus[static_cast<std::size_t>(status)]; }
std::string_view name_of(MessageSource source) { return kMessageSource[static_cast<std::size_t>(source)]; }
std::string_view name_of(HookEffect effect) { return kHookEffect[static_cast<std::size_t>(effect)]; }
std::string_view name_of(UsagePurpose purpose) { return kUsagePurpose[static_cast<std::size_t>(purpose)]; }
std::string_view name_of(PermissionDecision decision) {
  return kPermissionDecision[static_cast<std::size_t>(decision)];
}
std::string_view name_of(WaitDecision decision) { return kWaitDecision[static_cast<std::size_t>(decision)]; }

}  // namespace agentd
