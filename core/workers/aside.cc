// SPDX-License-Identifier: Apache-2.0
#include "core/workers/aside.h"

#include <system_error>
#include <utility>

#include "core/base/thread.h"
#include "core/base/thrown.h"

namespace agentd {

bool Aside::run(std::function<void()> work) {
  const MutexLock lock(mutex_);
  join_done();
  if (pieces_.size() >= at_most_) return false;
  Piece& piece = pieces_.emplace_back();
  try {
    piece.thread = Thread([this, &piece, work = std::move(work)]() mutable {
      (void)thrown_by([&] {
        work();
        work = nullptr;  // destroys what it holds here
      });
      const MutexLock inner(mutex_);
      piece.done = true;
    });
  } catch (const std::system_error&) {
    pieces_.pop_back();
    return false;
  }
  return true;
}

// A finished piece only unlocks it and ends, so join() does not wait long.
void Aside::join_done() {
  for (auto it = pieces_.begin(); it != pieces_.end();) {
    if (!it->done) {
      ++it;
      continue;
    }
    it->thread.join();
    it = pieces_.erase(it);
  }
}

void Aside::wait() {
  for (;;) {
    std::list<Piece> mine;
    {
      const MutexLock lock(mutex_);
      mine.splice(mine.end(), pieces_);  // their addresses stay the same
    }
    if (mine.empty()) return;
    for (Piece& piece : mine) piece.thread.join();
  }
}

}  // namespace agentd
