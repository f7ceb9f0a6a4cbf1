// SPDX-License-Identifier: Apache-2.0
#pragma once
// thread.h - a thread that its scheduler knows of, from the start to the end.
//
// Threading: for its owner; another one may read nothing of it.

#include <functional>
#include <thread>

namespace agentd {

class Thread {
 public:
  Thread() = default;
  // Belongs to the scheduler of who starts it. Throws std::system_error when there can be no more threads.
  explicit Thread(std::function<void()> body);
  Thread(Thread&&) noexcept = default;
  Thread& operator=(Thread&&) noexcept = default;
  // Waits for its end.
  ~Thread() {
    if (joinable()) join();
  }
  // True when there is one to wait for.
  bool joinable() const { return thread_.joinable(); }
  void join();
  // Nobody waits for its end.
  void detach() { thread_.detach(); }

 private:
  std::thread thread_;
};

}  // namespace agentd
