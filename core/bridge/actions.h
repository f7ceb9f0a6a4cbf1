// SPDX-License-Identifier: Apache-2.0
#pragma once
// actions.h - deep copies across the border: from a plugin's records to values, and back into a call's
// memory. Every length is taken once, every record is read by its own size.
//
// Threading: pure functions.

#include <agentd/hook_abi.h>

#include "core/base/result.h"
#include "core/hooks/action.h"
#include "core/hooks/slot.h"

namespace agentd {

// Copies an action out of a plugin's memory. kInvalid: a size, list or kind that cannot be.
Result<Action> copy_action(const agentd_action* from);
// Messages of a plugin's list; kInvalid for an impossible stride, role or block.
Result<std::vector<Message>> copy_messages(const agentd_list& from);
Result<std::vector<Block>> copy_blocks(const agentd_list& from);

// A growable record as this side knows it: shorter ones are zero-filled, longer ones cut.
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
