// SPDX-License-Identifier: Apache-2.0
#pragma once
// token_table.h - maps plugins' tokens to the slots of running calls.
//
// A token is 40 bits of generation and 24 of index; a stale one finds nothing. Slots are made once and lent again; a
// slot keeps its index. Looking a token up takes no lock, however many sessions do so at once.
//
// The watchdog is a thread that watches the lent slots, at no cost for the calls. It looks ten times a second while a
// slot is lent, and sleeps while none is: idle sessions hold none.
//
// Threading: thread-safe.

#include <agentd/hook_abi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/mutex.h"
#include "core/hooks/slot.h"

namespace agentd {

class TokenTable final : public SlotSource {
 public:
  // Slots that can be lent at once: a limit of tokens, far above that of memory. Beyond it the process ends.
  static constexpr std::size_t kSlotsMax = (std::size_t{1} << CallSlot::kIndexBits) - 1;

  TokenTable();
  ~TokenTable() override;
  CallSlot* acquire() override;
  void release(CallSlot* slot) override;
  // The slot whose current token this is; null if the token is stale or foreign.
  CallSlot* find(agentd_token token) const;
  // From now on a call whose function still runs at its deadline gets its cancel word set, within 10 to 20 ms (a call
  // of less than 100 ms: within 120). Later calls have no effect. `clock` outlives the table.
  void watch(const Clock& clock);

  struct Counts {
    std::size_t lent = 0, made = 0;
    bool watchdog_sleeps = false;  // false also without one
  };
  Counts counts() const;

 private:
  struct Watchdog;
  // The slots by index, in blocks: block k has twice as many places as the one before, and no place ever moves.
  using Place = std::atomic<CallSlot*>;
  static constexpr std::size_t kFirstBlockBits = 6;
  static constexpr std::size_t kBlocks = CallSlot::kIndexBits - kFirstBlockBits + 1;
  struct Position {
    std::size_t block, place;
  };
  static Position position_of(std::size_t index);
  CallSlot* make_slot() REQUIRES(mutex_);
  std::vector<CallSlot*> lent() const;

  std::array<std::atomic<Place*>, kBlocks> blocks_{};  // they grow under mutex_, and are read without it
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<CallSlot>> slots_ GUARDED_BY(mutex_);  // by index - 1; freed with the table alone
  std::vector<CallSlot*> free_ GUARDED_BY(mutex_), lent_ GUARDED_BY(mutex_);
  std::vector<std::size_t> lent_at_ GUARDED_BY(mutex_);  // by index - 1: where a lent slot is in lent_
  bool watchdog_sleeps_ GUARDED_BY(mutex_) = false;      // until a slot is lent
  std::unique_ptr<Watchdog> watchdog_ GUARDED_BY(mutex_);
};

}  // namespace agentd
