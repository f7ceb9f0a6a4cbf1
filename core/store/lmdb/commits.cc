// SPDX-License-Identifier: Apache-2.0
#include "core/store/lmdb/commits.h"

namespace agentd {

std::vector<Commits::Waiting*> Commits::next_group() const {
  std::vector<Waiting*> group;
  std::size_t bytes = 0;
  for (Waiting* const waiting : line_) {
    bytes += waiting->bytes;
    if (!group.empty() && (bytes > kGroupBytesMax || group.size() == kGroupChangesMax)) break;
    group.push_back(waiting);
  }
  return group;
}

void Commits::write_group(std::span<Waiting* const> group) {
  const auto alone = [this](Waiting& waiting) { waiting.result = env_.write(Env::Room::kOrdinary, waiting.change); };
  if (group.size() == 1) return alone(*group.front());
  const Result<void> together = env_.write(Env::Room::kOrdinary, [group](Txn& txn) -> Result<void> {
    for (Waiting* const waiting : group) {
      const std::uint64_t before = txn.writes();
      waiting->result = waiting->change(txn);
      if (!waiting->result && (txn.failed() || txn.writes() != before)) return waiting->result;
    }
    return {};
  });
  if (together) return;
  for (Waiting* const waiting : group) {
    alone(*waiting);
    // After a failed commit LMDB may refuse every further one: the disk's own error says more.
    if (!waiting->result && waiting->result.error().code == Code::kUnavailable &&
        together.error().code == Code::kUnavailable)
      waiting->result = together;
  }
}

Result<void> Commits::write(std::size_t bytes, const StoreChange& change) {
  Waiting own{change, bytes};
  MutexLock lock(mutex_);
  line_.push_back(&own);
  while (!own.done && line_.front() != &own) own.turn.wait(mutex_);
  if (own.done) return std::move(own.result);
  const std::vector<Waiting*> group = next_group();
  lock.unlock();
  write_group(group);
  lock.lock();
  for (Waiting* const written : group) {
    line_.pop_front();
    written->done = true;
    if (written != &own) written->turn.notify_one();
  }
  if (!line_.empty()) line_.front()->turn.notify_one();
  return std::move(own.result);
}

}  // namespace agentd
