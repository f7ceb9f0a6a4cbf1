// SPDX-License-Identifier: Apache-2.0
#pragma once
// states.h - the states of a run that stand as words in the log and in the events of a run: one table for each.
//
// Threading: pure functions.

#include <string_view>

namespace agentd {

// The result of a tool call: the status of its tool_result.
enum class ToolStatus { kOk, kError, kDenied, kInvalid, kCancelled, kUnknown };
std::string_view name_of(ToolStatus status);

// The author of a message in the user's role.
enum class MessageSource { kUser, kHook, kRecipe, kAgent, kSchema };
std::string_view name_of(MessageSource source);

// The effect of a hook, in a hook_effect record.
enum class HookEffect { kBlock, kRewrite, kStopRun };
std::string_view name_of(HookEffect effect);

// The purpose of tokens, in a usage record.
enum class UsagePurpose { kTurn, kSummary, kThread, kSubagent, kInterrupted };
std::string_view name_of(UsagePurpose purpose);

// The decision about a tool call, in a permission record.
enum class PermissionDecision { kAllow, kDeny };
std::string_view name_of(PermissionDecision decision);

// The decision in an answer record: of a person, or by the clock or a newer message in a person's place.
enum class WaitDecision { kAllow, kDeny, kExpired, kSuperseded };
std::string_view name_of(WaitDecision decision);

}  // namespace agentd
