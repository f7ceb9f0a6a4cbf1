// SPDX-License-Identifier: Apache-2.0
#pragma once
// kodelet.h - Kodelet's extension protocol: the params of a request, and the meaning of an answer.
//
// Threading: pure functions.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dialects/dialect.h"

namespace agentd {

// "tool.call" for AGENTD_EVENT_BEFORE_TOOL_CALL; empty = an extension never receives this event.
std::string_view extension_event(std::uint32_t event);
// AGENTD_EVENT_ for "tool.call"; 0 = none. "tool.result" is both after_tool_call and tool_call_failed: returns the
// first.
std::uint32_t event_of_extension(std::string_view name);
// The params of extension.event.handle: {id, event, context, payload}.
std::string extension_params(std::uint32_t event, JsonView payload);
// The result of extension.event.handle as a verdict.
Verdict interpret_extension(std::uint32_t event, JsonView payload, JsonView result);

}  // namespace agentd
