// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/receipt_retention.h"

namespace agentd {
namespace {

constexpr std::int64_t kDayMs = 24 * 60 * 60 * 1000;

}  // namespace

void ReceiptRetention::run() {
  if (keep_days_ == 0) return;
  {
    const MutexLock lock(mutex_);
    if (clock_.monotonic_ns() < due_ns_) return;
    due_ns_ = Deadline::after(clock_, kPause).at_ns;
  }
  const std::int64_t before_ms = clock_.wall_ms() - static_cast<std::int64_t>(keep_days_) * kDayMs;
  const auto removed = store_.prune_receipts(before_ms, kAtOnce);
  if (!removed)
    return log_.write(LogLevel::kWarning, "runtime",
                      "old receipts of hooks could not be removed: " + removed.error().message);
  if (*removed < kAtOnce) return;
  const MutexLock lock(mutex_);
  due_ns_ = 0;
}

}  // namespace agentd
