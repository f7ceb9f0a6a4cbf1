// SPDX-License-Identifier: Apache-2.0
#include "core/agent/services/either_cancel.h"

#include <system_error>

#include "core/base/clock.h"
#include "core/base/thrown.h"

namespace agentd {

EitherCancel::EitherCancel(const CancelToken& session, const CancelToken& call) : token_(session.child()) {
  try {
    watch_ = std::thread([this, call] { (void)thrown_by([&] { watch(call); }); });
  } catch (const std::system_error&) {
    // No thread now: the session can still cancel.
  }
}

EitherCancel::~EitherCancel() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (watch_.joinable()) watch_.join();
}

void EitherCancel::watch(const CancelToken& call) {
  std::unique_lock lock(mutex_);
  while (!over_ && !call.cancelled()) changed_.wait_for(lock, Milliseconds(20));
  if (const std::uint32_t reason = call.reason(); reason != 0) token_.cancel(reason);
}

}  // namespace agentd
