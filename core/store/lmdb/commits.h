// SPDX-License-Identifier: Apache-2.0
#pragma once
// commits.h - the one writer of a store in this process: simultaneous changes share a transaction and its sync.
//
// There is no thread for it. The caller whose change is first in line writes the group behind it for all of them, and
// then the next one in line does. An uncontended change is written by its own caller, as a plain transaction.
//
// Threading: thread-safe.

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/store/lmdb/env.h"

namespace agentd {

// Runs in a write transaction, on any caller's thread and possibly several times, each time in a new transaction. It
// checks before it writes: an error without a write is this change's alone, and the group goes on without it.
using StoreChange = std::function<Result<void>(Txn&)>;

class Commits {
 public:
  static constexpr std::size_t kGroupChangesMax = 64;
  static constexpr std::size_t kGroupBytesMax = 4u << 20;

  // `env` outlives it.
  explicit Commits(Env& env) : env_(env) {}

  // Durable when it returns; an error means that nothing was written. `bytes`: about how much the change writes.
  // When a write or the commit of a group fails, its changes are written one by one, so that the one that is too large,
  // or a full disk, is reported to its own caller.
  Result<void> write(std::size_t bytes, const StoreChange& change);

 private:
  struct Waiting {
    const StoreChange& change;
    const std::size_t bytes;
    bool done = false;
    Result<void> result{};
    Condition turn{};
  };
  std::vector<Waiting*> next_group() const REQUIRES(mutex_);
  void write_group(std::span<Waiting* const> group);

  Env& env_;
  Mutex mutex_;
  // In the order of their calls. The first one's caller writes; those of its group stay until they are written.
  std::deque<Waiting*> line_ GUARDED_BY(mutex_);
};

}  // namespace agentd
