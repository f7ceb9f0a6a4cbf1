// SPDX-License-Identifier: Apache-2.0
#pragma once
// actions.h - deep copies between a plugin's records and values, in both directions. Every length is read once, every
// record by its own size.
//
// Threading: pure functions.

#include <agentd/hook_abi.h>

#include "core/base/result.h"
#include "core/hooks/action.h"
#include "core/hooks/slot.h"

namespace agentd {

// Copies an action out of a plugin's memory. kInvalid: an impossible size, list or kind.
Result<Action> copy_action(const agentd_action* from);
// Copies the messages of a plugin's list; kInvalid for an impossible stride, role or block.
Result<std::vector<Message>> copy_messages(const agentd_list& from);
Result<std::vector<Block>> copy_blocks(const agentd_list& from);

// A growable record in this side's size: shorter ones are zero-filled, longer ones cut.
template <typename T>
T normalised(const T* from) {
  T out{};
  if (from == nullptr) return out;
  const std::size_t bytes = from->size < sizeof(T) ? from->size : sizeof(T);
  __builtin_memcpy(&out, from, bytes);
  out.size = sizeof(T);
  return out;
}

}  // namespace agentd
