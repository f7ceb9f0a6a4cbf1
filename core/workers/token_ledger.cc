// SPDX-License-Identifier: Apache-2.0
#include "core/workers/token_ledger.h"

#include <atomic>
#include <utility>

namespace agentd {

std::uint32_t cancel_of(const agentd_live& live) { return __atomic_load_n(&live.cancel, __ATOMIC_ACQUIRE); }

std::uint64_t deadline_of(const agentd_live& live) { return __atomic_load_n(&live.deadline_ns, __ATOMIC_ACQUIRE); }

void set_cancel(agentd_live& live, std::uint32_t reason) {
  if (reason != 0) std::atomic_ref(live.cancel).store(reason, std::memory_order_release);
}

void set_deadline(agentd_live& live, std::uint64_t at_ns) {
  std::atomic_ref(live.deadline_ns).store(at_ns, std::memory_order_release);
}

void TokenLedger::add(agentd_token token, const agentd_live& live, agentd_live* mirror, CancelToken services) {
  const MutexLock lock(mutex_);
  if (given_up_) services.cancel(AGENTD_CANCEL_SHUTDOWN);
  Entry& entry = entries_[token];
  for (std::uint64_t& spent : entry.spent) spent_ -= std::exchange(spent, 0);
  entry.live = &live;
  entry.mirror = mirror;
  entry.services = std::move(services);
  entry.uses = 0;
  entry.ending = false;
  entry.completed.reset();
}

void TokenLedger::remove(agentd_token token) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(token);
  if (found == entries_.end()) return;
  found->second.ending = true;
  found->second.services.cancel(AGENTD_CANCEL_SHUTDOWN);
  while (found->second.uses != 0) found->second.changed.wait(mutex_);
  spent_ -= found->second.spent[0] + found->second.spent[1];
  entries_.erase(found);
}

void TokenLedger::cancel_all() {
  const MutexLock lock(mutex_);
  given_up_ = true;
  for (const auto& [token, entry] : entries_) entry.services.cancel(AGENTD_CANCEL_SHUTDOWN);
}

void TokenLedger::set_completed(agentd_token token, agentd_status status) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(token);
  if (found == entries_.end()) return;
  found->second.completed = status;
  found->second.changed.notify_all();
}

std::optional<agentd_status> TokenLedger::wait_completed(agentd_token token, const Clock& clock, Milliseconds at_most) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(token);
  if (found == entries_.end()) return std::nullopt;
  if (!found->second.completed) found->second.changed.wait_for(mutex_, clock, at_most);
  return found->second.completed;
}

void TokenLedger::wake() {
  // The lock orders this after a waiter's check, so that the waiter does not miss it.
  const MutexLock lock(mutex_);
  for (auto& [token, entry] : entries_) entry.changed.notify_all();
}

bool TokenLedger::spend(agentd_token token, Kept kind, std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(token);
  if (found == entries_.end()) return false;
  std::uint64_t& spent = found->second.spent[static_cast<std::size_t>(kind)];
  const std::uint64_t most = kind == Kept::kAnswers ? kAnswerBytesMax : kResultBytesMax;
  if (bytes > most - spent || bytes > kBytesMax - spent_) return false;
  spent += bytes;
  spent_ += bytes;
  return true;
}

void TokenLedger::refresh(agentd_token token) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(token);
  if (found == entries_.end()) return;
  set_cancel(*found->second.mirror, cancel_of(*found->second.live));
  set_deadline(*found->second.mirror, deadline_of(*found->second.live));
}

bool TokenLedger::take(agentd_token token) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(token);
  if (found == entries_.end() || found->second.ending) return false;
  ++found->second.uses;
  return true;
}

void TokenLedger::give_back(agentd_token token) {
  // With the lock: remove() erases the entry afterwards.
  const MutexLock lock(mutex_);
  Entry& entry = entries_.find(token)->second;
  if (--entry.uses == 0) entry.changed.notify_all();
}

TokenLedger::Use::Use(TokenLedger& ledger, agentd_token token)
    : ledger_(ledger), token_(token), held_(ledger.take(token)) {}

TokenLedger::Use::~Use() {
  if (held_) ledger_.give_back(token_);
}

}  // namespace agentd
