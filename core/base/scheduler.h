// SPDX-License-Identifier: Apache-2.0
#pragma once
// scheduler.h - blocks and wakes threads: the one interface below all waiting.
//
// Mutex, Condition, Thread and Clock call it only when a thread must block; a free lock costs two processor
// operations. A simulator implements Scheduler, and a Clock that shows its time: it runs real threads one at a time and
// switches between them only in these five functions. Callers work with either.
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

  // Blocks the calling thread while the word is `seen`: until wake(), or until `until_ns` of the scheduler's monotonic
  // time (UINT64_MAX = no limit). May return early.
  virtual void wait(const WaitWord& word, std::uint32_t seen, std::uint64_t until_ns) = 0;
  // Wakes one or all of the threads that wait on the word. Does not read the word, which may no longer exist.
  virtual void wake(const WaitWord& word, bool all) = 0;
  // Behaves as poll(2), including EINTR.
  virtual int poll(std::span<pollfd> descriptors, std::uint64_t until_ns) = 0;
  // Starts a thread that uses this scheduler. Throws std::system_error if the system allows no more threads.
  virtual std::thread start(std::function<void()> body) = 0;
  // Waits for the end of the thread.
  virtual void join(std::thread& thread) = 0;

  // The calling thread's scheduler: the machine's unless another is bound.
  static Scheduler& current();

  // Binds the calling thread to `scheduler` for the object's lifetime.
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

// True if `descriptor` is ready for one of `events` now, or is at its end. Does not wait.
bool is_ready(int descriptor, short events);

}  // namespace agentd
