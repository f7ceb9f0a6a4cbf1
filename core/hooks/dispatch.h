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
class Withheld;  // core/tools/tool.h
struct Subscription;

// One event to be dispatched.
struct Dispatch {
  std::uint32_t event = 0;
  agentd_conv conversation = 0;
  const agentd_envelope* envelope = nullptr;
  const void* payload = nullptr;
  // The same without messages, for hooks that do not need them; null = payload.
  const void* payload_bare = nullptr;
  // Rows::lineage() of the history that the payload carries; 0 = none, or a list of its own.
  std::uint64_t lineage = 0;
  std::uint64_t deadline_ns = UINT64_MAX;
  // The time of each hook that has none of its own, counted from its call, so that earlier hooks do not shorten it; at
  // the end of a session the time of all together. A hook that got less than half of it is not considered stuck when it
  // misses the deadline. 0 = all share the deadline.
  std::uint64_t budget_ns = 0;
  // Puts a rewritten text into the payload for the next hook. Null = no text to rewrite.
  void (*rewrite)(void* context, std::uint32_t target, std::string_view text) = nullptr;
  // Checks a hook's text before it is used: returns the text to use, or the reason why the hook failed. Null = every
  // text is used unchanged.
  Result<std::string> (*admit)(void* context, std::string_view text) = nullptr;
  // Takes the text out of the payload after a hook has blocked, before observers see it. Null = they see it as it is.
  void (*withdraw)(void* context) = nullptr;
  // Why the hook may not be called any more; empty = it may. A hook that fails closed has then failed, any other is
  // skipped. Called on several threads at once; null = all may.
  std::string (*refusal)(void* context, const Subscription& hook) = nullptr;
  void* context = nullptr;
  // Provides slots for observers that run in parallel; null = they run one after another.
  SlotSource* slots = nullptr;
  // Subscription::flags: hooks without one of them are not called; 0 = all are.
  std::uint16_t only = 0;
  // A hook that is not called, since the event is about its own output. Empty = all are.
  std::string_view except{};
  // The files that a tool's call is not shown. Null = it may see all.
  const Withheld* withheld = nullptr;
};

}  // namespace agentd
