// SPDX-License-Identifier: Apache-2.0
#pragma once
// aside.h - runs work that must not delay its caller: each piece on a thread of its own.
//
// Threading: run() is thread-safe; wait() and the destructor belong to the owner.

#include <cstddef>
#include <functional>
#include <list>

#include "core/base/mutex.h"
#include "core/base/thread.h"

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
    Thread thread;
    bool done = false;  // of the owner's mutex
  };
  void join_done() REQUIRES(mutex_);

  const std::size_t at_most_;
  Mutex mutex_;
  std::list<Piece> pieces_ GUARDED_BY(mutex_);
};

}  // namespace agentd
