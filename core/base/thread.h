// SPDX-License-Identifier: Apache-2.0
#pragma once
// thread.h - a thread that is started and joined through its scheduler.
//
// Threading: thread-compatible; only the owner uses it.

#include <cstddef>
#include <functional>
#include <thread>

namespace agentd {

class Thread {
 public:
  Thread() = default;
  // Uses the scheduler of the starting thread. Throws std::system_error if the system allows no more threads.
  explicit Thread(std::function<void()> body);
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&&) noexcept = default;
  // Waits for its end.
  ~Thread() {
    if (joinable()) join();
  }
  // True if there is a thread to join.
  bool joinable() const { return thread_.joinable(); }
  void join();
  // Lets the thread run on unjoined.
  void detach() { thread_.detach(); }

 private:
  std::thread thread_;
};

// Calls `work` with each number below `count`, on this thread and on up to `more` others, in no order; returns when all
// calls have returned. This thread calls `first` before it takes its share. With fewer threads if the system allows no
// more. `work` does not throw.
void call_together(std::size_t count, std::size_t more, const std::function<void(std::size_t)>& work,
                   const std::function<void()>& first = {});

}  // namespace agentd
