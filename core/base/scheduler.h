// SPDX-License-Identifier: Apache-2.0
#pragma once
// scheduler.h - who lets a thread stand and go on: the one seam below all waiting.
//
// Mutex, Condition, Thread and Clock come here when a thread can not go on, and only then: a lock that is free costs
// two operations of the processor. A simulator is another Scheduler, and the Clock whose time it keeps: its threads
// are real ones, of which one runs at a time, and these five functions are all the places where it may pass to another.
// No caller knows which one it has.
//
// Threading: thread-safe.

#include <poll.h>

#include <cstdint>
#include <functional>
#include <span>
#include <thread>

#include "core/base/futex.h"

namespace agentd {

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // The calling thread stands while the word is `seen`: until wake(), until `until_ns` of the scheduler's monotonic
  // time (UINT64_MAX = none), or for no reason.
  virtual void wait(const WaitWord& word, std::uint32_t seen, std::uint64_t until_ns) = 0;
  // One of those that stand before the word, or all. Reads nothing: the word may be gone.
  virtual void wake(const WaitWord& word, bool all) = 0;
  // As poll(2) does, EINTR included.
  virtual int poll(std::span<pollfd> descriptors, std::uint64_t until_ns) = 0;
  // A thread that belongs to this scheduler. Throws std::system_error when there can be no more.
  virtual std::thread start(std::function<void()> body) = 0;
  // Until the thread has ended.
  virtual void join(std::thread& thread) = 0;

  // That of the calling thread: the machine's, unless it is bound to another.
  static Scheduler& current();

  // The calling thread belongs to `scheduler` while this lives.
  class Bound {
   public:
    explicit Bound(Scheduler& scheduler);
    ~Bound();
    Bound(const Bound&) = delete;
    Bound& operator=(const Bound&) = delete;

   private:
    Scheduler* const before_;
  };
};

// True when `descriptor` is ready for one of `events` now, or has ended. Waits for nothing.
bool is_ready(int descriptor, short events);

}  // namespace agentd
