// SPDX-License-Identifier: Apache-2.0
#include "core/agent/services/either_cancel.h"

#include <system_error>

#include "core/base/thrown.h"

namespace agentd {

EitherCancel::EitherCancel(const CancelToken& session, const CancelToken& call, const Clock& clock)
    : token_(session.child()), clock_(clock) {
  try {
    watch_ = Thread([this, call] { (void)thrown_by([&] { watch(call); }); });
  } catch (const std::system_error&) {
    // No thread now: the session can still cancel.
  }
}

EitherCancel::~EitherCancel() {
  {
    const MutexLock lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (watch_.joinable()) watch_.join();
}

void EitherCancel::watch(const CancelToken& call) {
  const MutexLock lock(mutex_);
  while (!over_ && !call.cancelled()) changed_.wait_for(mutex_, clock_, Milliseconds(20));
  if (const std::uint32_t reason = call.reason(); reason != 0) token_.cancel(reason);
}

}  // namespace agentd
