// SPDX-License-Identifier: Apache-2.0
#pragma once
// token_table.h - from the tokens that plugins hold to the slots of running calls.
//
// A token is 40 bits of generation and 24 of index; a stale one finds nothing. Slots are made once and
// lent again: a slot's index is its own for ever.
//
// Threading: thread-safe.

#include <agentd/hook_abi.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/hooks/slot.h"

namespace agentd {

class TokenTable final : public SlotSource {
 public:
  CallSlot* acquire() override;
  void release(CallSlot* slot) override;
  // The slot whose current token this is; null when it is stale or foreign.
  CallSlot* find(agentd_token token) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<CallSlot>> slots_;  // guarded by mutex_; slots are never freed
  std::vector<CallSlot*> free_;                   // guarded by mutex_
};

}  // namespace agentd
