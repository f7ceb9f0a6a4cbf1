// SPDX-License-Identifier: Apache-2.0
#pragma once
// kodelet.h - the shapes of Kodelet's extension protocol: what goes with a request, what an answer means.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dialects/dialect.h"

namespace agentd {

// "tool.call" of AGENTD_EVENT_BEFORE_TOOL_CALL; empty = an extension never hears of this event.
std::string_view extension_event(std::uint32_t event);
// AGENTD_EVENT_ of "tool.call"; 0 = none. "tool.result" is after_tool_call and tool_call_failed:
// the first.
std::uint32_t event_of_extension(std::string_view name);
// The params of extension.event.handle: {id, event, context, payload}.
std::string extension_params(std::uint32_t event, JsonView payload);
// The result of extension.event.handle as a verdict.
Verdict interpret_extension(std::uint32_t event, JsonView payload, JsonView result);

}  // namespace agentd
