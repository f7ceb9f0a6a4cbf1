// SPDX-License-Identifier: Apache-2.0
#pragma once
// commits.h - the one writer of a store in this process: simultaneous changes share a transaction and its sync.
//
// There is no thread for it. The caller whose change is the first of a group writes the group for all, and the others
// sleep until that is done. A group takes further changes while it waits for the one before, and while its changes are
// put, up to its commit. An uncontended change is written by its own caller, as a plain transaction.
//
// Threading: thread-safe.

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/store/lmdb/env.h"

namespace agentd {

// Runs in a write transaction, on any caller's thread and possibly several times, each time in a new transaction. It
// checks before it writes: an error without a write is this change's alone, and the group goes on without it.
using StoreChange = std::function<Result<void>(Txn&)>;

// The most of one transaction. A single change may have more bytes.
struct CommitLimits {
  std::size_t changes = 1'024, bytes = 4u << 20;
};

class Commits {
 public:
  // `env` and `use` outlive it.
  explicit Commits(Env& env, WriterUse* use = nullptr, CommitLimits limits = {})
      : env_(env), use_(use), limits_(limits) {}

  // Durable when it returns; an error means that nothing was written. `bytes`: about how much the change writes.
  // When a write or the commit of a group fails, its halves are written in turn, and theirs, so that the one that is
  // too large, or a full disk, is reported to its own caller.
  Result<void> write(std::size_t bytes, const StoreChange& change);

 private:
  class Counted;
  struct Waiting {
    const StoreChange& change;
    Result<void> result{};
  };
  struct Group {
    std::vector<Waiting*> changes;  // each belongs to its caller until `written`, but for the result
    std::size_t bytes = 0;
    bool open = true;      // takes further changes
    bool written = false;  // each has its result
    Condition turn;        // of the first change's caller: no other group is being written
    Condition over;        // of the others' callers: it is written
  };
  // Shared by the callers of its changes, so that they are woken without the mutex.
  using SharedGroup = std::shared_ptr<Group>;

  SharedGroup join(Waiting& own, std::size_t bytes) REQUIRES(mutex_);
  // Adds to `taken` the changes that have joined since; false: there are none, and there will be none.
  bool take_joined(Group& group, std::vector<Waiting*>& taken);
  Result<void> write_together(std::span<Waiting* const> changes);
  // After they have failed together.
  void write_apart(std::span<Waiting* const> changes, const Error& together);
  void write_group(Group& group);

  Env& env_;
  WriterUse* const use_;
  const CommitLimits limits_;
  Mutex mutex_;
  // In the order of their first changes. The front is being written, or its first caller is about to. The members of a
  // group belong to the mutex.
  std::deque<SharedGroup> groups_ GUARDED_BY(mutex_);
};

}  // namespace agentd
