// SPDX-License-Identifier: Apache-2.0
// Not built: clang reads it with -Wthread-safety, once as it is and once with one of the slips below.
#include "core/base/mutex.h"

namespace agentd {

class Guarded {
 public:
  int read() {
#if !defined(READS_WITHOUT_THE_LOCK)
    const MutexLock lock(mutex_);
#endif
    return value_;
  }
  void change() {
    MutexLock lock(mutex_);
    step();
    lock.unlock();
#if defined(CALLS_WITHOUT_THE_LOCK)
    step();
#endif
  }
  int wait(const Clock& clock) {
#if !defined(WAITS_WITHOUT_THE_LOCK)
    const MutexLock lock(mutex_);
#endif
    while (changed_.wait_for(mutex_, clock, Milliseconds(1))) continue;
    return 0;
  }
  bool take(const Clock& clock) {
    if (!mutex_.lock_for(clock, Milliseconds(1))) return false;
    value_ = 1;
#if !defined(KEEPS_THE_LOCK)
    mutex_.unlock();
#endif
    return true;
  }

 private:
  void step() REQUIRES(mutex_) { ++value_; }

  Mutex mutex_;
  Condition changed_;
  int value_ GUARDED_BY(mutex_) = 0;
};

}  // namespace agentd
