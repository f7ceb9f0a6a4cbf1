// SPDX-License-Identifier: Apache-2.0
#include "core/bridge/token_table.h"

#include "core/base/result.h"

namespace agentd {

CallSlot* TokenTable::acquire() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    // Index 0 is never lent, so that no token is 0.
    const std::size_t index = slots_.size() + 1;
    AGENTD_ASSERT(index < (1u << CallSlot::kIndexBits));
    slots_.push_back(std::make_unique<CallSlot>(static_cast<std::uint32_t>(index)));
    free_.push_back(slots_.back().get());
  }
  CallSlot* const slot = free_.back();
  free_.pop_back();
  return slot;
}

void TokenTable::release(CallSlot* slot) {
  slot->close();
  slot->clean();
  const std::lock_guard lock(mutex_);
  free_.push_back(slot);
}

CallSlot* TokenTable::find(agentd_token token) const {
  const std::size_t index = token & ((1u << CallSlot::kIndexBits) - 1);
  const std::lock_guard lock(mutex_);
  if (index == 0 || index > slots_.size()) return nullptr;
  CallSlot* const slot = slots_[index - 1].get();
  return slot->is_current(token) ? slot : nullptr;
}

}  // namespace agentd
