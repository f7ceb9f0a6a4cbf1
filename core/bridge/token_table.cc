// SPDX-License-Identifier: Apache-2.0
#include "core/bridge/token_table.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "core/base/for_ever.h"
#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace agentd {

namespace {

// The watchdog looks for a deadline this long before it passes; without deadlines it rarely wakes.
constexpr Milliseconds kTick{10}, kIdle{100};

}  // namespace

struct TokenTable::Watchdog {
  Watchdog(const TokenTable& of, const Clock& time) : table(of), clock(time), thread([this] { run(); }) {}
  ~Watchdog() {
    {
      const MutexLock lock(mutex);
      ends = true;
    }
    changed.notify_one();
    thread.join();
  }

  void run();
  // Notifies the calls seen at the last look that still run; returns those seen now.
  using Seen = std::vector<std::pair<CallSlot*, std::uint64_t>>;
  Seen look(const Seen& before) const;

  const TokenTable& table;
  const Clock& clock;
  Mutex mutex;
  Condition changed;
  bool ends GUARDED_BY(mutex) = false;
  Thread thread;
};

TokenTable::Watchdog::Seen TokenTable::Watchdog::look(const Seen& before) const {
  const std::uint64_t now = clock.monotonic_ns();
  for (const auto& [slot, call] : before) slot->expire(call, now);
  const std::uint64_t ahead = static_cast<std::uint64_t>(std::chrono::nanoseconds(kIdle + kTick).count());
  Seen out;
  for (CallSlot* const slot : table.slots())
    if (const auto call = slot->about_to_expire(now + ahead)) out.emplace_back(slot, *call);
  return out;
}

void TokenTable::Watchdog::run() {
  ::pthread_setname_np(::pthread_self(), "deadlines");
  Seen seen;
  MutexLock lock(mutex);
  while (!ends) {
    if (changed.wait_for(mutex, clock, seen.empty() ? kIdle : kTick)) continue;
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

std::vector<CallSlot*> TokenTable::slots() const {
  const MutexLock lock(mutex_);
  std::vector<CallSlot*> out;
  for (const auto& slot : slots_) out.push_back(slot.get());
  return out;
}

// A slot that is still lent belongs to an abandoned instance, one of whose threads may still read it.
TokenTable::~TokenTable() {
  watchdog_.reset();
  for (auto& slot : slots_)
    if (std::find(free_.begin(), free_.end(), slot.get()) == free_.end())
      keep_for_ever(std::shared_ptr<CallSlot>(std::move(slot)));
}

CallSlot* TokenTable::acquire() {
  const MutexLock lock(mutex_);
  if (free_.empty()) {
    // Index 0 is never lent, so no token is 0.
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
  slot->set_deadline(UINT64_MAX);
  slot->close();
  slot->clean();
  const MutexLock lock(mutex_);
  free_.push_back(slot);
}

CallSlot* TokenTable::find(agentd_token token) const {
  const std::size_t index = token & ((1u << CallSlot::kIndexBits) - 1);
  const MutexLock lock(mutex_);
  if (index == 0 || index > slots_.size()) return nullptr;
  CallSlot* const slot = slots_[index - 1].get();
  return slot->is_current(token) ? slot : nullptr;
}

}  // namespace agentd
