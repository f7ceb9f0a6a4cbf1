// SPDX-License-Identifier: Apache-2.0
#pragma once
// receipt_retention.h - removes receipts of hooks that are older than the setting receipts.keep_days.
//
// It has no thread: whoever ends a session calls run(), which removes a bounded number at a time.
//
// Threading: thread-safe.

#include <cstdint>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mutex.h"
#include "core/store/store.h"

namespace agentd {

class ReceiptRetention {
 public:
  static constexpr std::uint32_t kAtOnce = 1'000;
  static constexpr Milliseconds kPause{60 * 60 * 1000};

  // All outlive it. `keep_days` 0: receipts are never removed.
  ReceiptRetention(Store& store, const Clock& clock, Log& log, std::uint64_t keep_days)
      : store_(store), clock_(clock), log_(log), keep_days_(keep_days) {}

  // Removes up to kAtOnce receipts, unless a call within kPause found no more. A failure is a warning in the log, and
  // is tried again after the pause.
  void run();

 private:
  Store& store_;
  const Clock& clock_;
  Log& log_;
  const std::uint64_t keep_days_;
  Mutex mutex_;
  std::uint64_t due_ns_ GUARDED_BY(mutex_) = 0;
};

}  // namespace agentd
