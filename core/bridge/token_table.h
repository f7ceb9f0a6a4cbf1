// SPDX-License-Identifier: Apache-2.0
#pragma once
// token_table.h - maps plugins' tokens to the slots of running calls.
//
// A token is 40 bits of generation and 24 of index; a stale one finds nothing. Slots are made once and lent again; a
// slot keeps its index. The watchdog is a thread that watches all of them, at no cost for the calls.
//
// Threading: thread-safe.

#include <agentd/hook_abi.h>

#include <memory>
#include <vector>

#include "core/base/mutex.h"
#include "core/hooks/slot.h"

namespace agentd {

class TokenTable final : public SlotSource {
 public:
  TokenTable();
  ~TokenTable() override;
  CallSlot* acquire() override;
  void release(CallSlot* slot) override;
  // The slot whose current token this is; null if the token is stale or foreign.
  CallSlot* find(agentd_token token) const;
  // From now on a call whose function still runs at its deadline gets its cancel word set, within 10 to 20 ms (a call
  // of less than 100 ms: within 120). Later calls have no effect. `clock` outlives the table.
  void watch(const Clock& clock);

 private:
  struct Watchdog;
  std::vector<CallSlot*> slots() const;

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<CallSlot>> slots_;  // guarded by mutex_; slots are never freed
  std::vector<CallSlot*> free_ GUARDED_BY(mutex_);
  std::unique_ptr<Watchdog> watchdog_ GUARDED_BY(mutex_);
};

}  // namespace agentd
