// SPDX-License-Identifier: Apache-2.0
#include "core/bridge/token_table.h"

#include <pthread.h>

#include <bit>
#include <chrono>
#include <utility>

#include "core/base/for_ever.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace agentd {

namespace {

// The watchdog looks for a deadline this long before it passes; without deadlines it wakes as rarely as kIdle says.
constexpr Milliseconds kTick{10}, kIdle{100};

}  // namespace

struct TokenTable::Watchdog {
  Watchdog(TokenTable& of, const Clock& time) : table(of), clock(time), thread([this] { run(); }) {}
  ~Watchdog() {
    {
      const MutexLock lock(table.mutex_);
      ends = true;
    }
    changed.notify_one();
    thread.join();
  }

  void run();
  // Notifies the calls seen at the last look that still run; returns those seen now.
  using Seen = std::vector<std::pair<CallSlot*, std::uint64_t>>;
  Seen look(const Seen& before) const;

  TokenTable& table;
  const Clock& clock;
  Condition changed;  // of the table's mutex
  bool ends GUARDED_BY(table.mutex_) = false;
  Thread thread;
};

TokenTable::Watchdog::Seen TokenTable::Watchdog::look(const Seen& before) const {
  const std::uint64_t now = clock.monotonic_ns();
  for (const auto& [slot, call] : before) slot->expire(call, now);
  const std::uint64_t ahead = static_cast<std::uint64_t>(std::chrono::nanoseconds(kIdle + kTick).count());
  Seen out;
  for (CallSlot* const slot : table.lent())
    if (const auto call = slot->about_to_expire(now + ahead)) out.emplace_back(slot, *call);
  return out;
}

void TokenTable::Watchdog::run() {
  ::pthread_setname_np(::pthread_self(), "deadlines");
  Seen seen;
  MutexLock lock(table.mutex_);
  while (!ends) {
    if (table.lent_.empty()) {
      seen.clear();
      table.watchdog_sleeps_ = true;
      changed.wait(table.mutex_);
      table.watchdog_sleeps_ = false;
      continue;
    }
    if (changed.wait_for(table.mutex_, clock, seen.empty() ? kIdle : kTick)) continue;
    lock.unlock();
    // If memory is short, nothing expires at this look.
    Seen now;
    (void)thrown_by([&] { now = look(seen); });
    seen = std::move(now);
    lock.lock();
  }
}

TokenTable::TokenTable() = default;

void TokenTable::watch(const Clock& clock) {
  const MutexLock lock(mutex_);
  if (!watchdog_) watchdog_ = std::make_unique<Watchdog>(*this, clock);
}

std::vector<CallSlot*> TokenTable::lent() const {
  const MutexLock lock(mutex_);
  return lent_;
}

TokenTable::Counts TokenTable::counts() const {
  const MutexLock lock(mutex_);
  return {lent_.size(), slots_.size(), watchdog_sleeps_};
}

// A slot that is still lent belongs to an abandoned instance, one of whose threads may still read it.
TokenTable::~TokenTable() {
  watchdog_.reset();
  for (const CallSlot* const slot : lent_)
    keep_for_ever(std::shared_ptr<CallSlot>(std::move(slots_[slot->index() - 1])));
  for (const auto& block : blocks_) delete[] block.load(std::memory_order_relaxed);
}

TokenTable::Position TokenTable::position_of(std::size_t index) {
  const std::size_t number = index - 1 + (std::size_t{1} << kFirstBlockBits);
  const auto bits = static_cast<std::size_t>(std::bit_width(number)) - 1;
  return {bits - kFirstBlockBits, number - (std::size_t{1} << bits)};
}

// Index 0 is never lent, so no token is 0.
CallSlot* TokenTable::make_slot() {
  const std::size_t index = slots_.size() + 1;
  AGENTD_ASSERT(index <= kSlotsMax);
  const auto [block, place] = position_of(index);
  if (blocks_[block].load(std::memory_order_relaxed) == nullptr) {
    // Room for all slots of the block, so that release() needs no memory.
    const std::size_t places = std::size_t{1} << (kFirstBlockBits + block), all = index - 1 + places;
    slots_.reserve(all);
    free_.reserve(all);
    lent_.reserve(all);
    lent_at_.resize(all);
    blocks_[block].store(new Place[places]{}, std::memory_order_release);
  }
  slots_.push_back(std::make_unique<CallSlot>(static_cast<std::uint32_t>(index)));
  CallSlot* const slot = slots_.back().get();
  blocks_[block].load(std::memory_order_relaxed)[place].store(slot, std::memory_order_release);
  return slot;
}

CallSlot* TokenTable::acquire() {
  const MutexLock lock(mutex_);
  CallSlot* slot = nullptr;
  if (free_.empty()) {
    slot = make_slot();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  lent_at_[slot->index() - 1] = lent_.size();
  lent_.push_back(slot);
  if (watchdog_sleeps_) watchdog_->changed.notify_one();
  return slot;
}

void TokenTable::release(CallSlot* slot) {
  slot->set_deadline(UINT64_MAX);
  slot->close();
  slot->clean();
  const MutexLock lock(mutex_);
  // The last one takes its place.
  const std::size_t at = lent_at_[slot->index() - 1];
  lent_[at] = lent_.back();
  lent_at_[lent_[at]->index() - 1] = at;
  lent_.pop_back();
  free_.push_back(slot);
}

CallSlot* TokenTable::find(agentd_token token) const {
  const std::size_t index = token & ((1u << CallSlot::kIndexBits) - 1);
  if (index == 0) return nullptr;
  const auto [block, place] = position_of(index);
  const Place* const places = blocks_[block].load(std::memory_order_acquire);
  if (places == nullptr) return nullptr;
  CallSlot* const slot = places[place].load(std::memory_order_acquire);
  return slot != nullptr && slot->is_current(token) ? slot : nullptr;
}

}  // namespace agentd
