// SPDX-License-Identifier: Apache-2.0
#pragma once
// aside.h - runs work that must not delay its caller: each piece on a thread of its own.
//
// Threading: run() is thread-safe; wait() and the destructor belong to the owner.

#include <cstddef>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace agentd {

class Aside {
 public:
  // `at_most` pieces run at the same time.
  explicit Aside(std::size_t at_most) : at_most_(at_most) {}
  ~Aside() { wait(); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // False when `at_most` pieces run already or no thread can be made; `work` is then not run.
  bool run(std::function<void()> work);
  // Waits until all pieces have ended.
  void wait();

 private:
  struct Piece {
    std::thread thread;
    bool done = false;  // guarded by the mutex
  };
  void join_done();

  const std::size_t at_most_;
  std::mutex mutex_;
  std::list<Piece> pieces_;  // guarded by mutex_
};

}  // namespace agentd
