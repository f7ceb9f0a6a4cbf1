// SPDX-License-Identifier: Apache-2.0
#pragma once
// either_cancel.h - a cancel token that follows two others. Private to this room.
//
// Threading: thread-compatible; it has a thread of its own while it lives.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/base/cancel.h"

namespace agentd {

// While it lives its token is cancelled with the session's or with the call's: a call that nobody
// waits for any more, since its worker has ended, asks no model for an answer.
class EitherCancel {
 public:
  EitherCancel(const CancelToken& session, const CancelToken& call);
  ~EitherCancel();
  EitherCancel(const EitherCancel&) = delete;
  EitherCancel& operator=(const EitherCancel&) = delete;
  const CancelToken& token() const { return token_; }

 private:
  void watch(const CancelToken& call);

  const CancelToken token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread watch_;
};

}  // namespace agentd
