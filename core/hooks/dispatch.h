// SPDX-License-Identifier: Apache-2.0
#pragma once
// dispatch.h - one event to be dispatched: the payload that hooks see, and the limits that hold meanwhile.
//
// Threading: a value of the thread that dispatches; its functions say who calls them.

#include <agentd/hook_abi.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace agentd {

class SlotSource;
struct Subscription;

// One event to be dispatched.
struct Dispatch {
  std::uint32_t event = 0;
  agentd_conv conversation = 0;
  const agentd_envelope* envelope = nullptr;
  const void* payload = nullptr;
  // The same without messages, for hooks that do not want them; null = payload.
  const void* payload_bare = nullptr;
  // Rows::lineage() of the history that the payload carries; 0 = none, or a list of its own.
  std::uint64_t lineage = 0;
  std::uint64_t deadline_ns = UINT64_MAX;
  // What each hook gets that has no time of its own, counted from its call, so that no gate is cut short by those
  // before it; at the end of a session what all get together. A hook that got less than half of it is not called
  // stuck when it misses the deadline. 0 = all share the deadline.
  std::uint64_t budget_ns = 0;
  // Puts a rewritten text into the payload, so that the next hook sees it. Null = no text to rewrite.
  void (*rewrite)(void* context, std::uint32_t target, std::string_view text) = nullptr;
  // Looks at a text that a hook puts in place, before anybody sees it: the text to take, or why it is that
  // hook's failure. Null = every text is taken as it is.
  Result<std::string> (*admit)(void* context, std::string_view text) = nullptr;
  // Why the hook may not be called any more; empty = it may. One that fails closed has failed then, any other is
  // passed over. Called on several threads at once; null = all may.
  std::string (*refusal)(void* context, const Subscription& hook) = nullptr;
  void* context = nullptr;
  // Where observers that run at the same time get their slots; null = they run one after another.
  SlotSource* slots = nullptr;
  // Subscription::flags: hooks without one of them are not asked; 0 = all are.
  std::uint16_t only = 0;
  // A hook of a group that is not asked: what it is about are its own words. Empty = all are.
  std::string_view except{};
};

}  // namespace agentd
