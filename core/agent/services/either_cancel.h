// SPDX-License-Identifier: Apache-2.0
#pragma once
// either_cancel.h - a cancel token that follows two others. Private to this room.
//
// Threading: thread-compatible; it has a thread of its own while it lives.

#include "core/base/cancel.h"
#include "core/base/mutex.h"
#include "core/base/thread.h"

namespace agentd {

// While it lives its token is cancelled with the session's or with the call's: a call that nobody
// waits for any more, since its worker has ended, asks no model for an answer.
class EitherCancel {
 public:
  EitherCancel(const CancelToken& session, const CancelToken& call, const Clock& clock);
  ~EitherCancel();
  EitherCancel(const EitherCancel&) = delete;
  EitherCancel& operator=(const EitherCancel&) = delete;
  const CancelToken& token() const { return token_; }

 private:
  void watch(const CancelToken& call);

  const CancelToken token_;
  const Clock& clock_;
  Mutex mutex_;
  Condition changed_;
  bool over_ GUARDED_BY(mutex_) = false;
  Thread watch_;
};

}  // namespace agentd
