// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/commits.h"

namespace agentd {

// Runs changes in one transaction, and counts them.
class Commits::Counted {
 public:
  explicit Counted(WriterUse* use) : use_(use) {
    if (use_ != nullptr) ++use_->commits;
  }

  // A change that is refused without a write is left out.
  Result<void> run(Txn& txn, std::span<Waiting* const> changes) {
    const std::uint64_t begin_ns = use_ == nullptr ? 0 : use_->now_ns();
    for (Waiting* const waiting : changes) {
      const std::uint64_t before = txn.writes();
      waiting->result = waiting->change(txn);
      if (!waiting->result && (txn.failed() || txn.writes() != before)) return waiting->result;
    }
    if (use_ == nullptr) return {};
    use_->changes += changes.size();
    use_->changes_ns += use_->now_ns() - begin_ns;
    return {};
  }

 private:
  WriterUse* const use_;
};

Commits::SharedGroup Commits::join(Waiting& own, std::size_t bytes) {
  const bool fits = !groups_.empty() && groups_.back()->open && groups_.back()->bytes + bytes <= limits_.bytes &&
                    groups_.back()->changes.size() < limits_.changes;
  if (!fits) groups_.push_back(std::make_shared<Group>());
  Group& group = *groups_.back();
  group.changes.push_back(&own);
  group.bytes += bytes;
  return groups_.back();
}

bool Commits::take_joined(Group& group, std::vector<Waiting*>& taken) {
  const MutexLock lock(mutex_);
  group.open = group.changes.size() != taken.size();
  if (group.open) taken = group.changes;
  return group.open;
}

Result<void> Commits::write_together(std::span<Waiting* const> changes) {
  return env_.write(Env::Room::kOrdinary, [&](Txn& txn) {
    Counted counted(use_);
    return counted.run(txn, changes);
  });
}

void Commits::write_apart(std::span<Waiting* const> changes, const Error& together) {
  if (changes.size() == 1) {
    changes.front()->result = together;
    return;
  }
  const std::size_t half = changes.size() / 2;
  for (const std::span<Waiting* const> part : {changes.first(half), changes.subspan(half)})
    if (const Result<void> written = write_together(part); !written) write_apart(part, written.error());
  // After a failed commit LMDB may refuse every further one: the disk's own error says more.
  if (together.code != Code::kUnavailable) return;
  for (Waiting* const waiting : changes)
    if (!waiting->result && waiting->result.error().code == Code::kUnavailable) waiting->result = together;
}

void Commits::write_group(Group& group) {
  std::vector<Waiting*> changes;
  const Result<void> together = env_.write(Env::Room::kOrdinary, [&](Txn& txn) -> Result<void> {
    Counted counted(use_);
    for (std::size_t done = 0; done < changes.size() || take_joined(group, changes); done = changes.size())
      AGENTD_TRY_VOID(counted.run(txn, std::span(changes).subspan(done)));
    return {};
  });
  if (together) return;
  while (take_joined(group, changes)) {
  }
  write_apart(changes, together.error());
}

Result<void> Commits::write(std::size_t bytes, const StoreChange& change) {
  Waiting own{change};
  MutexLock lock(mutex_);
  const SharedGroup group = join(own, bytes);
  if (group->changes.front() != &own) {
    while (!group->written) group->over.wait(mutex_);
    return std::move(own.result);
  }
  while (groups_.front() != group) group->turn.wait(mutex_);
  lock.unlock();
  write_group(*group);
  lock.lock();
  group->written = true;
  groups_.pop_front();
  const SharedGroup next = groups_.empty() ? nullptr : groups_.front();
  lock.unlock();
  // Without the mutex, which each of them takes when it wakes.
  if (next) next->turn.notify_one();
  group->over.notify_all();
  return std::move(own.result);
}

}  // namespace agentd
